"""Orders with their payments. Orders without a payment within an hour, and payments without an order, go elsewhere."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import pitstop as ps

Amount = Annotated[Decimal, "decimal(10,2)"]


@dataclass
class Order:
    id: int
    customer: str
    total: Amount
    ordered: datetime


@dataclass
class Payment:
    id: int
    amount: Amount
    paid: datetime


@ps.job
def payments(orders: Path, paid: Path, out: Path, within: str = "1 hour") -> ps.Pipeline:
    p = ps.Pipeline()
    ordered = p.read_from(ps.sources.csv_tail(str(orders), schema=Order), name="orders")
    payments = p.read_from(ps.sources.csv_tail(str(paid), schema=Payment), name="payments")
    pairs = ordered.with_timestamps("ordered", allowed_lag="1 minute").join(
        "pairs", payments.with_timestamps("paid", allowed_lag="1 minute"), on="id", within=within, how="full"
    )
    unpaid, unknown, complete = pairs.split("paid IS NULL", "ordered IS NULL", names=["unpaid", "unknown", "complete"])
    unpaid.drop("paid", "amount").write_to(ps.sinks.map("unpaid", key="id"), name="unpaid-orders")
    unknown.select("id", "amount", "paid").write_to(ps.sinks.files(f"{out}/unknown", "json"), name="unknown-payments")
    complete.write_to(ps.sinks.files(f"{out}/paid"), name="paid-orders")
    return p
