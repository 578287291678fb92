"""A sliding window of 60 minutes by 1 over many events a key and minute: ``python benchmarks/sliding.py plain|pitstop``."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import pyspark.cloudpickle
from pyspark.sql import functions as F

import events
import pitstop as ps
from events import SCHEMA, Events
from one import until_read
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.session import build_session

pyspark.cloudpickle.register_pickle_by_value(events)
ROWS, STEP, KEYS = 5_000_000, 500_000, 100
"""One event a millisecond: 600 a key and minute, 83 minutes in all."""


def start_plain(folder, spark):
    spark.dataSource.register(Events)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    stream = spark.readStream.format("benchmark_events").options(rows=ROWS, step=STEP, keys=KEYS).load()
    windows = stream.withWatermark("ts", "2 seconds").groupBy("key", F.window("ts", "60 minutes", "1 minute"))
    result = windows.agg(F.count("*").alias("n"), F.sum("v").alias("total"), F.max("v").alias("high"))

    def write(rows, epoch):
        rows.write.format("noop").mode("overwrite").save()

    writer = result.writeStream.outputMode("append").foreachBatch(write).option("checkpointLocation", str(folder / "ck"))
    writer.start()
    return Checkpoint(folder / "ck")


def start_pitstop(folder, spark):
    p = ps.Pipeline()
    source = p.read_from(ps.sources.custom(Events, schema=SCHEMA, rows=ROWS, step=STEP, keys=KEYS), name="events")
    windows = source.with_timestamps("ts", allowed_lag="2 seconds").group_by("key").window(ps.sliding("60 minutes", "1 minute"))
    windows.aggregate("sums", n=ps.count(), total=ps.sum("v"), high=ps.max("v")).write_to(ps.sinks.noop(), name="out")
    job = ps.run(p, spark, data_dir=folder, processing_guarantee="exactly_once", partitions=2)
    return job._engine.running.checkpoint


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = build_session("local[2]", folder / "work")
        checkpoint = {"plain": start_plain, "pitstop": start_pitstop}[sys.argv[1]](folder, spark)
        # The first epoch also starts the workers.
        until_read(checkpoint, STEP)
        began = time.monotonic()
        until_read(checkpoint, ROWS)
        print(json.dumps({"rows_per_second": (ROWS - STEP) / (time.monotonic() - began)}), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
