"""The types that the aggregates of a stage take in."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import StructType

from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import RollingSpec, WindowSpec
from pitstop.spark.lowering.event_time import event_time_if_there
from pitstop.spark.lowering.inputs import inputs_of
from pitstop.spark.lowering.lowering import Lowering


def aggregate_types(lowering: Lowering, node: Node) -> dict[str, tuple[Aggregate, StructType]]:
    """Return result column -> its aggregate and the types of its inputs, in order; nothing of a stage without aggregates."""
    types = {}
    for parent, part in zip(node.streams, _parts(node), strict=False):
        rows = lowering.frame(parent)
        timestamp = event_time_if_there(node, rows, parent.event_time)
        for result, aggregate in part.items():
            inputs = rows.select(*inputs_of(node, result, aggregate, rows, timestamp, strict=False))
            types[result] = (aggregate, inputs.schema)
    return types


def _parts(node: Node) -> tuple[Mapping[str, Aggregate], ...]:
    """Return the aggregates of each input of a stage."""
    if isinstance(node.spec, WindowSpec):
        return node.spec.aggregates
    return (node.spec.aggregates,) if isinstance(node.spec, RollingSpec) else ()
