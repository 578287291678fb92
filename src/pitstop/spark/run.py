"""One run of a job: its query is started, watched, and ended between two epochs."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pitstop.errors import ConflictError, PitstopError
from pitstop.kit.waiting import wait_until
from pitstop.model.job import Progress
from pitstop.plan.sizes import state_sizes
from pitstop.spark.base.admission import Admission
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.failures import reason
from pitstop.spark.base.session import runs_here
from pitstop.spark.internals.task_times import physical_plan, stages_of_epochs
from pitstop.spark.lowering.compiled_job import CompiledJob, default_partitions
from pitstop.spark.lowering.tables import Frames, HashJoinTables
from pitstop.spark.running.epochs import EpochWriter, WriteSink
from pitstop.spark.running.file_times import FileTimes
from pitstop.spark.running.outgrowing import MemoryWatch
from pitstop.spark.running.peeks import Peeks, Rows, visible_stages
from pitstop.spark.running.progress import ProgressTracker
from pitstop.spark.running.query import RunningQuery
from pitstop.spark.running.real_time import start_in_real_time
from pitstop.spark.running.refresh import TableRefresh, refresh_seconds
from pitstop.spark.sinks import write_sink
from pitstop.spark.starting.head_start import HeadStart
from pitstop.spark.starting.start_point import StartPoint

COMMIT_SECONDS, LOOK_SECONDS = 2.0, 0.02
"""The time after an epoch is written during which its commit is looked for in Spark's progress, and the interval, in seconds."""
REFRESH_STOP_SECONDS = 120.0
"""The longest wait for the running epoch to end before the tables of hash joins are read anew, in seconds."""


class Run:
    """A run that has been started. Within it one query may replace another: see ``running``."""

    def __init__(
        self,
        job: CompiledJob,
        environment: Environment,
        tracker: ProgressTracker,
        running: RunningQuery,
        wake: Callable[[], None],
        tables: HashJoinTables,
        holds: bool = True,
        write: WriteSink = write_sink,
        refreshes: bool = True,
    ) -> None:
        """Create a run whose first query has been started: see :meth:`start`."""
        self._job, self._environment, self._wake, self._write = job, environment, wake, write
        self.tracker = tracker
        self.running = running
        """The query at this moment."""
        self._peeks = Peeks()
        self._written, self._commits = -1, threading.Event()
        self._file_times = FileTimes(environment.log)
        self._memory = MemoryWatch(job, environment.log, holds)
        self._tables, self._refreshes = tables, refreshes
        self._refresh = TableRefresh(
            self._until_refresh, lambda: self.running, self._read_tables, self._start_again, self._tables.discard, wake
        )
        self._follow(running)
        threading.Thread(target=self._await_commits, daemon=True).start()
        self._refresh.begin()

    @classmethod
    def start(
        cls,
        job: CompiledJob,
        environment: Environment,
        point: StartPoint,
        before: Progress,
        wake: Callable[[], None],
        head_start: HeadStart | None = None,
        holds: bool = True,
        write: WriteSink = write_sink,
        refreshes: bool = True,
    ) -> Run:
        """Start the job's query; return once Spark has accepted it.

        ``before`` is the progress of the job's earlier runs. ``wake`` is called when an epoch is done or the query has ended.
        ``holds``: state that has far outgrown its memory keeps epochs from beginning. ``write`` stands in for its sinks, unless
        the run has a ``head_start``. ``refreshes``: the tables of hash joins are read again when their time has come.
        """
        environment = dataclasses.replace(environment.by_options(job.config), lineage=point.lineage)
        path = environment.sources.admission
        limits = path is not None and environment.real_time_ms is None
        admission = Admission(Path(str(path)), job.config.snapshot_interval_ms) if limits else None
        cores, is_local = default_partitions(job.spark), runs_here(job.spark)
        agreements = environment.sources.agreements
        tracker = ProgressTracker(
            job.plan, before, environment.log, admission, cores, counts_once=is_local, agreements=agreements
        )
        environment = dataclasses.replace(environment, left_out=tracker.left_out)
        tables = HashJoinTables(job.spark, job.pipeline, environment, point.checkpoint, before.tables_away)
        waiting = head_start.gated if head_start is not None else None
        if environment.real_time_ms is not None:
            running = start_in_real_time(job, environment, point.checkpoint, tracker.wrote, environment.real_time_ms)
        elif waiting is not None and waiting.waits_for(point.checkpoint):
            waiting.running.writer.tell_rows(tracker.wrote)
            running = waiting.go(environment)
        else:
            frames = tables.at_start()
            with tables.used():
                running = RunningQuery.start(
                    job.spark, job.pipeline, environment, point.checkpoint, write=write, counted=tracker.wrote, tables=frames
                )
        run = cls(job, environment, tracker, running, wake, tables, holds, write, refreshes)
        for concern in job.plan.concerns:
            environment.log("WARN", "pitstop.source", concern)
        environment.log("INFO", "pitstop.engine", "the query is started")
        return run

    @property
    def active(self) -> bool:
        """False once the query has ended, by itself or because it was stopped."""
        # No lock: Spark's own threads ask, and a query that is being stopped waits for them.
        if self.tracker.unaccounted is not None:
            return False
        return self._refresh.under_way or self.running.active or self.holds_still

    @property
    def outgrown(self) -> int | None:
        """The bytes of memory that the state takes, if that is more than it may (option state_store=auto)."""
        return self._memory.outgrown

    @property
    def holds_still(self) -> bool:
        """True while no epoch begins because memory has no room for what it would add."""
        return self._memory.holds(self.running) and self.running.failure() is None

    @property
    def up(self) -> bool:
        """True once the query has done an epoch, or found nothing to do; in real time, once rows go through."""
        return self.tracker.ready or self.running.writer.flows

    def failure(self) -> PitstopError | None:
        """Return the reason why the query ended by itself; None if it runs or was stopped."""
        return self.tracker.unaccounted or self.running.failure() or self._refresh.failure

    def look(self) -> Progress:
        """Return the progress of the job so far, over all its runs."""
        self._sees_more()
        if self.tracker.first_epoch:
            self._memory.look(self.tracker.progress, self.running)
        return dataclasses.replace(self.tracker.progress, tables_away=self._tables.away)

    def stop(self, timeout: float) -> int:
        """End between two epochs and note what each stage's state holds; return the last committed epoch.

        EngineError if the running epoch does not end within ``timeout`` seconds.
        """
        self._refresh.end()
        epoch = self.running.stop(timeout)
        self.running.drop_tables()
        self._check_rows()
        checkpoint = self.running.checkpoint
        checkpoint.write_facts(checkpoint.facts() | {"stages": self.stage_facts()})
        return epoch

    def abandon(self) -> None:
        """End at once, as if the process had died: an epoch that is under way stays uncommitted, and nothing is noted."""
        self._refresh.end()
        self.running.end()
        self.running.drop_tables()

    def stage_facts(self) -> dict[str, dict[str, Any]]:
        """Return stage -> {operators, rows, bytes} of its state, as last seen; for snapshots."""
        return state_sizes(self._job.plan, self.look().stages)

    def execution(self, epochs: int) -> dict[str, Any]:
        """Return Spark's ``stages`` in the last epochs, the ``plan`` of the last one, and the ``peekable`` stages."""
        query, writer = self.running.query, self.running.writer
        peekable = list(visible_stages(writer.cuts)) if isinstance(writer, EpochWriter) else []
        stages = stages_of_epochs(self._job.spark, query, epochs)
        return {"stages": stages, "plan": physical_plan(query), "peekable": peekable}

    def peek(self, stage: str, limit: int, seconds: float) -> Rows:
        """Return rows that a stage gives in the next epoch that gives any; see service.api.Service.peek."""
        writer = self.running.writer
        if not isinstance(writer, EpochWriter):
            raise ConflictError("Nobody can look at the rows of a job in real time: they go through its stages one by one.")
        return self._peeks.peek(writer.cuts, stage, limit, seconds)

    def _follow(self, query: RunningQuery) -> None:
        self.running = query
        if isinstance(query.writer, EpochWriter):
            query.writer.peeks = self._peeks
            query.writer.at_gate(partial(self._at_gate, query.writer))
        query.writer.before_epoch(self._epoch_begins)
        query.writer.after_epoch(self._epoch_written)
        threading.Thread(target=self._await_end, args=(query,), daemon=True).start()

    def _at_gate(self, writer: EpochWriter, epoch: int) -> None:
        if epoch != self._tables.epoch_of_before:
            self._refresh.before_epoch(writer)

    def _epoch_begins(self) -> None:
        if self._sees_more():
            self._wake()
        self._check_rows()

    def _check_rows(self) -> None:
        """Raise the last look's error about rows that are not accounted for, if anybody wants to know."""
        if self.tracker.unaccounted is not None:
            raise self.tracker.unaccounted

    def _epoch_written(self, epoch: int) -> None:
        self._written = epoch
        self._commits.set()

    def _await_commits(self) -> None:
        """Notice each epoch soon after its commit, including the last one before a pause. Spark reports it a moment later."""
        while self._commits.wait():
            self._commits.clear()
            try:
                if not self.active:
                    return
                if wait_until(lambda: self._sees(self._written), COMMIT_SECONDS, step=LOOK_SECONDS):
                    self._wake()
            except Exception as error:  # the session ends; the next look, or failure(), tells what there is to tell
                self._environment.log("DEBUG", "pitstop.engine", f"an epoch is not seen at once: {type(error).__name__}")

    def _sees_more(self) -> bool:
        """Take note of the query's progress; return True if it has finished an epoch since the last look."""
        more = self.tracker.look(self.running.query)
        if more:
            self.running.note_epoch(self.tracker.progress.epoch_ms)
            stages = self.tracker.progress.stages
            slots = [(slot.relation, slot.stage) for slot in self._job.plan.source_slots]
            offsets = {number: (stage, stages.get(stage, {}).get("offset")) for number, stage in slots if number is not None}
            self._file_times.look(self.running.checkpoint.path, offsets)
        return more

    def refresh_tables(self) -> None:
        """Read the tables of hash joins for the next epoch. Raise the error that keeps one from being read."""
        self._refresh.give(None)  # reading forgets what was read before and no epoch has had
        self._refresh.give(self._tables.read())

    def await_tables(self) -> bool:
        """Wait while a query with other tables replaces the one that runs; return False if none does."""
        replaces = self._refresh.under_way
        self._refresh.settle()
        return replaces

    def _sees(self, epoch: int) -> bool:
        self._sees_more()
        return self.tracker.last_epoch >= epoch or not self.active

    def _await_end(self, running: RunningQuery) -> None:
        try:
            running.query.awaitTermination()
        except Exception as error:  # told by failure(); this thread only has to wake the loop
            self._environment.log("DEBUG", "pitstop.engine", f"the query ended: {type(error).__name__}")
        self._commits.set()
        self._wake()

    def _until_refresh(self) -> float | None:
        """Return the seconds until the tables of hash joins are read again; None: never."""
        if not self._refreshes:
            return None
        times = [seconds for seconds in (refresh_seconds(self._job.pipeline), self._tables.due) if seconds is not None]
        return min(times, default=None)

    def _read_tables(self) -> Frames | None:
        """Return the tables of hash joins as they are now; None, with a line in the log, if they cannot be read."""
        self._environment.log("INFO", "pitstop.engine", "reading the tables of hash joins again")
        try:
            return self._tables.read()
        except Exception as error:  # whatever it is, the query that runs has its tables
            if self.running.active:
                message = (
                    f"the tables of hash joins stay as they are, and are read when their time has come again: {reason(error)}"
                )
                self._environment.log("WARN", "pitstop.engine", message)
            return None

    def _start_again(self, tables: Frames) -> None:
        """Replace the running query, which rests before an epoch, by a new one with these tables of hash joins."""
        before = self.running
        before.stop(REFRESH_STOP_SECONDS)
        self.look()
        before.drop_tables()
        path = before.checkpoint.path
        counted = self.tracker.wrote
        job, environment = self._job, self._environment
        with self._tables.used():
            self._follow(
                RunningQuery.start(
                    job.spark, job.pipeline, environment, path, before, write=self._write, counted=counted, tables=tables
                )
            )
