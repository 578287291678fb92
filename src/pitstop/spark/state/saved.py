"""Saved state as DataFrames, by Spark's public ``statestore`` and ``state-metadata`` sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, DecimalType, StructField, StructType

from pitstop.errors import EngineError, UsageError
from pitstop.model.layout import StateLayout
from pitstop.plan.accumulators import MORE
from pitstop.plan.kinds import Form, rules_of
from pitstop.plan.kinds.rolling import COLUMNS
from pitstop.plan.model import OperatorSlot
from pitstop.spark.base.naming import quoted, role_column
from pitstop.spark.base.type_texts import type_of
from pitstop.spark.internals.operators import group_state_field, has_variables, joins_streams, variables
from pitstop.spark.state.codec import LAST, STATE
from pitstop.spark.state.key_text import FIELDS, TEXT, fields_of


@dataclass(frozen=True)
class SavedStage:
    """A stage's state in a checkpoint as of an epoch."""

    checkpoint: Path
    epoch: int
    stage: str
    layout: StateLayout
    operators: Mapping[str, int]
    """Role -> operator id."""

    def rows(self, spark: SparkSession, role: str, as_text: bool = False) -> DataFrame:
        """Return the state of the operator with that role, as :func:`saved_rows` has it.

        ``as_text`` gives, for a stage whose state is a text for each key, that text (column TEXT) in the place of its fields.
        """
        if as_text:
            return _texts(operator_frame(spark, self.checkpoint, self.epoch, self.operators[role]), self.layout)
        slot = OperatorSlot(self.stage, role)
        return saved_rows(spark, self.checkpoint, self.epoch, self.operators[role], slot, self.layout)


def operator_frame(spark: SparkSession, checkpoint: Path, epoch: int, operator: int, **options: str) -> DataFrame:
    """Return one operator's state as Spark shows it: ``key struct, value struct, partition_id``."""
    reader = spark.read.format("statestore").option("operatorId", operator).option("batchId", epoch)
    return reader.options(**options).load(str(checkpoint))


def operator_stores(spark: SparkSession, checkpoint: Path) -> dict[int, tuple[str, list[str]]]:
    """Return operator id -> Spark's name of its kind, and its stores."""
    rows = spark.read.format("state-metadata").load(str(checkpoint)).select("operatorId", "operatorName", "stateStoreName")
    stores: dict[int, tuple[str, list[str]]] = {}
    for operator, name, store in sorted(set(rows.collect())):  # a line a partition
        stores.setdefault(operator, (name, []))[1].append(store)
    return stores


def operator_names(spark: SparkSession, checkpoint: Path) -> dict[int, str]:
    """Return operator id -> Spark's name of its kind."""
    return {operator: name for operator, (name, _) in operator_stores(spark, checkpoint).items()}


def saved_rows(
    spark: SparkSession, checkpoint: Path, epoch: int, operator: int, slot: OperatorSlot, layout: StateLayout
) -> DataFrame:
    """Return the state of one operator: keys, window column (named for stage and role) if it has one, accumulators.

    State that belongs to a key (map_stateful, rolling) has its accumulators as a struct, FIELDS, and ``__last`` (ms since the
    epoch).
    """
    state = operator_frame(spark, checkpoint, epoch, operator)
    if rules_of(layout.kind).form is Form.KEYED:
        return _keyed_rows(state, layout)
    if rules_of(layout.kind).form is Form.SESSIONS:
        return _session_rows(state, slot, layout)
    span = role_column(slot.stage, slot.role)
    value = _renamed(state, _buffers(layout), slot)
    keys = [F.col(f"key.{quoted(name)}") for name, _ in layout.keys]
    return value.select(*keys, F.col(f"key.{quoted(span)}").alias(span), *_accumulators(layout))


def raw_rows(spark: SparkSession, saved: SavedStage) -> DataFrame:
    """Return a stage's state as Spark shows it: ``key``, ``value``; where it has several stores as JSON text, beside ``store``.

    A variable of transformWithState is a store of its own; each entry of a list or map is a row. UsageError if there is none.
    """
    frames: dict[str, DataFrame] = {}
    for role, number in saved.operators.items():
        own = store_frames(spark, saved.checkpoint, saved.epoch, number)
        frames |= {f"{role} {store}".strip(): rows for store, rows in own.items()}
    if not frames:
        raise UsageError(f"Stage '{saved.stage}' has no variables, only timers: there is no state of it to look at.")
    if len(frames) == 1 and frames.keys() == saved.operators.keys():
        return next(iter(frames.values())).drop("partition_id")
    return in_one_table(frames)


def store_frames(spark: SparkSession, checkpoint: Path, epoch: int, operator: int) -> dict[str, DataFrame]:
    """Return store -> its rows as Spark shows them: each side of a join, each variable of transformWithState, else "" alone."""
    name, read = operator_names(spark, checkpoint)[operator], partial(operator_frame, spark, checkpoint, epoch, operator)
    if joins_streams(name):
        return {side: read(joinSide=side) for side in ("left", "right")}
    if has_variables(name):
        return {variable: read(stateVarName=variable) for variable in _variables(spark, checkpoint, operator)}
    return {"": read()}


def in_one_table(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of several stores as columns ``store``, ``key`` and ``value``, the last two as JSON text."""
    return reduce(DataFrame.unionByName, [_as_text(store, frame) for store, frame in frames.items()])


def _variables(spark: SparkSession, checkpoint: Path, operator: int) -> list[str]:
    return variables(operator_properties(spark, checkpoint, operator))


def operator_properties(spark: SparkSession, checkpoint: Path, operator: int) -> str:
    """Return the notes that Spark keeps of an operator in its own form."""
    rows = spark.read.format("state-metadata").load(str(checkpoint)).where(F.col("operatorId") == operator)
    notes = rows.select("operatorProperties").first()
    assert notes is not None, f"the checkpoint has no operator {operator}"
    return str(notes[0])


def _as_text(store: str, frame: DataFrame) -> DataFrame:
    value = [name for name in frame.columns if name not in ("key", "partition_id")]
    # Rows of a join have a field more than their schema, over which to_json would stumble: field by field.
    names = field_names(frame.schema["value"].dataType) if value == ["value"] else []
    fields = [F.col(f"value.{quoted(name)}") for name in names]
    fields_of_value = F.struct(*(fields or map(F.col, value)))
    return frame.select(F.lit(store).alias("store"), F.to_json("key").alias("key"), F.to_json(fields_of_value).alias("value"))


def converted(rows: DataFrame, old: StateLayout, new: StateLayout, span: str | None, new_span: str | None) -> DataFrame:
    """Return saved rows of layout ``old`` in the form of ``new``. New accumulators are null, the neutral element of combining.

    ``span`` and ``new_span`` are the names of the window column before and after; None if there is none.
    """
    if TEXT in rows.columns:
        return rows.select(*[F.col(quoted(name)) for name, _ in new.keys], TEXT, LAST)
    kinds = dict(old.accumulators)
    columns: list[Column] = [F.col(quoted(name)) for name, _ in new.keys]
    if span is not None and new_span is not None:
        columns.append(F.col(quoted(span)).alias(new_span))
    accumulators = []
    for name, kind in new.accumulators:
        within = F.col(FIELDS).getField(name) if FIELDS in rows.columns else F.col(quoted(name))
        accumulators.append((within if name in kinds else F.lit(None)).cast(type_of(kind)).alias(name))
    if FIELDS in rows.columns:
        return rows.select(*columns, F.struct(*accumulators).alias(FIELDS), LAST)
    return rows.select(*columns, *accumulators)


def is_text(layout: StateLayout) -> bool:
    """True if the state of each key is one text."""
    return rules_of(layout.kind).form is Form.KEYED and layout.form != COLUMNS


def _texts(state: DataFrame, layout: StateLayout) -> DataFrame:
    group = F.col(f"value.{quoted(group_state_field(field_names(state.schema['value'].dataType)))}")
    keys = [F.col(f"key.{quoted(name)}") for name, _ in layout.keys]
    return state.select(*keys, group.getField(STATE).alias(TEXT), group.getField(LAST).alias(LAST))


def _keyed_rows(state: DataFrame, layout: StateLayout) -> DataFrame:
    """Return the kept state of each key: a row of its fields, or one text."""
    group = group_state_field(field_names(state.schema["value"].dataType))
    keys = [F.col(f"key.{quoted(name)}") for name, _ in layout.keys]
    value = F.col(f"value.{quoted(group)}")
    if layout.form == COLUMNS:
        fields = F.struct(*[value.getField(name).alias(name) for name, _ in layout.accumulators])
    else:
        schema = StructType([StructField(name, type_of(kind)) for name, kind in layout.accumulators])
        fields = fields_of(value.getField(STATE), schema)
    return state.select(*keys, fields.alias(FIELDS), value.getField(LAST).alias(LAST))


def _session_rows(state: DataFrame, slot: OperatorSlot, layout: StateLayout) -> DataFrame:
    span = role_column(slot.stage, slot.role)
    window = type_of("struct<start:timestamp,end:timestamp>")
    head = [StructField(name, type_of(kind)) for name, kind in layout.keys] + [StructField(span, window)]
    value = _renamed(state, StructType([*head, *_buffers(layout).fields]), slot)
    keys = [F.col(f"value.{quoted(name)}") for name, _ in layout.keys]
    return value.select(*keys, F.col(f"value.{quoted(span)}").alias(span), *_accumulators(layout))


def _renamed(state: DataFrame, schema: StructType, slot: OperatorSlot) -> DataFrame:
    """Return the state with its value's fields named by ``schema``, by position.

    Spark repeats names (two sums are both ``sum``).
    """
    value = state.schema["value"].dataType
    if not isinstance(value, StructType) or len(value.fields) != len(schema.fields):
        raise EngineError(f"The saved state of stage '{slot.stage}' has another form than its layout: it cannot be converted.")
    return state.select("key", F.col("value").cast(schema).alias("value"))


def _accumulators(layout: StateLayout) -> list[Column]:
    """Return the accumulators in a value struct with the names of :func:`_buffers`.

    A sum of nothing is null, where Spark keeps 0.
    """
    names, columns = _buffers(layout).fieldNames(), []
    for name, _ in layout.accumulators:
        value, empty = F.col(f"value.{quoted(name)}"), _empty(name)
        columns.append((F.when(~F.col(f"value.{quoted(empty)}"), value) if empty in names else value).alias(name))
    return columns


def _empty(name: str) -> str:
    return f"{name}__empty"


def _buffers(layout: StateLayout) -> StructType:
    """Return the value struct as Spark keeps it, with unique names. A sum of decimals has a second field: True if it is empty."""
    classes = [part for _, name in layout.aggregates for part in name.split(",")]
    schema = StructType()
    for (name, kind), combining in zip(layout.accumulators, classes, strict=True):
        dtype = type_of(kind)
        schema = schema.add(name, dtype)
        if combining in ("sum", MORE) and isinstance(dtype, DecimalType):
            schema = schema.add(_empty(name), BooleanType())
    return schema


def field_names(kind: DataType) -> list[str]:
    """Return the names of a struct's fields; none of any other type."""
    return kind.fieldNames() if isinstance(kind, StructType) else []
