"""The members that a server starts on its own machine, and the Spark master for all members. They outlive the server."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from pitstop.control.ports import Leadership, Members, Membership, Registry
from pitstop.errors import ConflictError, NotFoundError
from pitstop.kit.private import write_private
from pitstop.kit.version import __version__
from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import handle_in, is_alive, kill_all
from pitstop.launchers.spark_standalone import start_master
from pitstop.model.cluster import LOOPBACK, MemberState, SparkCluster
from pitstop.model.data_folder import DaemonFolder, DataFolder
from pitstop.model.job import JobState
from pitstop.service.results import ClusterInfo, MemberInfo

LOOK_SECONDS = 1.0
UP_SECONDS = 60.0
"""How long the members of this machine may take to be there when the server starts."""
LEAVE_SECONDS = 20.0
"""How long members may take to leave before those of this machine are ended."""
JOIN_SECONDS = 10.0

log = structlog.get_logger("pitstop.cluster")


class OwnCluster:
    """The Spark master, the members on this machine, and the file that tells drivers of them.

    ``changed`` is called once drivers are told of other members than before.
    """

    def __init__(
        self,
        data: DataFolder,
        members: Membership,
        size: int,
        environment: Mapping[str, str],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._changed = changed
        self._data, self._members, self._environment = data, members, environment
        self._names = {f"member-{number}" for number in range(1, size + 1)}
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._master: subprocess.Popen[bytes] | None = None
        """As long as this server has started it: its end is collected."""
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._keep, daemon=True, name="members")

    def start(self) -> None:
        """Find the master and members that an earlier server has left, or start them; returns once drivers can be told."""
        self._see_to_master()
        self._see_to_members()
        wait_until(lambda: self._names <= {member.name for member in self._members.list()}, UP_SECONDS, step=0.1)
        self._tell_drivers()
        self._thread.start()

    def add(self) -> str:
        """Start one more member here; its name."""
        with self._lock:
            taken = self._names | {member.name for member in self._members.list()}
            name = next(name for number in range(1, len(taken) + 2) if (name := f"member-{number}") not in taken)
            self._names.add(name)
            self._start_member(name)
        return name

    def remove(self, name: str) -> None:
        """Let a member leave, wherever it is; NotFoundError if there is none of that name."""
        with self._lock:
            staying = {member.name for member in self._members.list() if member.state is MemberState.ACTIVE}
            if staying == {name}:
                raise ConflictError(f"'{name}' is the last member: jobs would have nothing to run on.")
            self._names.discard(name)
            self._members.ask_to_leave(name)

    def end(self, with_members: bool) -> None:
        """Look after them no more; ``with_members``: let all of them leave, and end the master."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_SECONDS)
        if with_members:
            for member in self._members.list():
                with contextlib.suppress(NotFoundError):
                    self._members.ask_to_leave(member.name)
            wait_until(lambda: not self._members.list(), LEAVE_SECONDS, step=0.1)
            for name in self._names:
                member_folder = self._data.member(name)
                _kill(member_folder, member_folder.process)
            _kill(self._data.spark_master)
            self._data.spark_cluster.unlink(missing_ok=True)

    def _keep(self) -> None:
        while not self._ending.wait(LOOK_SECONDS):
            try:
                with self._lock:
                    self._see_to_master()
                    self._see_to_members()
                self._tell_drivers()
            except Exception:
                log.exception("the cluster could not be looked after; trying again")

    def _see_to_master(self) -> None:
        folder = self._data.spark_master
        if _lives(folder.daemon) and self._data.spark_cluster.exists():
            return
        _kill(folder)
        secret = secrets.token_urlsafe(32)
        self._master, url = start_master(folder, LOOPBACK, secret, self._environment)
        self._write(self._with_those_there(SparkCluster(url, secret)))
        log.info("the Spark master is up", url=url)

    def _see_to_members(self) -> None:
        for name in sorted(self._names):
            child = self._children.get(name)
            if child is not None and child.poll() is None:
                continue  # it may not have written down which process it is
            if not _lives(self._data.member(name).process):
                self._start_member(name)

    def _start_member(self, name: str) -> None:
        folder = self._data.member(name)
        folder.root.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pitstop.member", "--data", str(self._data.root), "--name", name, "--cores", "1"]
        with folder.member_log.open("ab") as out:
            self._children[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=dict(self._environment)
            )
        log.info("a member is started", member=name)

    def _tell_drivers(self) -> None:
        """Keep the file in step with the members that there are."""
        known = SparkCluster.read(self._data.spark_cluster)
        now = self._with_those_there(known)
        if now.members and now != known:
            self._write(now)
            self._changed()

    def _with_those_there(self, cluster: SparkCluster) -> SparkCluster:
        staying = [member for member in self._members.list() if member.state is MemberState.ACTIVE]
        cores, ids = tuple(member.cores for member in staying), tuple(member.id for member in staying)
        return dataclasses.replace(cluster, cores=cores, members=ids)

    def _write(self, cluster: SparkCluster) -> None:
        write_private(self._data.spark_cluster, cluster.to_json())


def _lives(process: Path) -> bool:
    handle = handle_in(process)
    return handle is not None and is_alive(handle)


def _kill(folder: DaemonFolder, *processes: Path) -> None:
    """End what is left of a member, or of the master, and remove its folder."""
    for handle in map(handle_in, (*processes, folder.daemon)):
        if handle is not None:
            kill_all(handle)
    shutil.rmtree(folder.root, ignore_errors=True)


class ServedCluster:
    """service.api.Cluster of a server; ``own`` are the members that it starts itself, if it does."""

    def __init__(self, registry: Registry, members: Members, own: OwnCluster | None, leadership: Leadership) -> None:
        self._registry, self._members, self._own, self._leadership = registry, members, own, leadership
        self._end: Callable[[], None] = lambda: None
        self.shutting_down = False
        """Jobs and members end with the server."""

    def when_shut_down(self, end: Callable[[], None]) -> None:
        """Call ``end`` when the cluster is to be shut down."""
        self._end = end

    def info(self) -> ClusterInfo:
        running = [job for job in self._registry.jobs(include_ended=False) if job.state is JobState.RUNNING]
        members = [MemberInfo.of(member, running) for member in self._members.list()]
        state = "PASSIVE" if self.shutting_down else "ACTIVE"
        return ClusterInfo(state, __version__, len(members), members, len(running), self._leadership.leader())

    def add_member(self) -> str:
        return self._with_members().add()

    def remove_member(self, name: str) -> None:
        self._with_members().remove(name)

    def shut_down(self) -> None:
        self.shutting_down = True
        self._end()

    def _with_members(self) -> OwnCluster:
        if self._own is None:
            raise ConflictError("This server has no members of its own: start it with --members.")
        return self._own
