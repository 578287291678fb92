"""The ten products that sold best in each hour, of sales that may come twice."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import pitstop as ps


@dataclass
class Sale:
    id: int
    product: str
    price: Annotated[Decimal, "decimal(10,2)"]
    time: datetime


@ps.job
def top_sellers(sales: Path, out: Path, places: int = 10) -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(str(sales), schema=Sale), name="sales")
    once = rows.with_timestamps("time", allowed_lag="10 minutes").group_by("id").distinct("once", within="1 day")
    hours = once.group_by("product").window(ps.tumbling("1 hour"))
    products = hours.aggregate("products", sold=ps.count(), total=ps.sum("price"))
    # All results of an hour have its end as their event time: a window of the hour collects them.
    ranked = products.rename({"window_start": "hour"}).drop("window_end").with_timestamps("hour").group_by()
    top = ranked.window(ps.tumbling("1 hour")).aggregate(
        "top", products=ps.top_n(places, "struct(total, sold, product)", by="struct(total, product)")
    )
    rows_of_top = top.select("window_start AS hour", "products").explode("products", into="best")
    rows_of_top.select("hour", "best.product", "best.sold", "best.total").write_to(ps.sinks.files(str(out)), name="out")
    return p
