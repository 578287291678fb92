"""The writing of an epoch: Spark hands over its rows, every sink gets its part, and only then Spark commits the epoch.

State is written as rows are computed, and sinks need not read them: one may have the epoch already, another may return early. So
before Spark commits an epoch, its state is looked for, and rows that no sink has read are computed.

The query computes each cut once. Here the epoch's rows are split by cut, and the stateless rest of the pipeline runs on them on
their way to the sinks.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial

from pyspark.sql import DataFrame

from pitstop.errors import EngineError
from pitstop.machine.logs import lines_with
from pitstop.pipeline.nodes import Node
from pitstop.plan.cuts import Cut
from pitstop.snapshots.checkpoint import Checkpoint, EpochOfBefore
from pitstop.snapshots.epoch_digest import EpochDigests
from pitstop.snapshots.state_files import StateFiles
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.failures import EpochBoundaryError
from pitstop.spark.base.left_out import tell_seen
from pitstop.spark.internals.kept_rows import forget_rows
from pitstop.spark.internals.observations import Observations
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.lowering.streaming import part
from pitstop.spark.running.early import EarlyResults
from pitstop.spark.running.gate import Gate
from pitstop.spark.running.peeks import Peeks
from pitstop.spark.sinks import sink_kind, take_all, write_sink

WriteSink = Callable[[Node, DataFrame, int, Environment], int | None]
"""Writes one epoch's rows into the sink of a node; returns their number, None if it does not know."""


@dataclass(frozen=True)
class EpochRecords:
    """The checkpoint of a query, as far as writing an epoch needs it."""

    of_before: EpochOfBefore | None = None
    """The epoch that sinks may have under other names."""
    begins: Callable[[int], None] = lambda epoch: None
    """Called with each epoch right before a sink has it."""
    state: StateFiles | None = None
    """Looks for the state of an epoch."""
    digest: Callable[[int], str | None] = lambda epoch: None
    """Gives the digest of an epoch (snapshots.epoch_digest)."""
    planned_at: Callable[[int], int] = lambda epoch: round(time.time() * 1000)
    """Gives the time of an epoch in ms since 1970."""

    @classmethod
    def of(cls, checkpoint: Checkpoint, operators: int) -> EpochRecords:
        """Return the records of a checkpoint; ``operators`` is the number of the query's operators with state."""
        return cls(
            of_before=checkpoint.epoch_of_before(),
            begins=checkpoint.begin_writing,
            state=StateFiles(checkpoint, operators),
            digest=EpochDigests(checkpoint).of,
            planned_at=checkpoint.planned_at,
        )


class EpochWriter(Gate):
    """The callback of ``foreachBatch``, with a gate that stops the query between two epochs.

    ``written`` gets the time (by the monotonic clock) at which an epoch began, once all its sinks are written and before Spark
    commits it.
    """

    def __init__(
        self,
        cuts: tuple[Cut, ...],
        environment: Environment,
        early: Mapping[str, EarlyResults] | None = None,
        written: Callable[[float], None] | None = None,
        write: WriteSink = write_sink,
        saved: EpochRecords | None = None,
    ) -> None:
        super().__init__()
        saved = saved or EpochRecords()
        self._state, self._digest = saved.state, saved.digest
        self._write_sink, self._of_before, self._begins = write, saved.of_before, saved.begins
        self._early = early or {}
        self._written = written
        self._cuts = cuts
        self._in_query = {id(node) for cut in cuts for node in cut.node.upstream()}
        self._planned_at, self._observations = saved.planned_at, Observations()
        self._environment = environment
        self._paused = False
        self._at_gate: Callable[[int], None] = lambda epoch: None
        self._writing: int | None = None
        self.peeks = Peeks()
        """Looks at the rows of epochs, those of the run if it has set its own."""
        self.tables: Mapping[str, DataFrame] = {}
        """Hash join stage -> its table, where that has been read."""

    def __call__(self, rows: DataFrame, epoch: int) -> None:
        self._at_gate(epoch)
        with self._gate(epoch), lines_with(epoch=epoch):
            begun = time.monotonic()
            try:
                self._before()
                self._environment.ownership.check()
                self._write(rows, epoch)
                if self._written is not None:
                    self._written(begun)
            except BaseException as error:
                # Spark wraps what we raise in its own exceptions: keep the one that a person can read.
                self.failure = error
                raise

    @property
    def cuts(self) -> tuple[Cut, ...]:
        return self._cuts

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple({id(node): node for cut in self._cuts for sink in cut.sinks for node in sink.upstream()}.values())

    def belong_to(self, environment: Environment, of_before: EpochOfBefore | None) -> None:
        """Write on behalf of this run from now on, on its checkpoint: the query was started before either existed."""
        self._environment, self._of_before = environment, of_before

    def close(self, timeout: float) -> bool:
        with self._condition:
            self._closed = True
            return self._condition.wait_for(lambda: self._writing is None, timeout)

    def at_gate(self, call: Callable[[int], None]) -> None:
        """Call this with the number of each epoch that is about to begin. It may close the gate before the epoch."""
        self._at_gate = call

    def pause(self) -> None:
        """Let no further epoch begin."""
        self._paused = True

    @property
    def closed(self) -> bool:
        return self._closed or self._paused

    @contextmanager
    def _gate(self, epoch: int) -> Iterator[None]:
        with self._condition:
            if self.closed:
                raise EpochBoundaryError(f"stopped before epoch {epoch}")
            self._writing = epoch
        try:
            yield
            self.last_written = epoch
            self._after(epoch)
        finally:
            with self._condition:
                self._writing = None
                self._condition.notify_all()

    def _write(self, rows: DataFrame, epoch: int) -> None:
        if self._state is not None:
            self._state.begins(epoch)
        self._write_sinks(rows, epoch)
        for stage, reason, count in tell_seen(self._observations, self._environment.log):
            self._environment.left_out(stage, reason, count)

    def _write_sinks(self, rows: DataFrame, epoch: int) -> None:
        someone_peeks = self.peeks.any
        if self._in_one_pass and not someone_peeks:
            sink = self._cuts[0].sinks[0]
            self._write_into(sink, self._below(self._cuts[0], rows, epoch), epoch)
            self._complete(rows, epoch)
            return
        # Not persist(): each sink's tasks would carry the whole plan of the epoch that made the rows.
        rows = rows.localCheckpoint(eager=False)
        try:
            if self._early:
                rows.count()  # from here on the state stores hold this epoch
            parts = [part(rows, number, len(self._cuts)) for number in range(len(self._cuts))]
            lowerings = {id(cut): self._lowered(cut, own, epoch) for cut, own in zip(self._cuts, parts, strict=True)}
            for cut, sink in writing_order(self._cuts):
                self._environment.ownership.check()
                self._write_into(sink, lowerings[id(cut)], epoch)
            self._complete(rows, epoch)
            if someone_peeks:
                unobserved = {
                    id(cut): dataclasses.replace(self._below(cut, own, epoch), observe=None)
                    for cut, own in zip(self._cuts, parts, strict=True)
                }
                self.peeks.answer(self._cuts, lambda cut, node: unobserved[id(cut)].frame(node))
        finally:
            forget_rows(rows)

    @cached_property
    def _in_one_pass(self) -> bool:
        """True if the only sink takes the rows as they are made: they need not be kept for others, or to be read again."""
        sinks = [sink for cut in self._cuts for sink in cut.sinks]
        return len(sinks) == 1 and not self._early and sink_kind(sinks[0]).reads_once

    def _complete(self, rows: DataFrame, epoch: int) -> None:
        """Compute the rows of an epoch that no sink has read; EngineError if its state is missing even then."""
        if self._state is None or not self._state.missing(epoch):
            return
        take_all(rows)
        missing = self._state.missing(epoch)
        if missing:
            places = ", ".join(map(str, missing[:3])) + (", …" if len(missing) > 3 else "")
            raise EngineError(
                f"The state of epoch {epoch} was not written ({places} in the checkpoint), so the epoch is not committed.",
                restartable=True,
            )

    def _write_into(self, sink: Node, lowering: Lowering, epoch: int) -> None:
        before = self._of_before
        known_as = before.known_as if before is not None and before.epoch == epoch else ()
        begins, digest = partial(self._begins, epoch), self._digest(epoch)
        environment = dataclasses.replace(self._environment, known_as=known_as, begins=begins, digest=digest)
        self.sink = sink
        with lines_with(stage=sink.name):
            rows = self._write_sink(sink, lowering.frame(sink), epoch, environment)
        self.sink = None
        if rows is not None:
            self._counted(sink.name, rows)

    def _lowered(self, cut: Cut, rows: DataFrame, epoch: int) -> Lowering:
        early = self._early.get(cut.node.name)
        return self._below(cut, rows if early is None else early.beside(rows, epoch), epoch)

    def _below(self, cut: Cut, rows: DataFrame, epoch: int) -> Lowering:
        return Lowering(
            rows.sparkSession,
            self._environment.sources,
            streaming=False,
            frames={id(cut.node): rows},
            tables=dict(self.tables),
            max_ahead_ms=self._environment.max_ahead_ms,
            now_ms=partial(self._planned_at, epoch),
            observe=self._observations.observe,
            observed=self._in_query,
        )


def writing_order(cuts: tuple[Cut, ...]) -> list[tuple[Cut, Node]]:
    """Return all sinks with their cuts, in the order in which an epoch writes them.

    First those that may fail by the user's own code, then maps, then files: an epoch that fails in user code, and that another
    version may read again, has then put nothing into maps or files.
    """
    pairs = [(cut, sink) for cut in cuts for sink in cut.sinks]
    return sorted(pairs, key=lambda pair: sink_kind(pair[1]).rank)
