"""``ps.run(pipeline)``: the engine without a control plane."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pitstop.errors import WaitTimeoutError
from pitstop.kit.ids import check_name, new_job_id
from pitstop.model.cluster import ClusterSettings
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.model.snapshot import SnapshotRecord
from pitstop.pipeline.stages import Pipeline
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.session import build_session
from pitstop.spark.engine import Engine
from pitstop.spark.lowering.source import SourceSettings
from pitstop.spark.sources import register
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore


class LocalJob:
    """A job that runs in this process."""

    def __init__(self, engine: Engine, data: DataFolder, maps: SqlMapStore) -> None:
        self._engine = engine
        self._data = data
        self.maps = maps

    @property
    def active(self) -> bool:
        return self._engine.active

    @property
    def progress(self) -> Progress:
        return self._engine.look()

    def wait_for_epoch(self, epoch: int, timeout: float = 60.0) -> None:
        """Until that epoch is committed; raises the job's own error if it fails before."""
        deadline = time.monotonic() + timeout
        while self._engine.running.checkpoint.committed() < epoch:
            if (failure := self._engine.failure()) is not None:
                raise failure
            if time.monotonic() > deadline:
                raise WaitTimeoutError(f"Epoch {epoch} was not committed within {timeout:.0f} seconds.")
            time.sleep(0.02)

    def export_snapshot(self, name: str) -> SnapshotRecord:
        """Export the last committed epoch; the job goes on."""
        return export_checkpoint(self._engine.running.checkpoint, self._data, name, self._engine.stage_facts())

    def cancel_and_export_snapshot(self, name: str) -> SnapshotRecord:
        """End between two epochs and export exactly there."""
        self.stop()
        return self.export_snapshot(name)

    def stop(self, timeout: float = 60.0) -> int:
        """End between two epochs; the last committed epoch."""
        return self._engine.stop(timeout)


def run(
    pipeline: Pipeline,
    spark: SparkSession | None = None,
    name: str = "local",
    data_dir: str | Path | None = None,
    initial_snapshot: str | None = None,
    **options: Any,
) -> LocalJob:
    """Start a job in this process and return at once; a job whose sources all end is done when it returns.

    ``data_dir`` keeps snapshots and maps (default: a new temporary folder). ``options`` are those of JobConfig.
    """
    data = DataFolder(Path(data_dir) if data_dir is not None else Path(tempfile.mkdtemp(prefix="pitstop-")))
    data.root.mkdir(parents=True, exist_ok=True)
    session = spark or build_session(ClusterSettings(), data.work)
    register(session)
    url = sqlite_url(data.store)
    maps = SqlMapStore(open_database(url))
    config = JobConfig.from_options(options | {"initial_snapshot": initial_snapshot})
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
    engine = Engine(session, pipeline, config, environment)
    snapshot = data.snapshot(initial_snapshot) if initial_snapshot is not None else None
    point = engine.prepare(data, None, snapshot)
    if engine.bounded:
        engine.run_bounded(point.lineage)
    else:
        engine.start(point, Progress(), threading.Event().set)
    return LocalJob(engine, data, maps)


def _print(level: str, logger: str, message: str) -> None:
    if level != "DEBUG":
        print(message)
