"""Version 2 of the fleet ingest: one more stage, which logs what is saved (step 6 of Jet's lab)."""

from pyspark.sql import functions as F

import pitstop as ps

ALPHA = "vin string, latitude double, longitude double, time double"
BETA = "vin string, latitude double, longitude double, time double, sequence bigint, obd_codes array<string>"


def merged_pings(p: ps.Pipeline, alpha_dir: str, beta_url: str) -> ps.Stage:
    """Pings of both providers, with event time ``ts``."""
    alpha = p.read_from(ps.sources.csv_tail(alpha_dir, schema=ALPHA), name="alpha")
    beta = p.read_from(ps.sources.http_poll(beta_url, schema=BETA, limit=200), name="beta")
    common = ("vin", "latitude", "longitude", "time", "obd_codes", "provider")
    left = alpha.with_columns(provider="'alpha'", obd_codes="cast(array() as array<string>)").select(*common)
    right = beta.with_columns(provider="'beta'").select(*common)
    both = left.merge(right, name="pings")
    return both.with_columns(ts=F.timestamp_micros((F.col("time") * 1e6).cast("long"))).with_timestamps(
        "ts", allowed_lag="20 seconds"
    )


@ps.job(snapshot_interval="10 seconds", max_latency="200 ms")
def ingest(alpha_dir: str, beta_url: str, archive: str) -> ps.Pipeline:
    """The latest ping of each vehicle in the map ``vehicles``; every ping in the archive folder."""
    p = ps.Pipeline()
    pings = merged_pings(p, alpha_dir, beta_url)
    pings.peek("saving", template="SAVING PING: {vin} {time!r}")
    pings.write_to(ps.sinks.map("vehicles", key="vin"), name="vehicles")
    pings.write_to(ps.sinks.files(archive, format="parquet"), name="archive")
    return p
