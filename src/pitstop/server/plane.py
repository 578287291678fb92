"""The control plane without its doors: store, control loop, launcher and service of one data folder."""

from __future__ import annotations

import dataclasses
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from pitstop.control.controller import Controller
from pitstop.control.ports import Members
from pitstop.control.shutdown import end_runs
from pitstop.kit.clock import SystemClock
from pitstop.kit.version import __version__
from pitstop.launchers.environment import runner_environment
from pitstop.launchers.installing import LocalInstaller
from pitstop.launchers.local_process import LocalProcessLauncher
from pitstop.launchers.wake import UnixSocketWake
from pitstop.model.cluster import ClusterSettings
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from pitstop.outputs.kept import KeptOutputs
from pitstop.server.members import OneMember
from pitstop.server.settings import Settings
from pitstop.service.changes import Changes
from pitstop.service.dependencies import Dependencies, Installer, NothingInstalled
from pitstop.service.local import LocalService
from pitstop.service.results import ClusterInfo, MemberInfo
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from pitstop.store.registry import SqlRegistry

LOOP_SECONDS = 30.0
"""How long the loop's last round may take when the server ends."""
STOP_SECONDS = 20.0
"""How long runs may take to reach an epoch boundary when they end with the server."""

log = structlog.get_logger("pitstop.server")


class ControlPlane:
    """Everything that ``pitstop serve`` is, but HTTP. ``address``: where clients reach it (host:port)."""

    def __init__(self, settings: Settings, data: DataFolder, java_home: Path, address: str) -> None:
        self._settings, self._wake = settings, UnixSocketWake(data)
        self._members: Members = OneMember(data, address, settings.master)
        store_url = sqlite_url(data.store)
        self._database = open_database(store_url)
        self._registry, self._changes = SqlRegistry(self._database), Changes()
        shutil.rmtree(data.workers, ignore_errors=True)
        cluster = dataclasses.replace(ClusterSettings.from_environment(os.environ), master=settings.master)
        environment = runner_environment(os.environ, settings.pass_env) | {"JAVA_HOME": str(java_home)} | cluster.environment()
        launcher = self._launcher = LocalProcessLauncher(
            data, store_url, self._wake, settings.spares, environment, settings.rotation
        )
        maps = SqlMapStore(self._database)
        self._controller = Controller(
            self._registry,
            launcher,
            launcher,
            SystemClock(),
            self._wake,
            data,
            KeptOutputs(maps, data),
            self._changes.notify,
        )
        self._loop: threading.Thread | None = None
        self.service = LocalService(
            self._registry,
            maps,
            launcher,
            data,
            self._wake,
            self._changes,
            self._info,
            dependencies=Dependencies(data, _installer(settings)),
        )

    def start(self, failed: Callable[[], None]) -> None:
        """Start the control loop; ``failed`` is called if it ends by itself: without it nothing must be accepted."""

        def loop() -> None:
            try:
                self._controller.run()
            except Exception:
                log.exception("the control loop has ended: the server ends, too")
                failed()

        self._loop = threading.Thread(target=loop, name="control", daemon=True)
        self._loop.start()

    def release_waiters(self) -> None:
        """Answer every call that waits for a job: the server is about to end."""
        self._changes.close()

    def end(self) -> None:
        """End the loop and the spares. Runs go on, or end with the server if the settings say so."""
        self._controller.stop()
        if self._loop is not None:
            self._loop.join(LOOP_SECONDS)
        self._launcher.end_spares()
        if self._settings.stop_jobs_on_exit:
            end_runs(self._registry, self._launcher, self._wake, STOP_SECONDS)
        self._launcher.close()
        self._database.close()

    def _info(self) -> ClusterInfo:
        running = [job for job in self._registry.jobs(include_ended=False) if job.state is JobState.RUNNING]
        members = [MemberInfo(member.address, member.id, member.master) for member in self._members.list()]
        return ClusterInfo("ACTIVE", __version__, len(members), members, len(running))


def _installer(settings: Settings) -> Installer:
    return LocalInstaller(settings.indexes, settings.source_distributions) if settings.install else NothingInstalled()
