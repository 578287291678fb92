"""The Spark session of tests: that of every job, set up to be ready soon."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.model.cluster import ClusterSettings
from pitstop.spark.base.session import build_session

MASTER = "local[2]"
"""Two tasks at a time, so that state and rows are spread over two partitions as on a server."""
SOON_READY = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of Java for a short life: it compiles code quickly rather than well."""
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings by which Spark interprets a query: to generate and compile code for it takes longer than the few rows of a test."""


def build_test_session(folder: Path) -> SparkSession:
    """Start (or get) the session of this process, with scratch files in a folder."""
    return build_session(ClusterSettings(MASTER), folder, INTERPRETED, java_options=SOON_READY)
