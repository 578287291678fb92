"""The SQL that we read, and the SQL that Spark reads: sqlglot's dialect of Spark, which here changes no call.

sqlglot replaces a function by another one that it takes for the same, and loses formats and whole calls on the way. Here a call
stays as the user wrote it, except for the calls that a query of a job is compiled by.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

_AGGREGATES = (
    *("ANY_VALUE", "APPROX_COUNT_DISTINCT", "ARRAY_AGG", "AVG", "COLLECT_LIST", "COLLECT_SET", "COUNT", "COUNT_IF", "FIRST"),
    *("FIRST_VALUE", "LAST", "LAST_VALUE", "MAX", "MAX_BY", "MIN", "MIN_BY", "STDDEV", "STDDEV_SAMP", "SUM"),
    *("VARIANCE", "VAR_SAMP"),
)
"""The aggregates that jobs have."""
_WITH_UNITS = ("DATEADD", "DATEDIFF", "DATE_ADD", "DATE_DIFF", "TIMESTAMPADD", "TIMESTAMPDIFF")
"""Functions among whose arguments a word such as DAY is no column."""
_WITH_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "MAX_BY", "MIN_BY", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM")
"""Functions whose arguments need not stand between commas."""


class PitstopSql(Spark):
    """Spark's SQL as our statements write it: with names in double quotes, and texts in which a backslash is a backslash."""

    class Tokenizer(Spark.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012 - read by the library as it is
        QUOTES = ["'"]  # noqa: RUF012
        # Clients put values in by doubling quotes: with another escape a value could end its text.
        STRING_ESCAPES = ["'"]  # noqa: RUF012

    class Parser(SparkParser):
        FUNCTIONS = {  # noqa: RUF012
            **{name: SparkParser.FUNCTIONS[name] for name in (*_AGGREGATES, *_WITH_UNITS)},
            "MEAN": exp.Avg.from_arg_list,
            "STD": exp.Stddev.from_arg_list,
        }
        FUNCTION_PARSERS = {name: SparkParser.FUNCTION_PARSERS[name] for name in _WITH_SYNTAX}  # noqa: RUF012


class _ForSpark(Spark):
    """The SQL that Spark 4 reads."""

    class Generator(SparkGenerator):
        TYPE_MAPPING = {**SparkGenerator.TYPE_MAPPING, exp.DType.TIME: "TIME"}  # noqa: RUF012


def spark_sql(node: exp.Expr) -> str:
    """Return an expression as Spark reads it."""
    return node.sql(dialect=_ForSpark)
