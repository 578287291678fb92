"""Watermarks before 1970. Spark takes a watermark below 0 for 0; the queries of a session in which this is set up do not."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.spark.internals.jvm import classes, gateway, session_of

LOWEST_MS = -62_135_596_800_000
"""The watermark of a query that has seen no event time yet: the beginning of the year 1, in ms since 1970."""

_SOURCE = Path(__file__).with_name("EarlyWatermarks.java")


def allow_early_watermarks(spark: SparkSession) -> None:
    """Let queries that are started in this session from now on have watermarks from the year 1 on."""
    manager = session_of(spark).streams()
    if any(listener.getClass().getName() == _SOURCE.stem for listener in manager.listListeners()):
        return
    manager.addListener(_listener(spark))


def _listener(spark: SparkSession) -> object:
    # Spark brings this compiler along, for its own generated code.
    compiler = classes(spark).org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(session_of(spark).getClass().getClassLoader())
    compiler.cook(_SOURCE.read_text().replace("LOWEST_MS", str(LOWEST_MS)))
    made = compiler.getClassLoader().loadClass(_SOURCE.stem).getConstructors()[0]
    arguments = gateway(spark).new_array(classes(spark).java.lang.Object, 1)
    arguments[0] = session_of(spark)
    return made.newInstance(arguments)
