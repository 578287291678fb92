"""``pitstop member``: run a member until it is told to leave, by a signal or by the cluster."""

from __future__ import annotations

import os
import signal
import socket
import threading
import uuid
from pathlib import Path

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import UsageError
from pitstop.kit.version import __version__
from pitstop.launchers.environment import runner_environment
from pitstop.launchers.processes import handle_in, has_children, is_of_this_boot, kill_all, own_handle, write_handle
from pitstop.launchers.runner_processes import RunnerProcesses
from pitstop.launchers.spark_standalone import FollowedMaster, drain, log_parts, start_worker
from pitstop.launchers.wake import UnixSocketWake
from pitstop.machine.java import find_java
from pitstop.machine.named_secrets import FOLDER
from pitstop.machine.private import keep_private, private_folder
from pitstop.machine.rotating import Rotation
from pitstop.machine.service_log import service_log
from pitstop.machine.tcp import loopback_addresses
from pitstop.member.hosting import HostedRuns
from pitstop.member.member import BEAT_SECONDS, MemberProcess
from pitstop.member.settings import MemberSettings
from pitstop.model.cluster import ClusterSettings, Member, SparkCluster, address_for_others
from pitstop.model.data_folder import DataFolder
from pitstop.model.process_folders import MemberFolder
from pitstop.store.assignments import SqlAssignments
from pitstop.store.database import open_database
from pitstop.store.members import SqlMembers
from pitstop.store.urls import store_url


class SparkWorker:
    """A Spark worker as a separate process (member.member.Worker)."""

    def __init__(
        self, folder: MemberFolder, settings: MemberSettings, cores: int, java_home: Path, cluster: SparkCluster
    ) -> None:
        _end_worker(folder)
        if loopback_addresses(settings.host) and not loopback_addresses(cluster.host):
            raise UsageError(f"The cluster's master is at {cluster.host}: give --host, this machine's address for the others.")
        environment = runner_environment(os.environ) | {"JAVA_HOME": str(java_home)}
        self._process = start_worker(
            folder, settings.host, cluster, cores, environment, Rotation(settings.log_bytes, settings.log_files)
        )
        self._folder, self._followed = folder, FollowedMaster(folder)

    def ended(self) -> bool:
        return self._process.poll() is not None

    def works_for(self, master: str) -> bool:
        return self._followed.look() == master

    def drain(self) -> None:
        drain(self._process)

    def drained(self) -> bool:
        handle = handle_in(self._folder.daemon)
        return handle is None or not has_children(handle)

    def stop(self) -> None:
        _end_worker(self._folder)
        self._process.wait()


def _end_worker(folder: MemberFolder) -> None:
    """End the worker of this member, or of an earlier member that died before it ended its worker."""
    handle = handle_in(folder.daemon)
    if handle is not None:
        kill_all(handle)
    folder.daemon.unlink(missing_ok=True)
    # Its log is set aside: a later worker begins a new one.
    if folder.log.exists():
        folder.log.replace(folder.log_before)
    for part in log_parts(folder):
        part.unlink()


def _end_here(run: RunHandle) -> bool:
    """End a process of this machine. False if the process is on another machine."""
    if not is_of_this_boot(run):
        return False
    kill_all(run)
    return True


def run_member(settings: MemberSettings) -> None:
    """Run a member until SIGINT or SIGTERM, or until the cluster asks it to leave."""
    keep_private()
    data = DataFolder(private_folder(settings.data_dir.resolve()))
    address_for_others(settings.host, sharing=settings.store is not None)
    # The servers have left the store's password there, unless each host has it from elsewhere.
    own_environment = {"PGPASSFILE": str(data.store_password)} if data.store_password.exists() else {}
    url = store_url(settings.store, data, own_environment | dict(os.environ))
    database = open_database(url)
    name, cores = settings.name or socket.gethostname(), settings.cores or os.cpu_count() or 1
    folder = data.member(name)
    folder.work.mkdir(parents=True, exist_ok=True)
    java_home = find_java(data.java)
    member = Member(str(uuid.uuid4()), name, settings.host, __version__, cores)
    process = MemberProcess(
        member,
        SqlMembers(database),
        lambda: SparkCluster.read(data.spark_cluster),
        lambda cluster: SparkWorker(folder, settings, cores, java_home, cluster),
    )
    cluster = ClusterSettings(own=data.spark_cluster, driver_host=settings.host, bind_address=settings.host)
    environment = runner_environment(os.environ, settings.pass_env) | {"JAVA_HOME": str(java_home)} | cluster.environment()
    if settings.secrets is not None:
        environment[FOLDER] = str(settings.secrets.resolve())
    hosted = HostedRuns(
        member.id,
        SqlAssignments(database),
        RunnerProcesses(
            data,
            url,
            environment,
            Rotation(settings.log_bytes, settings.log_files, settings.print_job_logs),
            {"member": name},
        ),
        database.wake() or UnixSocketWake(data),
        _end_here,
    )
    told_to_end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told_to_end.set())
    with service_log(data.log_levels):
        try:
            _live(process, hosted, folder, told_to_end)
        finally:
            database.close()


def _live(process: MemberProcess, hosted: HostedRuns, folder: MemberFolder, told_to_end: threading.Event) -> None:
    """Join the cluster, and run the member's steps until it has left or is told to end."""
    process.join()
    # Only after the join: another process of this name may live, and is found by this file.
    write_handle(folder.process, own_handle())
    while process.step():
        hosted.step()
        if told_to_end.wait(BEAT_SECONDS):
            process.leave()
            break
