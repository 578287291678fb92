"""Queries of people on rows of state."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import PitstopError, UsageError
from pitstop.kit.canonical import plain
from pitstop.model.task import StateRows
from pitstop.spark.base.failures import reason
from pitstop.spark.base.values import value_of
from pitstop.spark.internals.parsed import is_statement

TABLE = "state"
"""The table of the rows in a query."""


def rows_of_sql(spark: SparkSession, rows: DataFrame, tables: Iterable[str], what: str, sql: str, limit: int) -> StateRows:
    """Return the rows of Spark SQL, at most ``limit``, on ``rows`` as tables of these names. UsageError if the SQL is wrong.

    ``what`` names the owner of the state in errors: ``stage 'totals'``.
    """
    for name in tables:
        rows.createOrReplaceTempView(f"`{name}`")
    try:
        if is_statement(spark, sql):
            raise UsageError(f"The query on {what} is not a query: write SELECT ... FROM {TABLE}.")
        result = spark.sql(sql)
        table = result.limit(limit + 1).toArrow()
    except PitstopError:
        raise
    except Exception as error:
        raise UsageError(f"The query on {what} failed: {reason(error)}") from error
    columns = [(field.name, field.dataType.simpleString()) for field in result.schema.fields]
    values = [[plain(value_of(value)) for value in column] for column in table.slice(0, limit).columns]
    return StateRows(columns, [list(row) for row in zip(*values, strict=True)], table.num_rows > limit)
