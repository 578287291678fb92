"""Early results: the results so far of a stage's open windows, written beside those of closed ones."""

from __future__ import annotations

import dataclasses
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.kit.durations import text
from pitstop.model.layout import StateLayout
from pitstop.pipeline.combining import MAX, MIN, MORE, SUM, Combining
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import WindowSpec
from pitstop.plan.kinds import Form, rules_of
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.naming import quoted, role_column
from pitstop.spark.lowering.window import Aggregation, finished
from pitstop.spark.state.saved import SavedStage

SPAN = "window"
_COMBININGS: dict[str, Combining] = {each.name: each for each in (SUM, MORE, MIN, MAX)}


class EarlyResults:
    """A window stage's early results, added to its rows as often as its pipeline asks for them."""

    def __init__(self, node: Node, spec: WindowSpec, saved: SavedStage) -> None:
        self._node, self._spec, self._saved = node, spec, saved
        self._last = float("-inf")

    def beside(self, rows: DataFrame, epoch: int) -> DataFrame:
        """Return the rows of an epoch, and, if it is time again, the results so far of the windows that are still open.

        The state stores must hold this epoch.
        """
        now = time.monotonic()
        if now < self._last + (self._spec.early_ms or 0) / 1000:
            return rows
        self._last = now
        # Not by the stage's name: Spark's source of state finds no path with a blank.
        folder = self._saved.checkpoint.with_name(f"{self._saved.checkpoint.name}.early.{min(self._saved.operators.values())}")
        view = Checkpoint(self._saved.checkpoint).as_if_committed(epoch, folder)
        saved = dataclasses.replace(self._saved, checkpoint=view.path, epoch=epoch)
        return rows.unionByName(early_results(rows.sparkSession, self._node, self._spec, saved))


def open_windows(spark: SparkSession, saved: SavedStage) -> DataFrame:
    """Return one row for each key and open window that holds something: the keys, ``window`` (start, end), the accumulators.

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
    """Return the results of open windows so far, in the columns of the stage, ``is_early`` true."""
    rows = open_windows(spark, saved)
    return finished(rows, spec, SPAN, Aggregation(node, spec.aggregates), is_early=True)


def _combining(layout: StateLayout, accumulator: str) -> Combining:
    result, _, number = accumulator.rpartition("__")
    return _COMBININGS[dict(layout.aggregates)[result].split(",")[int(number)]]
