"""The Spark session of a runner process."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession


def session(work_dir: Path) -> SparkSession:
    """A session with our settings and sources, on the master of ``$PITSTOP_MASTER``, working in ``work_dir``."""
    from pitstop.spark.base.session import build_session
    from pitstop.spark.sources import register

    spark = build_session(os.environ.get("PITSTOP_MASTER", "local[*]"), work_dir)
    register(spark)
    return spark
