"""``ps.run(pipeline)``: the engine without a control plane."""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from pyspark.sql import SparkSession

from pitstop.errors import ConflictError, UsageError, WaitTimeoutError
from pitstop.kit.ids import check_name, new_job_id
from pitstop.model.cluster import ClusterSettings
from pitstop.model.config import OPTIONS, JobConfig, StateStore
from pitstop.model.data_folder import DataFolder, check_place
from pitstop.model.job import Progress
from pitstop.model.origin import origin_here
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.typed_options import RunOptions
from pitstop.pipeline.stages import Pipeline
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.base.failures import explain_run
from pitstop.spark.base.session import build_session
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.lowering.placing import placed
from pitstop.spark.run import Run
from pitstop.spark.running.bounded import run_bounded
from pitstop.spark.sources import register
from pitstop.spark.starting.start_point import start_point
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore

OF_A_SERVER = (
    *("timeout", "max_accumulated_records", "compile_timeout", "first_epoch_timeout", "epoch_timeout"),
    *(
        "suspend_on_failure",
        "split_brain_protection",
        "store_metrics_after_completion",
        "requirements",
        "engine",
        "restart",
        "allow_shared",
    ),
)
"""Options that the control plane, or the process that a job has there, carries out."""


class LocalJob:
    """A job that runs in this process."""

    def __init__(self, started: Run | None, data: DataFolder, maps: SqlMapStore) -> None:
        """``started`` is its run; None if all its sources have ended, and the job is done."""
        self._started = started
        self._data = data
        self.maps = maps

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
        return self._run.stop(timeout)

    @property
    def _run(self) -> Run:
        if self._started is None:
            raise ConflictError("The job is done: all its sources have ended, so it has no epochs and no state.")
        return self._started


def run(
    pipeline: Pipeline,
    spark: SparkSession | None = None,
    name: str = "local",
    data_dir: str | Path | None = None,
    initial_snapshot: str | None = None,
    **options: Unpack[RunOptions],
) -> LocalJob:
    """Start a job in this process and return at once; a job whose sources all end is done when it returns.

    ``data_dir`` keeps snapshots and maps (default: a new temporary folder). ``options`` are those of JobConfig; UsageError for
    one that only a server carries out: timeout, max_accumulated_records, compile_timeout, first_epoch_timeout, epoch_timeout,
    suspend_on_failure, split_brain_protection, store_metrics_after_completion, requirements, restart
    and allow_shared.
    """
    config = JobConfig.from_options({**options, "initial_snapshot": initial_snapshot})
    _refuse_what_only_a_server_does(config)
    data = DataFolder(Path(data_dir) if data_dir is not None else Path(tempfile.mkdtemp(prefix="pitstop-")))
    check_place(data.root.resolve())
    data.root.mkdir(parents=True, exist_ok=True)
    session = spark or build_session(ClusterSettings(), data.work)
    register(session)
    url = sqlite_url(data.store)
    maps = SqlMapStore(open_database(url))
    job_id = new_job_id()
    environment = Environment(
        job_id=job_id,
        job_name=check_name("job", name),
        lineage="",
        guarantee=config.processing_guarantee,
        work_dir=data.work,
        log=_print,
        maps=maps,
        sources=SourceSettings.working_in(data.job(job_id).work, name, url, "pitstop.store.maps:open_map_store"),
    )
    if config.state_store is StateStore.AUTO:
        config = replace(config, state_store=StateStore.ROCKSDB)  # nothing in this process could move it to disk later
    # The process may go to another folder while the job runs.
    pipeline = placed(pipeline, origin_here())
    try:
        job = compile_job(session, pipeline, config, environment.sources)
        snapshot = data.snapshot(initial_snapshot) if initial_snapshot is not None else None
        point = start_point(job, environment, data, None, lambda: snapshot)
        if job.bounded:
            run_bounded(session, pipeline, replace(environment.by_options(config), lineage=point.lineage))
            return LocalJob(None, data, maps)
        return LocalJob(Run.start(job, environment, point, Progress(), threading.Event().set), data, maps)
    except Exception as error:
        in_words = explain_run(error)
        if in_words is error:
            raise
        raise in_words from error


def _refuse_what_only_a_server_does(config: JobConfig) -> None:
    usual = JobConfig()
    names = {option.name: option.field for option in OPTIONS if option.name in OF_A_SERVER}
    options = [name for name, field in names.items() if getattr(config, field) != getattr(usual, field)]
    if options:
        raise UsageError(
            f"ps.run does not carry out the option {' or '.join(options)}, only a server does: leave it out, or submit the job "
            "to a server (pitstop submit)."
        )


def _print(level: str, logger: str, message: str) -> None:
    if level != "DEBUG":
        print(message)
