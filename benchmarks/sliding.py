"""A sliding window of 60 minutes by 1 over many events a key and minute: ``python benchmarks/sliding.py plain|pitstop``.

The events lie in parquet files, one an epoch, and are read by Spark's own file source: it takes less time than the windows.
Measured is what a job that runs for long does: from the last epoch of the warm-up, in which the JVM compiles, to the last.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import functions as F

import pitstop as ps
from by_hand import plain_session, start_windows
from events import FILES, SCHEMA, write_files
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import ClusterSettings
from pitstop.spark.base.session import build_session

STEP, KEYS = int(os.environ.get("STEP", "500000")), 100
"""Rows an epoch; one event a millisecond: 600 a key and minute."""
WARM_UP, EPOCHS = 6_000_000 // STEP, 12
"""Epochs before those that are measured, and these."""


def start_plain(folder):
    stream = plain_session(folder).readStream.format("parquet").schema(SCHEMA).options(**FILES).load(str(folder / "events"))
    return start_windows(stream, F.window("ts", "60 minutes", "1 minute"), folder)


def start_pitstop(folder):
    spark = build_session(ClusterSettings("local[2]"), folder / "work")
    p = ps.Pipeline()
    events = p.read_from(ps.sources.files(folder / "events", "parquet", schema=SCHEMA, streaming=True, **FILES), name="events")
    windows = events.with_timestamps("ts", allowed_lag="2 seconds").group_by("key").window(ps.sliding("60 minutes", "1 minute"))
    windows.aggregate("sums", n=ps.count(), total=ps.sum("v"), high=ps.max("v")).write_to(ps.sinks.noop(), name="out")
    job = ps.run(p, spark, data_dir=folder, processing_guarantee="exactly_once", partitions=2)
    return job._run.running.checkpoint


def rate(checkpoint, first, last, step):
    """Rows a second from the commit of one epoch to that of another, of ``step`` rows each."""
    assert wait_until(lambda: checkpoint.committed() >= last, 1200, step=0.1)
    return step * (last - first) / (checkpoint.committed_at(last) - checkpoint.committed_at(first))


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_files(folder / "events", (WARM_UP + EPOCHS) * STEP, STEP, KEYS)
        checkpoint = {"plain": start_plain, "pitstop": start_pitstop}[sys.argv[1]](folder)
        found = rate(checkpoint, WARM_UP - 1, WARM_UP + EPOCHS - 1, STEP)
        print(json.dumps({"rows_per_second": found}), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
