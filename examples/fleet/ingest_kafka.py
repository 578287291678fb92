"""The fleet ingest with a broker between: pings of a topic into a map, an archive and a second topic, each exactly once."""

from pyspark.sql import functions as F

import pitstop as ps

PING = "vin string, latitude double, longitude double, time double, obd_codes array<string>, provider string"


@ps.job(snapshot_interval="10 seconds", max_latency="200 ms")
def ingest(servers: str, archive: str) -> ps.Pipeline:
    """The latest ping of each vehicle in the map ``vehicles``; every ping in the archive folder and in the topic ``ingested``."""
    p = ps.Pipeline()
    pings = p.read_from(ps.sources.kafka(servers, "pings", schema=PING), name="pings")
    timed = pings.with_columns(ts=F.timestamp_micros((F.col("time") * 1e6).cast("long"))).with_timestamps(
        "ts", allowed_lag="20 seconds"
    )
    timed.write_to(ps.sinks.map("vehicles", key="vin"), name="vehicles")
    timed.write_to(ps.sinks.files(archive, format="parquet"), name="archive")
    timed.write_to(ps.sinks.kafka(servers, "ingested", key="vin"), name="topic")
    return p
