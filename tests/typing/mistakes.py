"""Mistakes of a user's. Type checkers find each of them, on its own line, and nothing else."""

from datetime import timedelta
from pathlib import Path

import pitstop as ps


@ps.job(snapshot_interval="5 seconds", state_store="rocksdb", restart={"type": "fixed-delay", "attempts": 3})
def speeds(folder: str, minutes: str = "1") -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="vin string, ts timestamp, speed double"), name="rows")
    windows = rows.with_timestamps("ts", allowed_lag=timedelta(seconds=5)).group_by("vin").window(ps.tumbling("1 minute"))
    windows.aggregate("speeds", mean=ps.avg("speed")).write_to(ps.sinks.map("speeds", key="vin"), name="map")
    return p


@ps.job
def plain() -> ps.Pipeline:
    return ps.Pipeline()


@ps.job(snapshot_intervall="5 seconds")  # mistake
def misspelled() -> ps.Pipeline:
    return ps.Pipeline()


@ps.job(state_store="disk")  # mistake
def another_store() -> ps.Pipeline:
    return ps.Pipeline()


@ps.job  # mistake
def no_pipeline() -> str:
    return "no pipeline"


speeds("in", minutes=1)  # mistake
speeds()  # mistake
ps.tumbling([1])  # mistake
ps.run(speeds("in"), timeout="1 hour")  # mistake
ps.run("in")  # mistake
ps.run(speeds("in"), data_dir=Path("data"), partitions="2")  # mistake
ps.conect()  # mistake
ps.sinks.kafka("topic")  # mistake

job = ps.run(plain(), partitions=2, name="plain")
job.stopp()  # mistake
client = ps.connect("http://127.0.0.1:8080")
handle = client.submit("speeds.py", config={"partitions": 4})
handle.configure(snapshot_interval=10)
handle.configure(partition=2)  # mistake
options = {"partitions": 4}
client.submit("speeds.py", config=options)
