"""Logical plans of streaming DataFrames: operators that keep state, sources that are read, and what Spark would refuse to run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pitstop.spark.internals.jvm import analyzed, children, classes, items, sequence_of, session_of
from pitstop.spark.internals.nulls import strict_columns

_NUMBERS = re.compile(r"#\d+L?|@[0-9a-f]{4,}|0x[0-9a-f]+|\bplan_id=\d+")

STATEFUL_NODES = frozenset(
    {
        "Aggregate", "Deduplicate", "DeduplicateWithinWatermark", "Distinct", "FlatMapGroupsWithState",
        "FlatMapGroupsInPandasWithState", "TransformWithState", "TransformWithStateInPandas",
        "TransformWithStateInPySpark", "GlobalLimit", "Sort", "Window",
    }
)  # fmt: skip
"""Names of the nodes that keep state in a streaming plan; a join does if both its sides are streams."""

_DISTINCT = ("Deduplicate", "DeduplicateWithinWatermark")
"""Nodes that keep their keys alone."""
_COUNTING = ("GlobalLimit",)
"""Nodes that keep no column of a row."""

_ALIAS, _CAST, _PROJECT = "Alias", "Cast", "Project"
_CAST_TEXT, _TEXT = "CAST(", "string"
_EXPLODES = "Generate"
_EVENT_TIME = "EventTime"
"""Spark's text for the time mode of a ``transformWithState`` that has event time."""


@dataclass(frozen=True)
class Operator:
    """A stateful node in the analysed plan of a streaming DataFrame."""

    name: str
    form: str
    """Its text without the numbers of expressions, with the types of its rows: equal code has equal forms."""
    never_null: tuple[str, ...]
    """The columns of its rows that are never null, and fields of them (``column.field``), in order."""
    node: Any = field(compare=False)
    """The node itself."""


def stateful_nodes(frame: DataFrame) -> list[str]:
    """Return the names of the stateful nodes in the analysed plan of a streaming DataFrame, root first."""
    return [item.name for item in own_operators(frame, []) if not isinstance(item, int)]


def own_operators(frame: DataFrame, inputs: list[DataFrame]) -> list[Operator | int]:
    """Return the stateful nodes in the analysed plan of a streaming DataFrame that are not those of its inputs, root first.

    A number marks the place of that input, with all its own operators.
    """
    input_plans = [(number, analyzed(input_frame)) for number, input_frame in enumerate(inputs)]
    operators: list[Operator | int] = []

    def walk(node: Any) -> None:
        for number, input_plan in input_plans:
            if node.equals(input_plan) or node.sameResult(input_plan):
                operators.append(number)
                return
        below = list(children(node))
        if _keeps_state(node, below):
            operators.append(Operator(node.nodeName(), _form(node, below), _never_null(node, below), node))
        for child in below:
            walk(child)

    walk(analyzed(frame))
    return operators


def explodes(frame: DataFrame, source: DataFrame) -> bool:
    """Return True if a frame made from columns of another one has more, or fewer, rows: one of them is ``explode`` or similar."""
    below, node = analyzed(source), analyzed(frame)
    while node is not None and not (node.equals(below) or node.sameResult(below)):
        if node.nodeName() == _EXPLODES:
            return True
        node = next(children(node), None)
    return False


def expressions(frame: DataFrame, columns: list[Column]) -> list[str]:
    """Return each column, or aggregate, of a frame as resolved SQL: equal ones have equal texts, as SQL or made of functions.

    A cast to a type that holds every value of the type before, as from int to double, changes no value and is left out.
    """
    if not columns:
        return []
    select = analyzed(frame.select(*columns))
    named = select.projectList() if select.nodeName() == _PROJECT else select.aggregateExpressions()
    resolved = [each.child() if each.nodeName() == _ALIAS else each for each in items(named)]
    texts = [str(_without_widening(frame.sparkSession, each)[0].sql()) for each in resolved]
    for column in items(select.child().output()):
        if column.qualifier().size():  # as of a frame with an alias, which is nothing to what is computed
            bare = str(column.withQualifier(column.qualifier().take(0)).sql())
            texts = [text.replace(str(column.sql()), bare) for text in texts]
    return texts


def _without_widening(spark: SparkSession, expression: Any) -> tuple[Any, Any]:
    """Return the expression without casts that lose nothing, and the type that it had with the casts within it.

    Without them, the branches of a CASE may be of several types, and Spark refuses to say of which type the whole is.
    """
    if _CAST_TEXT not in str(expression.sql()):
        return expression, expression.dataType()
    parts = [_without_widening(spark, part) for part in children(expression)]
    if expression.nodeName() == _CAST and _widens(spark, parts[0][1], expression.dataType()):
        return parts[0]
    bare = expression.withNewChildren(sequence_of(spark, [part for part, _ in parts])) if parts else expression
    return bare, expression.dataType()


def _widens(spark: SparkSession, kind: Any, to: Any) -> bool:
    """Return True if one type of numbers, or times, holds every value of another.

    Text holds all of them but counts as none of them.
    """
    cast = classes(spark).org.apache.spark.sql.catalyst.expressions.Cast
    return to.typeName() != _TEXT and bool(cast.canUpCast(kind, to))


def has_watermark(frame: DataFrame) -> bool:
    """Return True if an operator behind this streaming DataFrame would get a watermark.

    Functions that keep state pass none on.
    """

    def reaches(node: Any) -> bool:
        name = node.nodeName()
        if name == "EventTimeWatermark":
            return True
        if name in ("FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState"):
            return False
        if name.startswith("TransformWithState") and str(node.timeMode()) != _EVENT_TIME:
            return False
        return any(reaches(child) for child in children(node))

    return reaches(analyzed(frame))


def source_relations(frame: DataFrame) -> list[int]:
    """Return, for each reader in the analysed plan of a streaming DataFrame, in Spark's order, the number of its relation.

    Spark makes one source of equal relations, and names its folder below ``sources/`` by that number.
    """
    relations: list[Any] = []
    numbers: list[int] = []

    def walk(node: Any) -> None:
        below = list(children(node))
        if not below and node.isStreaming():
            number = next((i for i, other in enumerate(relations) if other.equals(node)), len(relations))
            if number == len(relations):
                relations.append(node)
            numbers.append(number)
        for child in below:
            walk(child)

    walk(analyzed(frame))
    return numbers


def runs_python(frame: DataFrame) -> bool:
    """Return True if Python functions compute some of the rows of a DataFrame, as far as its analysed plan tells."""
    patterns = classes(frame.sparkSession).org.apache.spark.sql.catalyst.trees.TreePattern
    return bool(analyzed(frame).containsPattern(patterns.PYTHON_UDF()))


def check_streamable(frame: DataFrame) -> None:
    """Raise Spark's AnalysisException if it would refuse to run this streaming DataFrame in append mode."""
    catalyst = classes(frame.sparkSession).org.apache.spark.sql.catalyst
    mode = catalyst.streaming.InternalOutputModes.__getattr__("Append$").__getattr__("MODULE$")
    catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(analyzed(frame), mode)


def stand_in(frame: DataFrame) -> DataFrame:
    """Return a stream without rows that looks like this one, event time included, to check what follows it."""
    columns = [F.lit(None).cast(f.dataType).alias(f.name, metadata=f.metadata) for f in frame.schema.fields]
    return frame.sparkSession.readStream.format("rate").load().select(*columns)


def as_declared(frame: DataFrame, schema: StructType) -> DataFrame:
    """Return the rows with columns that cannot be null where the schema says so: Spark reads files as if all could be."""
    if frame.schema == schema:
        return frame
    session = session_of(frame.sparkSession)
    rows = frame._jdf.queryExecution().toRdd()
    return DataFrame(session.internalCreateDataFrame(rows, session.parseDataType(schema.json()), False), frame.sparkSession)


def _keeps_state(node: Any, below: list[Any]) -> bool:
    name = node.nodeName()
    if name == "Join":
        return all(child.isStreaming() for child in below)
    return name in STATEFUL_NODES and bool(node.isStreaming())


def _form(node: Any, below: list[Any]) -> str:
    text = _NUMBERS.sub("", str(node.simpleString(1000)))
    return f"{text} over {', '.join(_columns(child.schema()) for child in below)}"


def _never_null(node: Any, below: list[Any]) -> tuple[str, ...]:
    name = node.nodeName()
    if name in _COUNTING:
        return ()
    held = [attribute.name() for attribute in items(node.keys())] if name in _DISTINCT else None
    schemas = (StructType.fromJson(json.loads(child.schema().json())) for child in below)
    return tuple(column for schema in schemas for column in strict_columns(_of_these(schema, held)))


def _of_these(schema: StructType, names: list[str] | None) -> StructType:
    return schema if names is None else StructType([field for field in schema.fields if field.name in names])


def _columns(schema: Any) -> str:
    """Return the columns of a schema: Spark's short text, as all saved plans have it, unless it leaves some of them out."""
    text = str(schema.simpleString())
    return str(schema.catalogString()) if " more fields>" in text else text
