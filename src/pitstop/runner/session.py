"""The Spark session of a runner process."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.kit.log_levels import VARIABLE
from pitstop.model.cluster import ClusterSettings


def session(work_dir: Path) -> SparkSession:
    """A session with our settings and sources, on the cluster that the environment tells of, working in ``work_dir``."""
    from pitstop.spark.base.session import build_session
    from pitstop.spark.sources import register

    cluster, levels = ClusterSettings.from_environment(os.environ), levels_of_workers(work_dir)
    os.environ[VARIABLE] = str(levels)  # the JVM and its Python workers inherit it, those of other machines do not
    told = {} if cluster.is_here else {f"spark.executorEnv.{VARIABLE}": str(levels)}
    spark = build_session(cluster, work_dir, told)
    register(spark)
    return spark


def levels_of_workers(work_dir: Path) -> Path:
    """The file that tells the Python workers of a session their log levels."""
    return work_dir.absolute() / "levels.json"
