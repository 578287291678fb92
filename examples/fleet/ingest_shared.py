"""The fleet ingest: a module that all jobs share says what of a ping is kept (part 5 of Jet's lab).

The server has that module, ``fleet_ping``, and ``ingest`` of this folder on its PYTHONPATH: what is changed there holds from
the next start of a job.
"""

import fleet_ping
from ingest import merged_pings

import pitstop as ps


@ps.job(snapshot_interval="2 seconds", max_latency="200 ms")
def ingest(alpha_dir: str, beta_url: str, archive: str) -> ps.Pipeline:
    """The latest ping of each vehicle in the map ``vehicles``, every ping in the archive folder, pings counted by vehicle."""
    p = ps.Pipeline()
    pings = merged_pings(p, alpha_dir, beta_url)
    kept = pings.select(*fleet_ping.FIELDS)
    kept.write_to(ps.sinks.map("vehicles", key="vin"), name="vehicles")
    kept.write_to(ps.sinks.files(archive, format="parquet"), name="archive")
    counts = pings.group_by("vin").rolling_aggregate("counts", n=ps.count())
    counts.select("vin", "n").write_to(ps.sinks.map("counts", key="vin", value="n"), name="counts-map")
    return p
