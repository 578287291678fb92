"""The gap of an update, and that of plain Spark's own restart; prints one JSON line. ``python benchmarks/update_gap.py``

A gap is the time between the last commit of the old version and the first of the new one, by the times of the files.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

from pitstop.kit.waiting import wait_until
from pitstop.snapshots.checkpoint import Checkpoint
from served import serving, spare_ready

RATE, KEYS, PARTITIONS = 2000, 1000, 2
START_SECONDS = 400
EPOCHS = 10
"""Epochs that a version runs before it is replaced."""

JOB = f"""
import pitstop as ps

@ps.job(processing_guarantee="exactly_once", partitions={PARTITIONS})
def counts():
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate({RATE}), name="numbers").with_columns(key="sequence % {KEYS}")
    numbers = numbers.with_timestamps("time", allowed_lag="1 second")
    windows = numbers.group_by("key").window(ps.tumbling("5 seconds")).aggregate("counts", n=ps.count(), high=ps.max("sequence"))
    windows{{stateless}}.write_to(ps.sinks.map("counts", key="key"), name="map")
{{more}}
    return p
"""
VERSIONS = {
    "first": ("", ""),
    "same": ('.with_columns(twice="n * 2")', ""),
    "changed": (
        '.with_columns(twice="n * 2")',
        '    numbers.group_by("key").window(ps.tumbling("20 seconds")).aggregate("sums", total=ps.sum("sequence"))'
        '.write_to(ps.sinks.map("sums", key="key"), name="sums-map")',
    ),
}


def write_version(folder, name):
    stateless, more = VERSIONS[name]
    path = folder / f"{name}.py"
    path.write_text(textwrap.dedent(JOB).format(stateless=stateless, more=more))
    return path


def wait_epochs(job, count):
    start = job.metrics().epoch
    assert wait_until(lambda: job.metrics().epoch >= start + count, START_SECONDS, step=0.05), "no epochs"


def measure_updates(folder):
    gaps = {}
    with serving(folder) as client:
        job = client.submit(write_version(folder, "first"), name="counts")
        job.wait_started(START_SECONDS)
        for name in ("same", "changed"):
            wait_epochs(job, EPOCHS)
            spare_ready(folder)
            gaps[name] = job.update(write_version(folder, name)).gap_seconds
        job.cancel()
    return gaps


def plain(folder):
    """The first version in plain PySpark, until SIGTERM: it ends as one would end a plain query."""
    from pyspark.sql import functions as F

    from pitstop.model.cluster import ClusterSettings
    from pitstop.spark.base.session import build_session
    from pitstop.spark.sources import register

    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    spark = build_session(ClusterSettings("local[*]"), folder / "work")
    register(spark)
    spark.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
    numbers = spark.readStream.format("pitstop_rate").option("rowsPerSecond", RATE).load()
    keyed = numbers.withColumn("key", F.col("sequence") % KEYS).withWatermark("time", "1 second")
    windows = keyed.groupBy("key", F.window("time", "5 seconds"))
    rows = windows.agg(F.count("*").alias("n"), F.max("sequence").alias("high"))

    def write(rows, epoch):
        rows.toArrow()

    writer = rows.writeStream.outputMode("append").foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.start()
    while query.isActive and not ended.wait(0.05):
        pass
    query.stop()
    spark.stop()


def measure_plain(folder):
    """Stop, a new process, and its first epoch from the checkpoint that the old one left."""
    checkpoint = Checkpoint(folder / "checkpoint")

    def start():
        with (folder / "plain.log").open("a") as log:
            return subprocess.Popen([sys.executable, __file__, "--plain", str(folder)], stdout=log, stderr=log)

    process = start()
    assert wait_until(lambda: checkpoint.committed() >= EPOCHS, START_SECONDS, step=0.05), "plain Spark runs no epochs"
    process.terminate()
    process.wait(60)
    last = checkpoint.committed()
    process = start()
    assert wait_until(lambda: checkpoint.committed() > last, START_SECONDS, step=0.005), "plain Spark does not start again"
    gap = checkpoint.committed_at(last + 1) - checkpoint.committed_at(last)
    process.terminate()
    process.wait(60)
    return gap


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", type=Path)
    parser.add_argument("--only", choices=["plain", "pitstop"])
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it: the jobs' logs tell the parts of each gap")
    options = parser.parse_args()
    if options.plain:
        plain(options.plain)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        gaps: dict[str, float] = {}
        if options.only != "plain":
            gaps |= measure_updates(folder)
        if options.only != "pitstop":
            gaps["plain"] = measure_plain(folder)
    print(json.dumps(gaps), flush=True)


if __name__ == "__main__":
    main()
