"""File systems and patterns of paths, as Hadoop knows them."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pitstop.spark.internals.jvm import classes


def matches(spark: SparkSession, pattern: str) -> bool:
    """True if there is a file or folder of that pattern now."""
    path = classes(spark).org.apache.hadoop.fs.Path(pattern)
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    statuses = path.getFileSystem(settings).globStatus(path)
    return statuses is not None and len(statuses) > 0


def glob_of(spark: SparkSession, pattern: str) -> re.Pattern[str] | None:
    """Return a pattern of Hadoop's for the names of files as a regular expression; None if Hadoop refuses it."""
    try:
        return re.compile(str(classes(spark).org.apache.hadoop.fs.GlobPattern.compile(pattern).pattern()), re.DOTALL)
    except (Py4JJavaError, re.error):
        return None


def has_file_system(spark: SparkSession, scheme: str) -> bool:
    """True if the session can open URLs of that scheme: its jars have the class that Hadoop names for it."""
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    try:
        classes(spark).org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, settings)
    except Py4JJavaError:
        return False
    return True
