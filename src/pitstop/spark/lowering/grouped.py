"""The common parts of stages with one row of state for each key: their key columns, and the layout of their state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType, StructType

from pitstop.errors import PipelineError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.naming import quoted
from pitstop.spark.lowering.event_time import as_key

ALL = "__all"
"""The key of a stage without keys."""


def key_names(keys: tuple[str, ...]) -> list[str]:
    """Return the names of the columns that rows are grouped by."""
    return list(keys) or [ALL]


def key_columns(frame: DataFrame, keys: tuple[str, ...]) -> list[Column]:
    """Return the columns that rows of the frame are grouped by.

    Without keys that is one column with the same value in all rows.
    """
    pairs = ((name, _one_zero(frame, name)) for name in keys)
    return [as_key(frame, name, name) if key is None else key for name, key in pairs] or [F.lit(1).alias(ALL)]


def with_one_zero(frame: DataFrame, keys: Iterable[str]) -> DataFrame:
    """Return the frame with 0.0 and -0.0 as one value in these keys."""
    return frame.withColumns({name: key for name in keys if (key := _one_zero(frame, name)) is not None})


def _one_zero(frame: DataFrame, name: str) -> Column | None:
    """Return a float or double key in which 0.0 and -0.0 are one value, as their bytes in state differ; None for other keys."""
    kind = frame.schema[name].dataType
    if not isinstance(kind, (FloatType, DoubleType)):
        return None
    return (F.col(quoted(name)) + F.lit(0.0).cast(kind)).alias(name)


def refuse_doubled(node: Node, columns: Iterable[str], added: Iterable[str]) -> None:
    """Raise PipelineError if a column that the stage makes exists already."""
    both = sorted(set(columns) & set(added))
    if both:
        raise PipelineError(f"Stage '{node.name}' ({node.location}) would have two columns '{both[0]}': rename the one it makes.")


def layout_of(
    keys: tuple[str, ...],
    frame: DataFrame,
    kind: StageKind,
    fields: StructType,
    parameters: dict[str, Any],
    aggregates: tuple[tuple[str, str], ...] = (),
) -> StateLayout:
    """Return the layout of such a stage's state."""
    return StateLayout(
        kind=kind,
        keys=tuple((key, frame.schema[key].dataType.simpleString()) for key in keys),
        accumulators=tuple((field.name, field.dataType.simpleString()) for field in fields.fields),
        aggregates=aggregates,
        parameters=parameters,
        roles=("state", 0),
    )
