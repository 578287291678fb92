"""The control plane of one data folder, without its doors: store, control loop, launcher and service."""

from __future__ import annotations

import dataclasses
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from pitstop.control.controller import Controller
from pitstop.control.means import Means
from pitstop.control.ports.launcher import Launcher
from pitstop.control.ports.leadership import Leadership
from pitstop.control.ports.members import Members
from pitstop.control.ports.wake import CHANGED, CONTROL, Wake
from pitstop.control.scaling import Scaler
from pitstop.control.shutdown import end_runs
from pitstop.errors import UsageError
from pitstop.kit.clock import Clock, SystemClock
from pitstop.launchers.environment import runner_environment
from pitstop.launchers.installing import LocalInstaller
from pitstop.launchers.local_process import LocalProcessLauncher
from pitstop.launchers.on_members import MembersLauncher
from pitstop.launchers.queries import QueryProcess, QueryProcesses
from pitstop.launchers.wake import UnixSocketWake
from pitstop.machine.private import write_private
from pitstop.model.cluster import LOOPBACK, ClusterSettings, address_for_others
from pitstop.model.data_folder import DataFolder
from pitstop.model.retention import Retention
from pitstop.outputs.kept import KeptOutputs
from pitstop.server.backup import Backups
from pitstop.server.cluster import OwnCluster, ServedCluster, WithMaster
from pitstop.server.leading import Lead, Leading, Loop, SoleLeader
from pitstop.server.members import OneMember
from pitstop.server.settings import Settings
from pitstop.server.support import SupportDesk
from pitstop.service.changes import Changes
from pitstop.service.dependencies import Dependencies, Installer, NothingInstalled
from pitstop.service.local import LocalService
from pitstop.store.assignments import SqlAssignments
from pitstop.store.audit import SqlAudit
from pitstop.store.catalog import SqlCatalog
from pitstop.store.database import Database, open_database
from pitstop.store.leadership import SqlLeadership
from pitstop.store.maps import SqlMapStore
from pitstop.store.members import SqlMembers
from pitstop.store.registry import SqlRegistry
from pitstop.store.sessions import SqlEndedSessions
from pitstop.store.urls import store_url

LOOP_SECONDS = 30.0
"""The longest that the loop's last round may take when the server ends."""
STOP_SECONDS = 20.0
"""The longest that runs may take to reach an epoch boundary when they end with the server."""

log = structlog.get_logger("pitstop.server")


class ControlPlane:
    """All of ``pitstop serve`` except HTTP. ``address`` is the address for clients (host:port)."""

    def __init__(self, settings: Settings, data: DataFolder, java_home: Path, address: str) -> None:
        self._settings, self._data = settings, data
        host = address_for_others(settings.cluster_host or LOOPBACK, sharing=settings.store is not None)
        url = store_url(settings.store, data, os.environ)
        self._database = open_database(url)
        shared = self._database.wake()
        self._wake: Wake = shared or UnixSocketWake(data)
        self._registry, self._changes = self._registry_in(self._database), Changes()
        self._fences = SqlLeadership(self._database, address) if shared is not None else None
        self._leadership: Leadership = self._fences or SoleLeader(address)
        shutil.rmtree(data.workers, ignore_errors=True)
        cluster = dataclasses.replace(ClusterSettings.from_environment(os.environ), master=settings.master)
        environment = runner_environment(os.environ, settings.pass_env) | {"JAVA_HOME": str(java_home)}
        environment |= settings.secret_variables()
        self._members: Members = OneMember(data, address)
        self._cluster: OwnCluster | None = None
        if settings.members or settings.cluster_host is not None:
            self._members = joined = SqlMembers(self._database)
            cluster = dataclasses.replace(cluster, own=data.spark_cluster)
            if settings.cluster_host is not None:
                cluster = dataclasses.replace(cluster, driver_host=host, bind_address=host)
            self._cluster = OwnCluster(
                data, joined, settings.members, host, url, environment, settings.rotation, self._renew_spares
            )
        if settings.runners_on_members and self._cluster is None:
            raise UsageError("There are no members to run drivers: give --members, or --cluster-host, with --runners-on-members.")
        # Queries are carried out here: they take no processors of members from jobs.
        of_operators = settings.rotation, settings.query_seconds, settings.query_rows
        of_viewers = settings.rotation, settings.viewer_query_seconds or settings.query_seconds, settings.query_rows
        hour_seconds = settings.viewer_seconds_per_hour
        self._queries = QueryProcesses(
            QueryProcess(data, url, dict(environment), *of_operators),
            QueryProcess(data, url, dict(environment), *of_viewers, viewers=True, hour_seconds=hour_seconds),
        )
        environment |= cluster.environment()
        several = shared is not None or settings.runners_on_members
        launcher = self._processes = LocalProcessLauncher(
            data,
            url,
            self._wake,
            settings.spares,
            environment,
            settings.rotation,
            several,
            engine=settings.engine if cluster.is_here and not settings.runners_on_members else None,
        )
        self._launcher: Launcher = launcher
        if settings.runners_on_members:
            self._launcher = MembersLauncher(launcher, self._members, SqlAssignments(self._database))
        maps = SqlMapStore(self._database)
        self._outputs = KeptOutputs(maps, data)
        self._served = ServedCluster(
            self._registry,
            self._members,
            self._cluster,
            self._leadership,
            self._tell_all,
            launcher.engines,
            launcher.replace_engine,
        )
        self._leading = Leading(
            self._leadership,
            self._wake,
            self._controller,
            self._changes.notify,
            launcher.end_spares,
            self._served.end_with_all,
        )
        self._loop: threading.Thread | None = None
        self.failure: Exception | None = None
        """The error by which leading has ended; None: it goes on, or was asked to end."""
        self._ending, self._ended = threading.Lock(), False
        dependencies, catalog = Dependencies(data, _installer(settings)), SqlCatalog(self._database)
        self.service = LocalService(
            self._registry,
            maps,
            launcher,
            data,
            self._wake,
            self._changes,
            self._served,
            SqlAudit(self._database, settings.keep),
            catalog,
            SqlEndedSessions(self._database),
            dependencies=dependencies,
            retention=settings.keep,
            queries=self._queries,
            backups=Backups(self._database, data),
            support=SupportDesk(data, settings, catalog),
        )

    def start(self, end: Callable[[], None]) -> None:
        """Start to lead, or to wait for the lead.

        ``end`` ends the server. It is called when the cluster is to be shut down, and if leading ends by itself, since nothing
        must be accepted then.
        """

        def loop() -> None:
            try:
                self._leading.run()
            except Exception as error:  # a server without a control loop would answer and do nothing
                log.exception("the control loop has ended: the server ends, too")
                self.failure = error
                end()

        self._served.when_shut_down(lambda: threading.Thread(target=self._shut_down, args=(end,), name="shutting-down").start())
        if self._cluster is not None:
            self._cluster.start()
        self._loop = threading.Thread(target=loop, name="leading", daemon=True)
        self._loop.start()

    def release_waiters(self) -> None:
        """Answer every call that waits for a job, before the server ends."""
        self._changes.close()

    def end(self) -> None:
        """End the loop and the spares. Runs go on, or end with the server if the settings say so."""
        self._end_loop()
        if self._cluster is not None:
            self._cluster.end(with_members=self._stops_jobs)
        self._queries.close()
        self._processes.close()
        self._database.close()

    def _shut_down(self, end: Callable[[], None]) -> None:
        """End all jobs while clients can still follow the progress, then end the server."""
        try:
            self._end_loop()
        finally:
            end()

    def _end_loop(self) -> None:
        """End the control loop, and the runs if they are to end. This happens once; a second caller waits for it."""
        with self._ending:
            if self._ended:
                return
            self._ended = True
            led = self._leading.leads
            self._leading.stop()
            if self._loop is not None:
                self._loop.join(LOOP_SECONDS)
            self._processes.end_spares()
            if self._stops_jobs and led:
                end_runs(self._registry, self._launcher, self._wake, STOP_SECONDS, self._served.tell_ending)

    @property
    def _stops_jobs(self) -> bool:
        return self._settings.stop_jobs_on_exit or self._served.shutting_down

    def _controller(self, lead: Lead) -> Loop:
        """Make the control loop for one lead."""
        registry, changed, clock = self._registry, self._changes.notify, SystemClock()
        if self._fences is not None:
            fenced = self._database.fenced(self._fences.fence(lead.epoch))
            registry, changed = self._registry_in(fenced), self._tell_all
        _tell_runs(self._data, self._settings.keep)
        means = Means(
            registry=registry,
            launcher=self._launcher,
            workers=self._processes,
            clock=clock,
            wake=self._wake,
            data=self._data,
            outputs=self._outputs,
            check_lead=lead.check,
            retention=self._settings.keep,
        )
        controller = Controller(means, changed, scaler=self._scaler(registry, clock))
        return controller if self._cluster is None else WithMaster(self._cluster, lead.lasts, controller)

    def _registry_in(self, database: Database) -> SqlRegistry:
        return SqlRegistry(database, retention=self._settings.keep)

    def _scaler(self, registry: SqlRegistry, clock: Clock) -> Scaler | None:
        if self._cluster is None:
            return None
        return Scaler(self._members, clock, self._settings.scale_up_delay, registry.check_writable)

    def _renew_spares(self) -> None:
        self._processes.renew_spares()
        self._wake.wake(CONTROL)

    def _tell_all(self) -> None:
        self._changes.notify()
        self._wake.wake(CHANGED)


def _tell_runs(data: DataFolder, retention: Retention) -> None:
    """Write the limits of history for the runs, which prune it themselves, even on other machines or from an earlier server."""
    try:
        write_private(data.retention, retention.to_json())
    except OSError as error:  # a full disk must not keep this server from leading
        log.warning("the settings for runs' history could not be written", path=str(data.retention), reason=str(error))


def _installer(settings: Settings) -> Installer:
    return LocalInstaller(settings.indexes, settings.source_distributions) if settings.install else NothingInstalled()
