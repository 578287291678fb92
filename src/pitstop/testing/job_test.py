"""``JobTest``: a job in the process of a test, whose sources the test feeds, and which it leads from epoch to epoch.

The job runs as in production: it is compiled, run, restored and judged by the same code, on Spark, with state in a checkpoint on
disk. A test pushes rows in the place of a source's reader, decides when an epoch begins, and sees the rows that sinks get.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from pyspark.sql import SparkSession

from pitstop.errors import ConflictError, NotFoundError, PitstopError
from pitstop.kit.durations import milliseconds
from pitstop.kit.ids import new_job_id
from pitstop.local.place import LocalPlace
from pitstop.local.version import Version, version_of
from pitstop.model.job import Progress
from pitstop.model.origin import origin_here
from pitstop.model.report import Report
from pitstop.model.typed_options import RunOptions
from pitstop.pipeline.job import JobDefinition
from pitstop.pipeline.source import Source
from pitstop.pipeline.specs import SinkSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint, link_checkpoint
from pitstop.spark.base.failures import in_short
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.lowering.placing import placed
from pitstop.spark.run import Run
from pitstop.spark.running.refresh import refresh_seconds
from pitstop.spark.running.stepping import SteppedClock, Stepping
from pitstop.spark.sources.files import rows_of_texts
from pitstop.spark.sources.pushed import PushedRows
from pitstop.spark.starting.start_point import StartPoint, start_point
from pitstop.spark.state.in_snapshot import SnapshotState
from pitstop.store.maps import SqlMapStore
from pitstop.testing.captured import CapturedRows, plain_rows
from pitstop.testing.dying import die, dying_quietly
from pitstop.testing.fed_job import compile_with_feeds
from pitstop.testing.feeds import Feed
from pitstop.testing.session import build_test_session

STOP_SECONDS = 60.0
_OF_ONE_VERSION = ("renamed", "allow_drop", "seek", "initial_snapshot")
"""Options that say how one version takes over from the one before."""


class JobTest:
    """A job under test.

    ``job`` is a function marked with ``@ps.job``, with its arguments, or a pipeline. ``spark`` is your session (default: a new
    one); ``folder`` keeps state, files and maps (default: a temporary one, removed at the end). ``options`` are those of the job,
    as at its submission. Use it as a context manager, or by the pytest fixture ``job_test``, so that the job ends.
    """

    def __init__(
        self,
        job: Pipeline | JobDefinition[...],
        *args: Any,
        spark: SparkSession | None = None,
        folder: str | Path | None = None,
        name: str | None = None,
        **options: Unpack[RunOptions],
    ) -> None:
        self._temporary = Path(tempfile.mkdtemp(prefix="pitstop-test-")) if folder is None else None
        self.folder = Path(folder or self._temporary or "").absolute()
        """The folder of the test. Files that the job writes to ``/out`` are in ``files/out``."""
        self._args, self._options, self._name = args, dict(options), name
        self._clock = SteppedClock()
        self._feeds: dict[str, Feed] = {}
        self._counts: dict[str, int] = {}
        self._rows = CapturedRows(self.folder / "files")
        self._pushed = PushedRows(self.folder / "pushed")
        self.log: list[str] = []
        """The lines of the job's log, without those of the level DEBUG."""
        with self._in_words(), self._removing_folder():
            version = version_of(job, args, options, name, "JobTest")
            self._place = LocalPlace.of(spark or build_test_session(self.folder / "spark"), self.folder, self._log)
            shutil.rmtree(self._pushed.folder, ignore_errors=True)  # rows of an earlier test in the same folder
            self._pushed.folder.mkdir()
            compiled, self._feeds = self._compiled(version)
            self._start(compiled, version, self._start_point(compiled, version, None, None), Progress())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def maps(self) -> SqlMapStore:
        """The store of the job's maps."""
        return self._place.maps

    @property
    def epochs(self) -> int:
        """The number of the last committed epoch. A version whose state has another form counts anew."""
        return self._run.running.checkpoint.committed()

    def push(self, source: str, rows: Iterable[Any]) -> None:
        """Push rows into a source; the next epoch reads them.

        A row is a dict by column (columns that are missing are null), a list or tuple of all columns, a Row or a dataclass.
        Times without a zone are in UTC. A source that reads text (CSV, JSON, and ``files``) takes a str, too: a line as it
        stands in a file, which is parsed as the source does it, or goes to the dead letters.
        """
        feed = self._feeds.get(source)
        if feed is None:
            raise NotFoundError(f"The job has no source '{source}' to push rows into. It has: {', '.join(self._feeds)}.")
        added = self._pushed.push(feed.name, feed.rows(rows, self._read_texts), feed.raw)
        self._counts[feed.name] = self._counts.get(feed.name, 0) + added

    def epoch(self) -> None:
        """Run one epoch with all rows that were pushed since the last one, and wait until it is committed.

        If it moves the watermark, the epoch without rows that Spark then runs, for windows that end, is part of it. Raises the
        job's own error if it fails.
        """
        with self._stepping.between_epochs():
            self._pushed.release(self._counts)
        self._rest()

    def advance_time(self, to: str | float | timedelta | datetime) -> None:
        """Let time go on by a duration such as ``"5 minutes"``, or event time to a moment, and do what is then due.

        The clock of the job goes on by the duration, and so does the watermark, as if rows with later times had come by every
        source: windows end, timers and ``ttl`` fire, and tables of hash joins whose ``refresh`` is due are read again. A moment
        becomes the watermark.
        """
        moment = to if isinstance(to, datetime) else None
        by_ms = None if isinstance(to, datetime) else milliseconds(to)
        with self._stepping.between_epochs():
            self._clock.advance(by_ms or 0)
        self._tables_age_ms += by_ms or 0
        every = refresh_seconds(self._job.pipeline)
        if every is not None and self._tables_age_ms >= every * 1000:
            self.refresh_tables()
        with self._stepping.between_epochs():
            self._stepping.raise_watermarks(by_ms, moment)
        self._rest()

    def rows(self, sink: str) -> list[dict[str, Any]]:
        """Return all rows that a sink got, epoch after epoch; within an epoch rows have no order.

        Each row is a dict. Times have no zone and are in UTC.
        """
        return self._rows.of(sink, self._names(SinkSpec))

    def entries(self, name: str) -> dict[str, Any]:
        """Return the entries of a map: key -> value."""
        return {entry.key: json.loads(entry.value) for entry in self.maps.entries(name)}

    def put(self, name: str, entries: Mapping[str, Any]) -> None:
        """Put entries into a map, which the job may look up or follow."""
        self.maps.put_all(name, [(key, json.dumps(value)) for key, value in entries.items()])

    def refresh_tables(self) -> None:
        """Read the tables of hash joins and of ``with_map`` again, as the job does every ``refresh``; the next epoch has them."""
        self._refuse_failed()
        self._run.refresh_tables()
        self._tables_age_ms = 0

    def state(self, stage: str) -> list[dict[str, Any]]:
        """Return the saved state of a stage, as ``pitstop snapshot query`` shows it."""
        folder = self._exported("of-the-test")
        opened = SnapshotState.open(folder, manifests.read(folder), stage)
        return plain_rows(opened.rows(self._place.session).toArrow())

    def upgrade(self, job: Pipeline | JobDefinition[...], *args: Any, **options: Unpack[RunOptions]) -> Report:
        """Update the job to a new version, as ``pitstop update`` does; return what became of each stage.

        Without arguments the new version gets those of the present one. ``options`` are those of the update: ``renamed``,
        ``allow_drop``, and others. A version that the rules refuse raises the error of ``pitstop update``, and the present one
        goes on.
        """
        kept_options = {name: value for name, value in self._options.items() if name not in _OF_ONE_VERSION}
        args = args or (self._args if isinstance(job, JobDefinition) else ())
        with self._in_words():
            version = version_of(job, args, {**kept_options, **options}, self._name or self._version.name, "upgrade")
            compiled, feeds = self._compiled(version)
            point = self._start_point(compiled, version, None, self._exported("before-upgrade"))
            self._run.stop(STOP_SECONDS)
            self._feeds = feeds
            self._start(compiled, version, point, Progress())
        self._args, self._options = args, {**kept_options, **options}
        if point.report is None:
            raise ConflictError("The new version has begun with empty state.")
        return point.report

    def crash(self, *, before_sinks: bool = False) -> None:
        """Let the job die in the epoch of the rows that were pushed, start it again, and wait until that epoch is committed.

        It dies when all sinks have the epoch and Spark has not committed it; with ``before_sinks``, when the epoch is planned
        and no sink has it. A job without new rows dies between two epochs.
        """
        with self._stepping.between_epochs():
            writer = self._run.running.writer
            if before_sinks:
                writer.before_epoch(die)
            else:
                writer.after_epoch(lambda epoch: die())
            self._pushed.release(self._counts)
        with dying_quietly():
            self._stepping.rest()
        self._run.abandon()
        progress, dead = self._run.look(), self._run.running.checkpoint
        compiled, version = self._job, self._version
        # The dead run's session lives on here, and knows the folder of its state: the next run gets what the disk has.
        self._place = dataclasses.replace(self._place, job_id=new_job_id())
        remains = self._place.data.job(self._place.job_id).checkpoint(self._lineage)
        link_checkpoint(dead, remains)
        Checkpoint(remains).relocate(remains)
        with self._in_words():
            point = self._start_point(compiled, version, self._lineage, None)
            self._start(compiled, version, point, progress)

    def close(self) -> None:
        """End the job, and remove its folder if that is a temporary one."""
        if self._run.active:
            with suppress(PitstopError):
                self._run.stop(STOP_SECONDS)
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _compiled(self, version: Version) -> tuple[CompiledJob, dict[str, Feed]]:
        pipeline = self._rows.in_folder(placed(version.pipeline, origin_here()))
        # A test asks for each epoch: none waits for its time.
        config = dataclasses.replace(version.config, max_latency_ms=0)
        in_folder = dataclasses.replace(version, pipeline=pipeline, config=config)
        return compile_with_feeds(self._place, in_folder, self._feeds, self._pushed.folder)

    def _start(self, compiled: CompiledJob, version: Version, point: StartPoint, before: Progress) -> None:
        environment, wake = self._place.environment(version), threading.Event().set
        self._job, self._version, self._lineage = compiled, version, point.lineage
        self._run = Run.start(compiled, environment, point, before, wake, write=self._rows.write, refreshes=False)
        self._tables_age_ms = 0
        self._rest()

    def _start_point(self, compiled: CompiledJob, version: Version, lineage: str | None, snapshot: Path | None) -> StartPoint:
        return start_point(compiled, self._place.environment(version), self._place.data, lineage, lambda: snapshot)

    @property
    def _stepping(self) -> Stepping:
        self._refuse_failed()
        return Stepping(self._place.session, self._run.running, self._clock)

    def _rest(self) -> None:
        self._stepping.rest()
        while self._run.await_tables():
            with self._stepping.between_epochs():  # the clock of the test goes on in the query with other tables
                pass
            self._stepping.rest()
        self._run.look()
        self._refuse_failed()

    def _refuse_failed(self) -> None:
        failure = self._run.failure()
        if failure is not None:
            raise failure
        if not self._run.active:
            raise ConflictError("The job has ended.")

    def _exported(self, name: str) -> Path:
        self._refuse_failed()
        folder = self._place.data.snapshot(name)
        export_checkpoint(self._run.running.checkpoint, folder, name, self._run.stage_facts(), at_rest=True)
        return folder

    def _read_texts(self, source: Source, texts: list[str]) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory(dir=self._pushed.folder) as folder:
            return plain_rows(rows_of_texts(self._place.session, source, texts, Path(folder)).toArrow())

    def _names(self, spec: type) -> list[str]:
        return [node.name for node in self._job.pipeline.nodes if isinstance(node.spec, spec)]

    def _log(self, level: str, logger: str, message: str) -> None:
        if level != "DEBUG":
            self.log.append(message)
            print(message)

    @contextmanager
    def _removing_folder(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)
            raise

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise in_short(error)  # noqa: B904
