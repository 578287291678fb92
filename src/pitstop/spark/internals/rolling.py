"""Rolling aggregates as Spark's own flatMapGroupsWithState, with a function on Spark's internal rows (RollingFunction.java)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from pitstop.spark.internals.java_code import new, shared_class
from pitstop.spark.internals.jvm import analyzed, classes, session_of

ROLLED = "__rolled"
"""The column with the result of a row: its fields, then the accumulators after it."""

_FUNCTION = "RollingFunction"


@dataclass(frozen=True)
class Fold:
    """The way in which a key's rows are folded into its accumulators, one after the other."""

    steps: DataFrame
    """Selects, of a frame whose columns are the accumulators and then the fields of a row, the accumulators after that row."""
    row: StructType
    """The fields of a row; the last is its event time in ms."""
    state: StructType
    """The fields that are kept for a key: the accumulators, and last the latest event time of its rows in ms."""
    ordered: bool
    """True if a key's rows of an epoch are taken in by their event time, else as they come."""

    @property
    def accumulators(self) -> list[StructField]:
        return self.state.fields[:-1]

    @property
    def rolled(self) -> StructType:
        """The fields of a row's result: the row, then the accumulators."""
        return StructType([*self.row.fields, *self.accumulators])


def rolled(frame: DataFrame, keys: int, fold: Fold) -> DataFrame:
    """Return the rows of a frame with their accumulators, as the one column ROLLED.

    The first ``keys`` columns of the frame are the key, the next holds a row as a struct. If there is one more, it holds the
    saved state of a key, and the row beside it is null.
    """
    spark = frame.sparkSession
    sql = classes(spark).org.apache.spark.sql
    catalyst, streaming = sql.catalyst, sql.streaming
    plan, selected = analyzed(frame), analyzed(fold.steps)
    whole, key, row = plan.output(), plan.output().take(keys), plan.output().drop(keys)
    restores, width = row.size() > 1, len(fold.accumulators)
    inputs, time = selected.child().output(), len(fold.row.fields) - 1
    function = new(spark, shared_class(spark, _FUNCTION), selected.projectList(), inputs, width, time, fold.ordered, restores)
    value = catalyst.expressions.CreateStruct.create(row) if restores else row.head()
    rolled = catalyst.types.DataTypeUtils.toAttributes(_java(spark, StructType([StructField(ROLLED, fold.rolled, False)])))
    nothing = catalyst.expressions.Literal.FalseLiteral()
    none_saved = catalyst.plans.logical.LocalRelation(
        catalyst.types.DataTypeUtils.toAttributes(_java(spark, fold.state)),
        _seq(spark),
        False,
        classes(spark).scala.Option.empty(),
    )
    node = catalyst.plans.logical.FlatMapGroupsWithState(
        function,
        nothing,  # the key, which the function does not look at
        value,
        key,
        whole,
        rolled.head(),
        _as_it_is(spark, fold.state),
        streaming.OutputMode.Append(),
        False,
        streaming.GroupStateTimeout.NoTimeout(),
        False,
        key,
        whole,
        nothing,
        none_saved,
        plan,
    )
    return DataFrame(sql.classic.Dataset.ofRows(session_of(spark), node), spark)


def _as_it_is(spark: SparkSession, schema: StructType) -> Any:
    """Return an encoder of Spark's own rows: the function keeps and gets back exactly what the state store holds."""
    catalyst, java_schema = classes(spark).org.apache.spark.sql.catalyst, _java(spark, schema)
    whole = catalyst.expressions.BoundReference(0, java_schema, True)
    into, back = [], []
    for place, field in enumerate(schema.fields):
        name, kind = catalyst.expressions.Literal.create(field.name, _java(spark, StringType())), _java(spark, field.dataType)
        into += [name, catalyst.expressions.GetStructField(whole, place, classes(spark).scala.Option.empty())]
        back += [name, catalyst.expressions.BoundReference(place, kind, True)]
    struct = catalyst.expressions.CreateNamedStruct
    encoder = catalyst.encoders.RowEncoder.encoderFor(java_schema)
    return catalyst.encoders.ExpressionEncoder(encoder, struct(_seq(spark, *into)), struct(_seq(spark, *back)))


def _java(spark: SparkSession, kind: Any) -> Any:
    return session_of(spark).parseDataType(kind.json())


def _seq(spark: SparkSession, *items: Any) -> Any:
    listed = classes(spark).java.util.ArrayList()
    for item in items:
        listed.add(item)
    return classes(spark).scala.jdk.javaapi.CollectionConverters.asScala(listed).toList()
