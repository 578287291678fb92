"""The surroundings of a job in this process: a session, a data folder, a store of maps."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.kit.ids import new_job_id
from pitstop.local.version import Version
from pitstop.model.cluster import ClusterSettings
from pitstop.model.data_folder import DataFolder, check_place
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.base.session import build_session, runs_here, send_packages
from pitstop.spark.sources import register
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore


@dataclass(frozen=True)
class LocalPlace:
    """The place in which the versions of one job run."""

    session: SparkSession
    data: DataFolder
    maps: SqlMapStore
    job_id: str
    log: Callable[[str, str, str], None]

    @classmethod
    def of(
        cls, spark: SparkSession | None, data_dir: str | Path | None, log: Callable[[str, str, str], None] | None = None
    ) -> LocalPlace:
        """Return a place in a folder (None: a new temporary one), with a session of our own if none is given."""
        data = DataFolder(Path(data_dir) if data_dir is not None else Path(tempfile.mkdtemp(prefix="pitstop-")))
        check_place(data.root.resolve())
        data.root.mkdir(parents=True, exist_ok=True)
        session = spark or build_session(ClusterSettings(), data.work)
        register(session)
        for path in _own_paths() if runs_here(session) else ():
            send_packages(session, path, data.work)
        maps = SqlMapStore(open_database(sqlite_url(data.store)))
        return cls(session, data, maps, new_job_id(), log or _print)

    def environment(self, version: Version) -> Environment:
        """Return the surroundings of a run of a version."""
        work, url = self.data.job(self.job_id).work, sqlite_url(self.data.store)
        return Environment(
            job_id=self.job_id,
            job_name=version.name,
            lineage="",
            guarantee=version.config.processing_guarantee,
            work_dir=self.data.work,
            log=self.log,
            maps=self.maps,
            sources=SourceSettings.working_in(work, version.name, url, "pitstop.store.maps:open_map_store"),
        )


def _own_paths() -> list[Path]:
    """Return the folders of the caller's own code: those that this process imports from beside Python and installed packages.

    Functions of a job run in other processes, which know of them by their modules.
    """
    installed = tuple(str(Path(prefix).resolve()) for prefix in {sys.prefix, sys.base_prefix})
    folders = [Path(entry or ".").resolve() for entry in sys.path]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir() and not str(folder).startswith(installed)]


def _print(level: str, logger: str, message: str) -> None:
    if level != "DEBUG":
        print(message)
