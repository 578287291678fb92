"""The second version of orders.py: one more stage with state keeps what each customer has spent."""

import pitstop as ps

ORDERS = "id string, customer string, country string, cents bigint, at timestamp"
PAYMENTS = "id string, paid_at timestamp"


@ps.job(snapshot_interval="2 seconds")
def orders(servers: str, database: str, lake: str) -> ps.Pipeline:
    """The first version, and the number and the cents of each customer's orders in PostgreSQL."""
    p = ps.Pipeline()
    orders = p.read_from(ps.sources.kafka(servers, "orders", schema=ORDERS), name="orders")
    orders = orders.with_timestamps("at", allowed_lag="10 minutes")
    payments = p.read_from(ps.sources.kafka(servers, "payments", schema=PAYMENTS), name="payments")
    payments = payments.with_timestamps("paid_at", allowed_lag="10 minutes")

    revenue = orders.group_by("country").window(ps.tumbling("1 minute")).aggregate(
        "revenue", orders=ps.count(), cents=ps.sum("cents")
    )  # fmt: skip
    revenue.write_to(ps.sinks.postgres(database, "revenue", key=("country", "window_start")), name="database")

    paid = orders.join("paid", payments, on="id", within="10 minutes")
    paid.write_to(ps.sinks.delta(lake), name="lake")
    paid.write_to(ps.sinks.kafka(servers, "paid-orders", key="id"), name="topic")

    customers = orders.group_by("customer").rolling_aggregate("customers", orders=ps.count(), spent=ps.sum("cents"))
    totals = customers.select("customer", "orders", "spent")
    totals.write_to(ps.sinks.postgres(database, "customers", key="customer", order_by="orders"), name="customers-table")
    return p
