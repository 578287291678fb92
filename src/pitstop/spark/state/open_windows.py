"""What the windows of a stage hold that are still open: for early results, for migrations, for people who look."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.model.layout import StateLayout
from pitstop.pipeline.combining import MAX, MIN, SUM, Combining
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SinkSpec, WindowSpec
from pitstop.plan.accumulators import READABLE
from pitstop.plan.kinds import Form, rules_of
from pitstop.spark.base.naming import quoted, role_column
from pitstop.spark.lowering.window import Aggregation, finished
from pitstop.spark.state.saved import SavedStage

SPAN = "window"
_COMBININGS: dict[str, Combining] = {"sum": SUM, "min": MIN, "max": MAX}


def open_windows(spark: SparkSession, saved: SavedStage) -> DataFrame:
    """Keys, ``window`` (start, end), accumulators: one row for each open window of a key that holds something.

    All accumulators must be readable.
    """
    layout, stage = saved.layout, saved.stage
    if rules_of(layout.kind).form is Form.SESSIONS:
        return saved.rows(spark, "sessions").withColumnRenamed(role_column(stage, "sessions"), SPAN)
    frames = saved.rows(spark, "frames").withColumnRenamed(role_column(stage, "frames"), SPAN)
    size, slide = layout.parameters["size_ms"], layout.parameters["slide_ms"]
    if size == slide:
        return frames
    windows = saved.rows(spark, "windows").withColumnRenamed(role_column(stage, "windows"), SPAN)
    covering = F.window(F.col(f"{SPAN}.start"), text(size), text(slide))
    spread = frames.withColumn(SPAN, F.struct(covering.start.alias("start"), covering.end.alias("end")))
    keys = [quoted(name) for name, _ in layout.keys]
    merged = [F.col(quoted(name)).alias(name) for name, _ in layout.accumulators]
    combined = [_combining(layout, name).merge(F, F.col(quoted(name))).alias(name) for name, _ in layout.accumulators]
    both = windows.select(*keys, SPAN, *merged).unionByName(spread.select(*keys, SPAN, *merged))
    return both.groupBy(*keys, SPAN).agg(*combined)


def early_results(spark: SparkSession, node: Node, spec: WindowSpec, saved: SavedStage) -> DataFrame:
    """The results of open windows so far, in the columns of the stage, ``is_early`` true."""
    rows = open_windows(spark, saved)
    keys = tuple(name for name, _ in saved.layout.keys)
    return finished(rows, keys, SPAN, Aggregation(node, spec.aggregates), is_early=True)


def check_early(nodes: tuple[Node, ...], layouts: Mapping[str, StateLayout]) -> None:
    """PipelineError unless early results can be made: readable accumulators, and only stateless steps to the sinks."""
    for node in nodes:
        if isinstance(node.spec, WindowSpec) and node.spec.early_ms:
            layout = layouts.get(node.name)
            for column, classes in layout.aggregates if layout is not None else ():
                if not READABLE.issuperset(classes.split(",")):
                    raise PipelineError(
                        f"Stage '{node.name}' ({node.location}) cannot give early results of '{column}', whose state cannot be "
                        "read before its window ends: give it a stage of its own."
                    )
        if isinstance(node.spec, SinkSpec) or node.spec.passable:
            continue
        for parent in node.inputs:
            while parent.spec.passable:
                parent = parent.inputs[0]
            if isinstance(parent.spec, WindowSpec) and parent.spec.early_ms:
                raise PipelineError(
                    f"Stage '{node.name}' ({node.location}) reads the early results of '{parent.name}': they can go to sinks "
                    "by stateless steps only."
                )


def _combining(layout: StateLayout, accumulator: str) -> Combining:
    result, _, number = accumulator.rpartition("__")
    return _COMBININGS[dict(layout.aggregates)[result].split(",")[int(number)]]
