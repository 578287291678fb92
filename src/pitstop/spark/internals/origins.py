"""The origin of a column, as Spark notes it for the errors that its expression raises.

PySpark can tell Spark the place of each call in a user's code, which takes time. We tell it instead what we make.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import QueryContext, QueryContextType
from pyspark.sql import SparkSession

from pitstop.spark.internals.jvm import classes

_OURS = "pitstop"
"""The text in the place where PySpark would name a file and line."""


@contextmanager
def errors_name(spark: SparkSession, what: str) -> Iterator[None]:
    """Make errors of the columns that are created meanwhile say that they come from ``what``: see :func:`named_in`."""
    origin = classes(spark).org.apache.spark.sql.catalyst.trees.PySparkCurrentOrigin
    origin.set(what, _OURS)
    try:
        yield
    finally:
        origin.clear()


def named_in(context: QueryContext) -> str | None:
    """Return the name that :func:`errors_name` gave the expression that raised an error; None if it gave none."""
    if context.contextType() != QueryContextType.DataFrame or context.callSite() != _OURS:
        return None
    return context.fragment()
