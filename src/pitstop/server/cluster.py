"""The members that a server starts on its own machine, and the Spark master of all members, kept by the server that leads."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import structlog

from pitstop.control.ports.leadership import Leadership
from pitstop.control.ports.members import Members, Membership
from pitstop.control.ports.registry import Registry
from pitstop.errors import ConflictError, EngineError, NotFoundError, StoreError
from pitstop.kit.version import __version__
from pitstop.kit.waiting import wait_until
from pitstop.launchers import spark_standalone
from pitstop.launchers.processes import handle_in, is_alive, is_of_this_boot, kill_all
from pitstop.machine.private import write_private
from pitstop.machine.rotating import Rotation, start_pump
from pitstop.model.cluster import EngineInfo, MemberState, SparkCluster
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobState
from pitstop.model.process_folders import DaemonFolder
from pitstop.server.leading import Loop
from pitstop.service.cluster_results import ClusterInfo, MemberInfo

LOOK_SECONDS = 1.0
UP_SECONDS = 60.0
"""The longest that this machine's members may take to join when the server starts."""
LEAVE_SECONDS = 20.0
"""The longest that members may take to leave before those of this machine are ended."""
JOIN_SECONDS = 10.0

StartMaster = Callable[[DaemonFolder, str, str, Path, Mapping[str, str]], tuple["subprocess.Popen[bytes]", str]]
"""launchers.spark_standalone.start_master"""

log = structlog.get_logger("pitstop.cluster")


class OwnCluster:
    """The members on this machine and, while this server leads, the Spark master and the file that tells drivers of it.

    Members and master outlive the server. With several servers (``data.server``), a server that no longer leads ends its
    master, and the master of the next leader takes over its workers and jobs.

    ``host`` is the address of members and master. ``store_url`` is the URL of the store for members. ``changed`` is called when
    the members that drivers are told of have changed.
    """

    def __init__(
        self,
        data: DataFolder,
        members: Membership,
        size: int,
        host: str,
        store_url: str,
        environment: Mapping[str, str],
        rotation: Rotation,
        changed: Callable[[], None] = lambda: None,
        start_master: StartMaster | None = None,
    ) -> None:
        self._rotation, self._changed = rotation, changed
        self._start_master = start_master or partial(spark_standalone.start_master, rotation=rotation)
        self._data, self._members, self._host, self._environment = data, members, host, environment
        self._store = ["--store", store_url] if data.server else []
        self._prefix = data.server or "member"
        self._names = {f"{self._prefix}-{number}" for number in range(1, size + 1)}
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._writers: list[subprocess.Popen[bytes]] = []
        """The processes that write the members' logs, until the members have ended."""
        self._master: subprocess.Popen[bytes] | None = None
        """The master's process if this server has started it, kept so that its end is collected."""
        self._cluster: SparkCluster | None = None
        """The master and members that drivers are told of, while this server leads."""
        self._may_lead: Callable[[], bool] = lambda: False
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._keep, daemon=True, name="members")

    def start(self) -> None:
        """Find the members that an earlier server has left, or start them. Return once they have joined."""
        self._see_to_members()
        wait_until(lambda: self._names <= {member.name for member in self._members.list()}, UP_SECONDS, step=0.1)
        self._thread.start()

    def lead(self, may_lead: Callable[[], bool], over: threading.Event) -> bool:
        """Keep the master from now on, as long as ``may_lead`` returns true. Return True once drivers are told where it is.

        False if ``over`` is set before.
        """
        with self._lock:
            self._may_lead = may_lead
        while not over.is_set():
            try:
                with self._lock:
                    self._look_after_master()
                    if self._cluster is not None:
                        return True
            except Exception:  # the loop must go on: jobs wait for the master
                log.exception("the Spark master could not be looked after; trying again")
            over.wait(LOOK_SECONDS)
        return False

    def step_down(self) -> None:
        """Leave the master to another server."""
        with self._lock:
            self._may_lead, self._cluster = lambda: False, None
            if self._data.server:
                _kill(self._data.spark_master)

    def add(self) -> str:
        """Start one more member on this machine, and return its name."""
        with self._lock:
            names = self._names | {member.name for member in self._members.list()}
            name = next(name for number in range(1, len(names) + 2) if (name := f"{self._prefix}-{number}") not in names)
            self._names.add(name)
            self._start_member(name)
        return name

    def remove(self, name: str) -> None:
        """Ask a member on any machine to leave. NotFoundError if there is none of that name, ConflictError if it is the last."""
        with self._lock:
            staying = {member.name for member in self._members.list() if member.state is MemberState.ACTIVE}
            if staying == {name}:
                raise ConflictError(f"'{name}' is the last member: jobs would have nothing to run on.")
            self._names.discard(name)
            self._members.ask_to_leave(name)

    def end(self, with_members: bool) -> None:
        """Stop looking after members and master. ``with_members``: let all members leave, and end the master."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_SECONDS)
        if with_members:
            own = {name: child for name, child in self._children.items() if child.poll() is None}
            for member in self._members.list():
                with contextlib.suppress(NotFoundError):
                    self._members.ask_to_leave(member.name)
            wait_until(lambda: not self._members.list(), LEAVE_SECONDS, step=0.1)
            # A member that has left ends by itself a moment later.
            wait_until(lambda: all(child.poll() is not None for child in own.values()), JOIN_SECONDS, step=0.05)
            for name, child in own.items():
                log.info("a member has ended", member=name, exit_code=child.poll())
            for name in self._names:
                member_folder = self._data.member(name)
                _kill(member_folder, member_folder.process)
            _kill(self._data.spark_master)
            self._data.spark_cluster.unlink(missing_ok=True)
            shutil.rmtree(self._data.spark_recovery, ignore_errors=True)

    def _keep(self) -> None:
        while not self._ending.wait(LOOK_SECONDS):
            try:
                with self._lock:
                    self._see_to_members()
                    if self._look_after_master():
                        self._changed()
            except StoreError as error:
                log.warning("the store is away: the cluster cannot be looked after; trying again", reason=error.message)
            except Exception:  # the loop must go on: nobody else looks after master and members
                log.exception("the cluster could not be looked after; trying again")

    def _look_after_master(self) -> bool:
        """Keep a master, and the file in step with it, while this server leads. True if drivers are told of other members."""
        if not self._may_lead():
            return False
        try:
            self._see_to_master()
        except EngineError as error:
            # The recovery files of earlier masters may be damaged: without them, running jobs are started again.
            shutil.rmtree(self._data.spark_recovery, ignore_errors=True)
            log.warning("there is no Spark master; trying again", reason=error.message)
            return False
        return self._tell_drivers()

    def _see_to_master(self) -> None:
        folder, cluster = self._data.spark_master, self._written()
        if self._cluster is None and cluster is not None and cluster.keeper == self._data.server:
            self._cluster = cluster  # an earlier server of this name has left it
        if self._cluster is not None and _lives(folder.daemon):
            return
        self._cluster = None
        self._end_masters_before(cluster)
        secret = cluster.secret if cluster is not None else secrets.token_urlsafe(32)
        self._master, url = self._start_master(folder, self._host, secret, self._data.spark_recovery, self._environment)
        self._cluster = SparkCluster(url, secret, keeper=self._data.server)
        log.info("the Spark master is up", url=url)

    def _end_masters_before(self, cluster: SparkCluster | None) -> None:
        """End this server's master, and the master of the last leader, which may have died without ending it."""
        _kill(self._data.spark_master)
        if cluster is not None and cluster.keeper:
            folder = DataFolder(self._data.root, cluster.keeper).spark_master
            handle = handle_in(folder.daemon)
            if handle is not None and is_of_this_boot(handle):
                _kill(folder)

    def _see_to_members(self) -> None:
        for name in sorted(self._names):
            child = self._children.get(name)
            if child is not None and child.poll() is None:
                continue  # it may not have written down which process it is
            if child is not None and child.returncode == 0:
                self._names.discard(name)  # a server has asked it to leave
                continue
            if not _lives(self._data.member(name).process):
                self._start_member(name)

    def _start_member(self, name: str) -> None:
        folder = self._data.member(name)
        folder.root.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pitstop.member", "--data", str(self._data.root), "--name", name, "--cores", "1"]
        # The member gets only those of this server's variables that runs should have.
        command += ["--host", self._host, *self._store, "--pass-env", "*"]
        command += ["--log-bytes", str(self._rotation.most_bytes), "--log-files", str(self._rotation.kept)]
        writer = start_pump(folder.member_log, dataclasses.replace(self._rotation, printed=False), {"member": name}, None)
        assert writer.stdin is not None
        with writer.stdin as out:
            self._children[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=dict(self._environment)
            )
        self._writers = [writer, *(other for other in self._writers if other.poll() is None)]
        log.info("a member is started", member=name)

    def _tell_drivers(self) -> bool:
        """Keep the file in step with the master and the present members. True if the members have changed.

        An earlier leader may have written the file last, if it was paused while it wrote.
        """
        assert self._cluster is not None, "there is a master"
        now, former = self._with_those_there(self._cluster), self._written()
        if now == former:
            self._cluster = now
            return False
        write_private(self._data.spark_cluster, now.to_json())
        self._cluster = now
        return former is not None and former.members != now.members

    def _with_those_there(self, cluster: SparkCluster) -> SparkCluster:
        staying = [member for member in self._members.list() if member.state is MemberState.ACTIVE]
        if not staying:
            return cluster  # they will be back: a driver waits for those that it knows of
        cores, ids = tuple(member.cores for member in staying), tuple(member.id for member in staying)
        return dataclasses.replace(cluster, cores=cores, members=ids)

    def _written(self) -> SparkCluster | None:
        try:
            return SparkCluster.read(self._data.spark_cluster)
        except EngineError:
            return None


class WithMaster:
    """The control loop of one lead, which begins once there is a Spark master for its runs (server.leading.Loop)."""

    def __init__(self, cluster: OwnCluster, may_lead: Callable[[], bool], loop: Loop) -> None:
        self._cluster, self._may_lead, self._loop = cluster, may_lead, loop
        self._over = threading.Event()

    def run(self) -> None:
        try:
            if self._cluster.lead(self._may_lead, self._over):
                self._loop.run()
        finally:
            self._cluster.step_down()

    def stop(self) -> None:
        self._over.set()
        self._loop.stop()


def _lives(process: Path) -> bool:
    handle = handle_in(process)
    return handle is not None and is_alive(handle)


def _kill(folder: DaemonFolder, *processes: Path) -> None:
    """End the processes that are left of a member or of the master, and remove its folder."""
    for handle in map(handle_in, (*processes, folder.daemon)):
        if handle is not None:
            kill_all(handle)
    shutil.rmtree(folder.root, ignore_errors=True)


class ServedCluster:
    """The service.server_api.Cluster of a server.

    ``own`` has the members that it starts, if any; ``changed`` wakes other servers; ``engines`` lists the engines that jobs
    share, and ``replace_engine`` lets another one take the place of one of them.
    """

    def __init__(
        self,
        registry: Registry,
        members: Members,
        own: OwnCluster | None,
        leadership: Leadership,
        changed: Callable[[], None] = lambda: None,
        engines: Callable[[], list[EngineInfo]] = list,
        replace_engine: Callable[[str], list[str]] | None = None,
    ) -> None:
        self._registry, self._members, self._own, self._leadership = registry, members, own, leadership
        self._changed, self._engines, self._replace_engine = changed, engines, replace_engine
        self._end: Callable[[], None] = lambda: None
        self._ending: list[str] = []
        self.shutting_down = False
        """True if jobs and members end with the server."""

    def when_shut_down(self, end: Callable[[], None]) -> None:
        """Call ``end`` when the cluster is to be shut down."""
        self._end = end

    def info(self) -> ClusterInfo:
        running = [job for job in self._registry.jobs(include_ended=False) if job.state is JobState.RUNNING]
        members = [MemberInfo.of(member, running, alone=self._own is None) for member in self._members.list()]
        state = "PASSIVE" if self.shutting_down else "ACTIVE"
        leader = self._leadership.leader()
        return ClusterInfo(
            state, __version__, len(members), members, len(running), leader, self._ending, self._named(self._engines())
        )

    def _named(self, engines: list[EngineInfo]) -> list[EngineInfo]:
        """Return engines with the names of their jobs instead of ids."""
        jobs = {job.id: job.display_name for job in self._registry.jobs(include_ended=False)} if engines else {}
        return [dataclasses.replace(each, jobs=sorted(jobs.get(job, job) for job in each.jobs)) for each in engines]

    def add_member(self) -> str:
        return self._with_members().add()

    def remove_member(self, name: str) -> None:
        self._with_members().remove(name)

    def replace_engine(self, name: str) -> list[str]:
        if self._replace_engine is None:
            raise NotFoundError(f"No engine '{name}' is up.")
        jobs = map(self._registry.get_job, self._replace_engine(name))
        return sorted(job.display_name for job in jobs if job is not None)

    def shut_down(self) -> None:
        self._leadership.end_all()
        self._changed()
        self.end_with_all()

    def end_with_all(self) -> None:
        """End this server as one of a cluster that is shut down."""
        if not self.shutting_down:
            self.shutting_down = True
            self._end()

    def tell_ending(self, jobs: Sequence[Job]) -> None:
        """Note the jobs that have not ended yet."""
        self._ending = sorted(job.name or job.id for job in jobs)
        self._changed()

    def _with_members(self) -> OwnCluster:
        if self._own is None:
            raise ConflictError("This server has no members of its own: start it with --members.")
        return self._own
