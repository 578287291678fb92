"""The Spark session of a runner process."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.model.cluster import ClusterSettings


def session(work_dir: Path) -> SparkSession:
    """A session with our settings and sources, on the cluster that the environment tells of, working in ``work_dir``."""
    from pitstop.spark.base.session import build_session
    from pitstop.spark.sources import register

    spark = build_session(ClusterSettings.from_environment(os.environ), work_dir)
    register(spark)
    return spark
