"""Saved state as DataFrames of accumulators, by Spark's public ``statestore`` source."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StructType

from pitstop.errors import EngineError
from pitstop.model.layout import StateLayout
from pitstop.plan.model import OperatorSlot, Plan
from pitstop.spark.lower_source import row_schema_of
from pitstop.spark.naming import parse_role_column, quoted, role_column


def operator_frame(spark: SparkSession, checkpoint: Path, epoch: int, operator: int) -> DataFrame:
    """One operator's state as Spark shows it: ``key struct, value struct, partition_id``."""
    return spark.read.format("statestore").option("operatorId", operator).option("batchId", epoch).load(str(checkpoint))


def check_operators(spark: SparkSession, checkpoint: Path, epoch: int, plan: Plan) -> None:
    """Raise EngineError unless each operator's key says that it is the stage the plan expects there."""
    for operator, slot in enumerate(plan.operators):
        key = operator_frame(spark, checkpoint, epoch, operator).schema["key"].dataType
        found = next((m for m in map(parse_role_column, _names(key)) if m), None)
        if found != (slot.stage, slot.role):
            raise EngineError(
                f"Operator {operator} of the query keeps the state of {found}, not of stage '{slot.stage}': "
                "Spark numbers operators differently than expected; please report this."
            )


def accumulator_rows(
    spark: SparkSession, checkpoint: Path, epoch: int, operator: int, slot: OperatorSlot, old: StateLayout, new: StateLayout
) -> DataFrame:
    """The state of one operator as rows of the new layout's columns: keys, window column, accumulators.

    Accumulators that the old layout lacks are null, the neutral element of every combination. The value struct
    repeats names (two sums are both called ``sum``), so it is renamed by position.
    """
    state = operator_frame(spark, checkpoint, epoch, operator)
    fields, buffers = _value_schema(old)
    value = state.schema["value"].dataType
    if not isinstance(value, StructType) or len(value.fields) != buffers:
        raise EngineError(f"The saved state of stage '{slot.stage}' has another form than its layout: it cannot be converted.")
    rows = state.select("key", F.col("value").cast(fields).alias("value"))
    span = role_column(slot.stage, slot.role)
    kept = dict(old.accumulators)
    columns = [F.col(f"key.{quoted(name)}").alias(name) for name, _ in new.keys]
    columns.append(F.col(f"key.{quoted(span)}").alias(span))
    for name, kind in new.accumulators:
        saved = F.col(f"value.{quoted(name)}") if name in kept else F.lit(None)
        columns.append(saved.cast(kind).alias(name))
    return rows.select(*columns)


def _value_schema(layout: StateLayout) -> tuple[StructType, int]:
    """The value struct with unique names. A sum of decimals keeps a second field (whether it is empty)."""
    classes = [part for _, name in layout.aggregates for part in name.split(",")]
    schema = StructType()
    for (name, kind), combining in zip(layout.accumulators, classes, strict=True):
        dtype = row_schema_of(kind)
        schema = schema.add(name, dtype)
        if combining == "sum" and isinstance(dtype, DecimalType):
            schema = schema.add(f"{name}__empty", row_schema_of("boolean"))
    return schema, len(schema.fields)


def _names(kind: object) -> list[str]:
    return kind.fieldNames() if isinstance(kind, StructType) else []
