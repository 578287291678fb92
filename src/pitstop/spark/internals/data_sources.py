"""The Python data sources that Spark finds by itself: packages on its path whose names begin with ``pyspark_``."""

from __future__ import annotations

import pkgutil

from pyspark.sql import SparkSession

from pitstop.spark.internals.jvm import classes

_PREFIX = "pyspark_"


def skip_search_for_packages(spark: SparkSession) -> None:
    """Spare Spark the search for such packages where there are none. Call it before the first data source is registered.

    Spark would start a Python process for the search, which takes more than a second.
    """
    if any(module.name.startswith(_PREFIX) for module in pkgutil.iter_modules()):
        return
    jvm = classes(spark)
    package = jvm.org.apache.spark.sql.execution.datasources
    manager = package.__getattr__("DataSourceManager$").__getattr__("MODULE$")
    if not manager.dataSourceBuilders().isDefined():
        manager.__getattr__("dataSourceBuilders_$eq")(jvm.scala.Some(jvm.scala.Predef.Map().empty()))
