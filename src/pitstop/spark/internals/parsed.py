"""A query as Spark's own parser reads it, before anything in it is looked up or carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession

from pitstop.spark.internals.java_code import driver_class, new
from pitstop.spark.internals.jvm import classes, session_of

_NODES = {
    "plans.logical": (
        *("Aggregate", "Distinct", "Except", "Filter", "Generate", "GlobalLimit", "Intersect", "Join", "LateralJoin", "LimitAll"),
        *("LocalLimit", "LocalRelation", "Offset", "OneRowRelation", "Pivot", "Project", "RepartitionByExpression", "Sample"),
        *("Sort", "SubqueryAlias", "Union", "Unpivot", "UnresolvedWith", "WithWindowDefinition"),
    ),
    "analysis": (
        *("MultiAlias", "NamedParameter", "PosParameter", "UnresolvedAlias", "UnresolvedAttribute", "UnresolvedExtractValue"),
        *("UnresolvedFunction", "UnresolvedGenerator", "UnresolvedHaving", "UnresolvedInlineTable", "UnresolvedOrdinal"),
        *("UnresolvedPipeAggregateOrdinal", "UnresolvedQualify", "UnresolvedRelation", "UnresolvedStar"),
        *("UnresolvedStarExceptOrReplace", "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases"),
        "UnresolvedTableValuedFunction",
    ),
    "expressions": (
        *("Add", "Alias", "And", "AttributeReference", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "CaseWhen", "Cast"),
        *("Coalesce", "Collate", "Concat", "CreateNamedStruct", "Cube", "CurrentDate", "CurrentPath", "CurrentTime"),
        *("CurrentTimestamp", "CurrentUser", "Divide", "EqualNullSafe", "EqualTo", "Exists", "GreaterThan", "GreaterThanOrEqual"),
        *("GroupingSets", "ILike", "In", "InSubquery", "IntegralDivide", "IsNotNull", "IsNull", "LambdaFunction"),
        *("LateralSubquery", "LessThan", "LessThanOrEqual", "Like", "LikeAll", "LikeAny", "ListQuery", "Literal", "Lower"),
        *("Multiply", "NamedArgumentExpression", "Not", "NotLikeAll", "NotLikeAny", "Or", "Overlay", "PipeExpression"),
        *("PipeOperator", "RLike", "Remainder", "Rollup", "ScalarSubquery", "ShiftLeft", "ShiftRight", "ShiftRightUnsigned"),
        *("SortOrder", "SpecifiedWindowFrame", "StringLocate", "StringTrim", "StringTrimLeft", "StringTrimRight", "Substring"),
        *("Subtract", "TimestampAdd", "TimestampDiff", "UnaryMinus", "UnaryPositive", "Unnest"),
        *("UnresolvedCollation", "UnresolvedNamedLambdaVariable", "UnresolvedWindowExpression", "WindowExpression"),
        *("WindowSpecDefinition", "CurrentRow$", "UnboundedFollowing$", "UnboundedPreceding$", "UnspecifiedFrame$"),
        *("aggregate.AnyValue", "aggregate.First", "aggregate.Last"),
    ),
}
"""Package -> the nodes that Spark's parser makes of a query that only reads rows and computes with them.

All else is refused: scripts (SELECT TRANSFORM, MAP and REDUCE), commands, programs, names that are only known once they are
computed, streams, earlier versions of tables.
"""
_CHECK = "ParsedQuery"


class RefusedError(Exception):
    """A query holds what no query may have; the text names it."""


def rows_of(spark: SparkSession, text: str, functions: Mapping[str, int | None]) -> DataFrame:
    """Return the rows of a query, without carrying anything out yet.

    ``functions`` are those it may call -> the most arguments, if bounded. RefusedError for a text that Spark reads as anything
    but a query of rows, or in which a name has several parts: a query reads views of its session. Raises Spark's own errors as
    ``spark.sql`` does.
    """
    # By the settings of this session, and not of the one that the thread has had before.
    classes(spark).org.apache.spark.sql.classic.SparkSession.setActiveSession(session_of(spark))
    plan = session_of(spark).sessionState().sqlParser().parsePlan(text)
    refused = _check(spark, functions).refused(plan)
    if refused:
        raise RefusedError(refused)
    # That very plan: a text that is read once more might be read otherwise.
    return DataFrame(classes(spark).org.apache.spark.sql.classic.Dataset.ofRows(session_of(spark), plan), spark)


def is_statement(spark: SparkSession, text: str) -> bool:
    """Return True if Spark reads a text as something to carry out, such as DROP TABLE, and not as a query of rows.

    Raises Spark's own errors as ``spark.sql`` does for a text that it cannot read.
    """
    parser = session_of(spark).sessionState().sqlParser()
    try:
        parser.parseQuery(text.strip().rstrip(";"))
    except ParseException:
        parser.parsePlan(text)
        return True
    return False


def _check(spark: SparkSession, functions: Mapping[str, int | None]) -> Any:
    names = [f"{package}.{name}" for package, names in _NODES.items() for name in names]
    counts = [f"{name}:{-1 if most is None else most}" for name, most in functions.items()]
    return new(spark, driver_class(spark, _CHECK), " ".join(names), " ".join(counts))
