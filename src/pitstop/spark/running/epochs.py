"""One epoch: the rows of the streaming query go to every sink, or none counts.

The query computes each cut once; this module takes the epoch's rows apart, runs the stateless rest of
the pipeline on them and writes all sinks. Spark commits the epoch after it returns.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import WindowSpec
from pitstop.plan.cuts import Cut
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.internals import forget_rows
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.sinks import sink_kind, write_sink
from pitstop.spark.state.open_windows import early_results
from pitstop.spark.state.saved import SavedStage

CUT = "__cut"
WriteSink = Callable[[Node, DataFrame, int, Environment], None]
"""Writes one epoch's rows into the sink of a node."""


class EpochBoundaryError(Exception):
    """Ends the query at an epoch boundary: this epoch has written nothing and will not be committed."""


def joined(frames: list[DataFrame]) -> DataFrame:
    """The cuts of a pipeline as one DataFrame: a tag and one nullable struct column a cut; one cut alone stays as it is."""
    if len(frames) == 1:
        return frames[0]
    kinds = [frame.schema for frame in frames]
    result: DataFrame | None = None
    for number, frame in enumerate(frames):
        parts = [
            F.struct(*[F.col(f"`{c}`") for c in frame.columns]).alias(f"__c{i}")
            if i == number
            else F.lit(None).cast(kinds[i]).alias(f"__c{i}")
            for i in range(len(frames))
        ]
        branch = frame.select(F.lit(number).alias(CUT), *parts)
        result = branch if result is None else result.unionByName(branch)
    assert result is not None
    return result


class EarlyResults:
    """Adds to a stage's rows, when it is time, what its open windows hold with this epoch."""

    def __init__(self, node: Node, spec: WindowSpec, saved: SavedStage) -> None:
        self._node, self._spec, self._saved = node, spec, saved
        self._last = float("-inf")

    def beside(self, rows: DataFrame, epoch: int) -> DataFrame:
        now = time.monotonic()
        if now < self._last + (self._spec.early_ms or 0) / 1000:
            return rows
        self._last = now
        folder = self._saved.checkpoint.with_name(f"{self._saved.checkpoint.name}.early.{self._node.name}")
        view = Checkpoint(self._saved.checkpoint).as_if_committed(epoch, folder)
        saved = dataclasses.replace(self._saved, checkpoint=view.path, epoch=epoch)
        return rows.unionByName(early_results(rows.sparkSession, self._node, self._spec, saved))


class EpochWriter:
    """The callback of ``foreachBatch``, with a gate that stops the query between two epochs.

    ``written`` is told when (by the monotonic clock) an epoch began, once all its sinks are written and before Spark
    commits it.
    """

    def __init__(
        self,
        spark: SparkSession,
        cuts: tuple[Cut, ...],
        environment: Environment,
        early: Mapping[str, EarlyResults] | None = None,
        written: Callable[[float], None] | None = None,
        write: WriteSink = write_sink,
    ) -> None:
        self._spark, self._write_sink = spark, write
        self._early = early or {}
        self._written = written
        self._cuts = cuts
        self._environment = environment
        self._condition = threading.Condition()
        self._stopping = False
        self._before: Callable[[], None] | None = None
        self._writing: int | None = None
        self.last_written = -1
        self.failure: BaseException | None = None

    def __call__(self, rows: DataFrame, epoch: int) -> None:
        with self._gate(epoch):
            begun = time.monotonic()
            try:
                if self._before is not None:
                    self._before()
                self._environment.check_fence()
                self._write(rows, epoch)
                if self._written is not None:
                    self._written(begun)
            except BaseException as error:
                # Spark wraps what we raise in its own exceptions: keep the one that a person can read.
                self.failure = error
                raise

    def belong_to(self, environment: Environment) -> None:
        """Write for this run from now on: the query was started before there was one."""
        self._environment = environment

    def before_epoch(self, call: Callable[[], None]) -> None:
        """Call this before each epoch from now on, in Spark's thread."""
        self._before = call

    def close(self, timeout: float) -> bool:
        """Let no further epoch write; wait for the one being written. False if it did not end in time."""
        with self._condition:
            self._stopping = True
            return self._condition.wait_for(lambda: self._writing is None, timeout)

    @property
    def closed(self) -> bool:
        return self._stopping

    @contextmanager
    def _gate(self, epoch: int) -> Iterator[None]:
        with self._condition:
            if self._stopping:
                raise EpochBoundaryError(f"stopped before epoch {epoch}")
            self._writing = epoch
        try:
            yield
            self.last_written = epoch
        finally:
            with self._condition:
                self._writing = None
                self._condition.notify_all()

    def _write(self, rows: DataFrame, epoch: int) -> None:
        if len(self._cuts) == 1 and len(self._cuts[0].sinks) == 1 and not self._early:
            sink = self._cuts[0].sinks[0]
            self._write_sink(sink, self._below(self._cuts[0], rows).frame(sink), epoch, self._environment)
            return
        # Not persist(): each sink's tasks would carry the whole plan of the epoch that made the rows.
        rows = rows.localCheckpoint(eager=False)
        try:
            if self._early:
                rows.count()  # from here on the state stores hold this epoch
            lowerings = {id(cut): self._lowered(cut, self._part(rows, number), epoch) for number, cut in enumerate(self._cuts)}
            for cut, sink in writing_order(self._cuts):
                self._environment.check_fence()
                self._write_sink(sink, lowerings[id(cut)].frame(sink), epoch, self._environment)
        finally:
            forget_rows(rows)

    def _lowered(self, cut: Cut, rows: DataFrame, epoch: int) -> Lowering:
        early = self._early.get(cut.node.name)
        return self._below(cut, rows if early is None else early.beside(rows, epoch))

    def _below(self, cut: Cut, rows: DataFrame) -> Lowering:
        session = rows.sparkSession
        return Lowering(session, self._environment.sources, streaming=False, given={id(cut.node): rows})

    def _part(self, rows: DataFrame, number: int) -> DataFrame:
        if len(self._cuts) == 1:
            return rows
        return rows.where(F.col(CUT) == number).select(f"__c{number}.*")


def writing_order(cuts: tuple[Cut, ...]) -> list[tuple[Cut, Node]]:
    """All sinks with their cuts, in the order in which an epoch writes them.

    First those that may fail by the user's own code, then maps, then files: an epoch that fails in user code, and that
    another version may read again, has then put nothing into maps or files.
    """
    pairs = [(cut, sink) for cut in cuts for sink in cut.sinks]
    return sorted(pairs, key=lambda pair: sink_kind(pair[1]).rank)
