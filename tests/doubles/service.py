"""A service like the server's: store, control loop and files in one folder, with scripted runs in the place of Spark's."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitstop.control.controller import Controller
from pitstop.control.means import Means
from pitstop.errors import ConflictError, NotFoundError
from pitstop.kit.ids import new_job_id
from pitstop.kit.version import __version__
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import Member
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.model.retention import USUAL, Retention
from pitstop.outputs.kept import KeptOutputs
from pitstop.server.backup import Backups
from pitstop.server.support import SupportDesk
from pitstop.service.changes import Changes
from pitstop.service.cluster_results import ClusterInfo, MemberInfo
from pitstop.service.local import LocalService
from pitstop.store.audit import SqlAudit
from pitstop.store.catalog import SqlCatalog
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from pitstop.store.registry import SqlRegistry
from pitstop.store.sessions import SqlEndedSessions
from tests.doubles.runs import ThreadLauncher
from tests.doubles.wake import MemoryWake
from tests.doubles.workers import ScriptedWorkers
from tests.new_stores import laid_down

MEMBER = MemberInfo.of(Member("6a0c5f4e-0000-4000-8000-000000000001", "here", "127.0.0.1:8701", __version__, 2), [])
WAIT_SECONDS = 30.0


class ScriptedService(LocalService):
    """A LocalService whose jobs are scripts (``testing.scripts``). A test can set its clock and ids."""

    def __init__(
        self,
        folder: Path,
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_job_id,
        retention: Retention = USUAL,
    ) -> None:
        data, wake, changes, workers = DataFolder(folder), MemoryWake(), Changes(), ScriptedWorkers()
        url = laid_down(sqlite_url(data.store))
        self._database = open_database(url)
        self.registry, maps = SqlRegistry(self._database, retention=retention), SqlMapStore(self._database, now)
        self._launcher = ThreadLauncher(data, self._database, wake, now, retention)
        outputs, audit = KeptOutputs(maps, data), SqlAudit(self._database, retention)
        catalog = SqlCatalog(self._database)
        means = Means(
            registry=self.registry,
            launcher=self._launcher,
            workers=workers,
            clock=_Clock(now),
            wake=wake,
            data=data,
            outputs=outputs,
            retention=retention,
        )
        self._controller = Controller(means, changes.notify)
        super().__init__(
            self.registry,
            maps,
            workers,
            data,
            wake,
            changes,
            _Cluster(),
            audit,
            catalog,
            SqlEndedSessions(self._database),
            now,
            new_id,
            retention=retention,
            backups=Backups(self._database, data),
            support=SupportDesk(data, catalog=catalog),
        )
        self._loop = threading.Thread(target=self._controller.run, name="control", daemon=True)
        self._loop.start()

    def close(self) -> None:
        """End the control loop and all runs."""
        self._controller.stop()
        self._loop.join()
        self._launcher.close()
        self._database.close()

    def advance(self, job_id: str, progress: Progress) -> None:
        """Make the job's run commit the epoch of this progress, and wait until the run has reported it."""
        self._launcher.run_of(job_id).commit(progress)
        assert wait_until(lambda: self.registry.progress(job_id) == progress, WAIT_SECONDS), "the run does not tell its progress"

    def put(self, job_id: str, **fields: Any) -> None:
        """Set fields of a job's record, for states that pass too quickly for a test to observe."""
        job = self.registry.get_job(job_id)
        assert job is not None
        self.registry.save_job(dataclasses.replace(job, **fields))
        self.changes.notify()

    def write_log(self, job_id: str, text: str) -> None:
        """Append to a job's log. A line counts once it has its line end."""
        with self.log_of(job_id).open("ab") as log:
            log.write(text.encode())

    def log_of(self, job_id: str) -> Path:
        """Return the path of a job's log, in a folder that exists."""
        path = self._data.job(job_id).log
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


@dataclasses.dataclass(frozen=True)
class _Clock:
    """A clock whose time of day can stand still, while its monotonic time goes on."""

    now: Callable[[], float]

    def monotonic(self) -> float:
        return time.monotonic()


class _Cluster:
    """A cluster of members that do nothing."""

    def __init__(self) -> None:
        self._members = [MEMBER]
        self._state = "ACTIVE"

    def info(self) -> ClusterInfo:
        return ClusterInfo(self._state, __version__, len(self._members), self._members, 0, MEMBER.address)

    def add_member(self) -> str:
        name = f"member-{len(self._members)}"
        self._members.append(dataclasses.replace(MEMBER, name=name))
        return name

    def remove_member(self, name: str) -> None:
        remaining = [member for member in self._members if member.name != name]
        if len(remaining) == len(self._members):
            raise NotFoundError(f"There is no member '{name}'.")
        if not remaining:
            raise ConflictError(f"'{name}' is the last member: jobs would have nothing to run on.")
        self._members = remaining

    def replace_engine(self, name: str) -> list[str]:
        if name != "shared":
            raise NotFoundError(f"No engine '{name}' is up. Engines: shared.")
        return ["counting", "orders"]

    def shut_down(self) -> None:
        self._state = "PASSIVE"
