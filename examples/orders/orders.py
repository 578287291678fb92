"""Orders and their payments, from two topics of Kafka into PostgreSQL, a Delta table and a topic, each row exactly once."""

import pitstop as ps

ORDERS = "id string, customer string, country string, cents bigint, at timestamp"
PAYMENTS = "id string, paid_at timestamp"


@ps.job(snapshot_interval="2 seconds")
def orders(servers: str, database: str, lake: str) -> ps.Pipeline:
    """Revenue of each country and minute in PostgreSQL; paid orders in a Delta table and in a topic."""
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
    return p
