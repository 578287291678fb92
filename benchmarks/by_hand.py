"""What a user writes who has Spark alone: the session, and the keyed windows that Pitstop is measured against."""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pitstop.snapshots.checkpoint import Checkpoint

DEFAULTS = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
}
"""What a user sets who wants RocksDB with changelogs; all else as Spark has it."""


def plain_session(folder):
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    builder = SparkSession.builder.master("local[2]")
    for key, value in (DEFAULTS | {"spark.local.dir": str(folder / "local")}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def start(result, folder):
    """Start the query of these rows into a sink that drops them, a batch after the other; returns its checkpoint."""

    def write(rows, epoch):
        rows.write.format("noop").mode("overwrite").save()

    writer = result.writeStream.outputMode("append").foreachBatch(write).option("checkpointLocation", str(folder / "ck"))
    writer.start()
    return Checkpoint(folder / "ck")


def start_windows(stream, window, folder):
    """``start`` of count, sum and highest value by key and window."""
    windows = stream.withWatermark("ts", "2 seconds").groupBy("key", window)
    return start(windows.agg(F.count("*").alias("n"), F.sum("v").alias("total"), F.max("v").alias("high")), folder)
