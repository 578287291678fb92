"""The warm-up of a new session: a small streaming query loads the classes and workers that a job's first epoch needs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.kit.waiting import wait_until
from pitstop.spark.internals.early_watermarks import allow_early_watermarks
from pitstop.spark.internals.kept_rows import forget_rows

EPOCH_SECONDS = 60.0
LOOK_SECONDS = 0.05


def warm_up(spark: SparkSession, checkpoint: Path, is_needed: Callable[[], bool] = lambda: True) -> None:
    """Run one epoch of a small stateful query over ``checkpoint``, a folder that does not exist; give up after a minute.

    Give up, too, once it is not needed any more.
    """
    allow_early_watermarks(spark)
    first_epoch = threading.Event()

    def epoch(rows: DataFrame, number: int) -> None:
        checkpointed = rows.localCheckpoint(eager=False)
        checkpointed.toArrow()
        forget_rows(checkpointed)
        first_epoch.set()

    numbers = spark.readStream.format("pitstop_rate").option("rowsPerSecond", 100).load().withWatermark("time", "1 second")
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    counts = numbers.groupBy(F.window("time", "1 second")).agg(F.count("*").alias("n"))
    query = counts.writeStream.foreachBatch(epoch).option("checkpointLocation", str(checkpoint)).start()
    wait_until(lambda: first_epoch.is_set() or not is_needed(), EPOCH_SECONDS, step=LOOK_SECONDS)
    query.stop()


def use_formats(spark: SparkSession, folder: Path) -> None:
    """Write and read a few rows in the formats of sources, sinks and snapshots."""
    numbers = spark.range(10).withColumn("text", F.col("id").cast("string"))
    for name in ("parquet", "json", "csv"):
        path = str(folder / name)
        numbers.write.format(name).save(path)
        spark.read.format(name).load(path).groupBy().count().toArrow()
