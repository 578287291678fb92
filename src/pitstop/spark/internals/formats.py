"""Formats by their names, as Spark looks them up."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pitstop.spark.internals.jvm import classes, session_of


def has_format(spark: SparkSession, name: str) -> bool:
    """Return True if the session finds a format of that name."""
    sources = classes(spark).org.apache.spark.sql.execution.datasources.DataSource
    try:
        sources.lookupDataSource(name, spark._jsparkSession.sessionState().conf())
    except (Py4JJavaError, PySparkException):
        return False
    return True


def has_driver(spark: SparkSession, url: str, driver: str | None) -> bool:
    """Return True if Java has a driver for a database's URL: the class of that name, else one that knows such URLs."""
    try:
        if driver is not None:
            session_of(spark).sharedState().jarClassLoader().loadClass(driver)
        else:
            classes(spark).java.sql.DriverManager.getDriver(url)
    except Py4JJavaError:
        return False
    return True
