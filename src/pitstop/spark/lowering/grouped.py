"""What stages with one row of state a key have in common: their key columns, and the layout of their state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pitstop.errors import PipelineError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.spark.lowering.event_time import as_key

ALL = "__all"
"""The key of a stage without keys."""


def key_names(keys: tuple[str, ...]) -> list[str]:
    """The names of the columns that rows are grouped by."""
    return list(keys) or [ALL]


def key_columns(frame: DataFrame, keys: tuple[str, ...]) -> list[Column]:
    """The columns that rows of the frame are grouped by; without keys one that is the same in all rows."""
    return [as_key(frame, name, name) for name in keys] or [F.lit(1).alias(ALL)]


def refuse_doubled(node: Node, columns: Iterable[str], added: Iterable[str]) -> None:
    """PipelineError if a column that the stage makes is there already."""
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
    """The layout of such a stage's state."""
    return StateLayout(
        kind=kind,
        keys=tuple((key, frame.schema[key].dataType.simpleString()) for key in keys),
        accumulators=tuple((field.name, field.dataType.simpleString()) for field in fields.fields),
        aggregates=aggregates,
        parameters=parameters,
        roles=("state", 0),
    )
