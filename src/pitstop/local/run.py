"""``ps.run(job)``: the engine without a control plane."""

from __future__ import annotations

import atexit
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from pyspark.sql import SparkSession

from pitstop.errors import ConflictError, PitstopError, WaitTimeoutError
from pitstop.local.place import LocalPlace
from pitstop.local.version import Version, version_of
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.model.origin import origin_here
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.typed_options import RunOptions
from pitstop.pipeline.job import JobDefinition
from pitstop.pipeline.stages import Pipeline
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.failures import in_short
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.lowering.placing import placed
from pitstop.spark.run import Run
from pitstop.spark.running.bounded import run_bounded
from pitstop.spark.starting.start_point import start_point
from pitstop.store.maps import SqlMapStore


class LocalJob:
    """A job that runs in this process."""

    def __init__(self, started: Run | None, data: DataFolder, maps: SqlMapStore) -> None:
        """``started`` is its run; None if all its sources have ended, and the job is done."""
        self._started = started
        self._data = data
        self.maps = maps
        if started is not None:
            atexit.register(self._at_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.active:
            self.stop()

    @property
    def active(self) -> bool:
        """False once it has ended or failed."""
        return self._started is not None and self._started.active

    @property
    def progress(self) -> Progress:
        """The progress so far: epoch, rows, watermark, and each stage's numbers."""
        return self._started.look() if self._started is not None else Progress()

    def wait_for_epoch(self, epoch: int, timeout: float = 60.0) -> None:
        """Until that epoch is committed; raises the job's own error if it fails before."""
        deadline = time.monotonic() + timeout
        while self._run.running.checkpoint.committed() < epoch:
            if (failure := self._run.failure()) is not None:
                raise failure
            if time.monotonic() > deadline:
                raise WaitTimeoutError(f"Epoch {epoch} was not committed within {timeout:.0f} seconds.")
            time.sleep(0.02)

    def peek(self, stage: str, limit: int = 20, wait_seconds: float = 30.0) -> list[dict[str, Any]]:
        """Return rows that a stage gives in the next epoch that gives any.

        The stage must be the last one with state before a sink, or behind it, or it must feed several sinks: Spark keeps the rows
        of no other. WaitTimeoutError if no such epoch comes.
        """
        rows = self._run.peek(stage, limit, wait_seconds)
        return [dict(zip((name for name, _ in rows["columns"]), row, strict=True)) for row in rows["rows"]]

    def export_snapshot(self, name: str) -> SnapshotRecord:
        """Export the last committed epoch; the job goes on."""
        running = self._run.running
        return export_checkpoint(running.checkpoint, self._data.snapshot(name), name, self._run.stage_facts(), not running.active)

    def cancel_and_export_snapshot(self, name: str) -> SnapshotRecord:
        """End between two epochs and export exactly there."""
        self.stop()
        return self.export_snapshot(name)

    def stop(self, timeout: float = 60.0) -> int:
        """End between two epochs; the last committed epoch."""
        epoch = self._run.stop(timeout)
        atexit.unregister(self._at_exit)
        return epoch

    def _at_exit(self) -> None:
        """End in order with the program that has not ended it: the interpreter would be gone in the middle of an epoch."""
        with suppress(PitstopError):
            self.__exit__(None, None, None)

    @property
    def _run(self) -> Run:
        if self._started is None:
            raise ConflictError("The job is done: all its sources have ended, so it has no epochs and no state.")
        return self._started


def run(
    job: Pipeline | JobDefinition[...],
    *args: Any,
    spark: SparkSession | None = None,
    name: str | None = None,
    data_dir: str | Path | None = None,
    initial_snapshot: str | None = None,
    **options: Unpack[RunOptions],
) -> LocalJob:
    """Start a job in this process and return at once; a job whose sources all end is done when it returns.

    ``job`` is a function marked with ``@ps.job``, with its arguments, or a pipeline. A marked function brings its options and
    the migrations beside it, as on a server. ``spark`` is your session (default: a new one), which may also stand right behind a
    pipeline. ``name``: default, the function's name. ``data_dir`` keeps snapshots and maps (default: a new temporary folder).
    ``options`` are those of a job, and go over those of the function; UsageError for one that only a server carries out: timeout,
    max_accumulated_records, compile_timeout, first_epoch_timeout, epoch_timeout, suspend_on_failure, split_brain_protection,
    store_metrics_after_completion, requirements, restart and allow_shared. As a context manager, the job ends with the block,
    and else with the program: between two epochs.
    """
    if isinstance(job, Pipeline) and args and isinstance(args[0], SparkSession):
        spark, args = args[0], args[1:]
    version = version_of(job, args, {**options, "initial_snapshot": initial_snapshot}, name, "ps.run")
    place = LocalPlace.of(spark, data_dir)
    try:
        return _started(version, place)
    except Exception as error:
        raise in_short(error)  # noqa: B904


def _started(version: Version, place: LocalPlace) -> LocalJob:
    config, environment = version.config, place.environment(version)
    # The process may go to another folder while the job runs.
    pipeline = placed(version.pipeline, origin_here())
    job = compile_job(place.session, pipeline, config, environment.sources)
    saved = config.initial_snapshot
    snapshot = place.data.snapshot(saved) if saved is not None else None
    point = start_point(job, environment, place.data, None, lambda: snapshot)
    if job.bounded:
        run_bounded(place.session, pipeline, replace(environment.by_options(config), lineage=point.lineage))
        return LocalJob(None, place.data, place.maps)
    return LocalJob(Run.start(job, environment, point, Progress(), threading.Event().set), place.data, place.maps)
