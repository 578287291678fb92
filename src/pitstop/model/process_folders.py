"""The folders that processes have in the data folder: daemons, members, spares, engines and workers (model.data_folder)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
        """A file that names the process of the spare. The spare writes it once its Spark session is up."""
        return self.root / "ready"

    @property
    def assignment(self) -> Path:
        """The run that the spare is given. Written by the launcher, read by the spare."""
        return self.root / "assignment.json"

    @property
    def socket(self) -> Path:
        """The socket that wakes the spare. The spare makes it; the launcher writes to it."""
        return self.root / "wake.sock"

    @property
    def answer_socket(self) -> Path:
        """The socket that wakes the process that waits for the spare's answer. That process makes it; the spare writes to it."""
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
        """A file that lets the query go that waits for an update. The spare writes it once the job is its own."""
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
        """A file that names the process of the engine. The engine writes it once its Spark session is up."""
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
        """A file that lets the engine end once no process uses it. A launcher writes it that starts nothing there any more."""
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
