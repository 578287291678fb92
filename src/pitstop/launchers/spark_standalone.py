"""Spark's own cluster, standalone: a master and workers as processes of this machine, known to one another by a secret.

A master writes down what it knows of workers and jobs. The master after it, on this machine or another one, reads that and tells
all of them where it is: they go on, and executors take no notice.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import handle_of, write_handle
from pitstop.machine.class_archive import class_archive, to_use
from pitstop.machine.class_jar import CLASS_PATH, class_jar, put_on_class_path
from pitstop.machine.java import spark_home
from pitstop.machine.new_lines import NewLines
from pitstop.machine.private import write_private
from pitstop.machine.rotating import Rotation
from pitstop.model.cluster import LOOPBACK, SparkCluster, closed_to_others
from pitstop.model.process_folders import DaemonFolder

START_SECONDS = 120.0
SHARES = 64
"""The number of jobs that may run on each core of a member. Spark gives every job separate cores; our jobs share them."""
_WEB_FILTER = "org.apache.spark.ui.JWSFilter"
_MASTER, _WORKER = (f"org.apache.spark.deploy.{part}" for part in ("master.Master", "worker.Worker"))
SILENT_SECONDS = 15
"""The seconds of silence after which a worker counts as lost, and drivers hear of it. A new master waits as long for the
workers of the one before."""
_URL = re.compile(r"Starting Spark master at (spark://[^\s\"]+)")
_UP = "I have been elected leader!"
_FOLLOWS = re.compile(r"(?:Master has changed, new master is at|Successfully registered with master) (spark://[^\s\"]+)")
USUAL_ROTATION = Rotation()


def start_master(
    folder: DaemonFolder,
    host: str,
    secret: str,
    recovery: Path,
    environment: Mapping[str, str],
    rotation: Rotation = USUAL_ROTATION,
) -> tuple[subprocess.Popen[bytes], str]:
    """Start a master on a free port; return its process and its URL. EngineError if it does not come up.

    ``recovery``: the folder in which the masters of the cluster, one after the other, keep what they know.
    """
    recovery.mkdir(parents=True, exist_ok=True)
    recovery_settings = {
        "spark.deploy.recoveryMode": "FILESYSTEM",
        "spark.deploy.recoveryDirectory": str(recovery),
        # A job whose executors fail is our affair: the master is not to give it up.
        "spark.deploy.maxExecutorRetries": "-1",
    }
    process = _start(folder, [_MASTER, "--host", host], closed_to_others(host, secret) | recovery_settings, environment, rotation)
    urls: list[str] = []

    def is_up() -> bool:
        log = _content(folder)
        urls[:] = _URL.findall(log) if _UP in log else []
        return bool(urls) or process.poll() is not None

    if not wait_until(is_up, START_SECONDS, step=0.1) or not urls:
        process.kill()
        raise EngineError(f"The Spark master did not start: see {folder.log}.")
    return process, urls[-1]


def start_worker(
    folder: DaemonFolder,
    host: str,
    cluster: SparkCluster,
    cores: int,
    environment: Mapping[str, str],
    rotation: Rotation = USUAL_ROTATION,
) -> subprocess.Popen[bytes]:
    """Start a worker that lends ``cores``, as shares, and as much memory as jobs ask for."""
    # The settings of an executor bound its memory: the worker itself must refuse none for that.
    lent = ["--cores", str(cores * SHARES), "--memory", "1024g", "--work-dir", str(folder.work)]
    # However long there is no master: ending would end the executors.
    patient = {"spark.worker.maxRegistrationRetries": "1000000", "spark.worker.cleanup.enabled": "true"}
    # The logs of the executors, with their Python workers, each in a folder of its own.
    rotated = {
        "spark.executor.logs.rolling.strategy": "size",
        "spark.executor.logs.rolling.maxSize": str(rotation.most_bytes),
        "spark.executor.logs.rolling.maxRetainedFiles": str(rotation.kept),
    }
    settings = cluster.spark_settings | patient | rotated
    return _start(folder, [_WORKER, cluster.master, "--host", host, *lent], settings, environment, rotation)


class FollowedMaster:
    """The master that a worker works for, by the worker's log. Each look reads only the new lines."""

    def __init__(self, folder: DaemonFolder) -> None:
        self._folder, self._new = folder, NewLines()
        self._url: str | None = None

    def look(self) -> str | None:
        """Return the URL of the last master that the worker has named in its log; None if there is none yet."""
        lines = b"".join(self._new.look([*reversed(log_parts(self._folder)), self._folder.log]))
        urls = _FOLLOWS.findall(lines.decode(errors="replace"))
        self._url = urls[-1] if urls else self._url
        return self._url


def log_parts(folder: DaemonFolder) -> list[Path]:
    """Return the older parts of a daemon's log, newest first."""
    return sorted(folder.root.glob(folder.log_part("*").name), key=lambda part: int(part.suffix[1:]))


def _content(folder: DaemonFolder) -> str:
    """Return all that is kept of a daemon's log, oldest first."""
    parts = []
    for part in (*reversed(log_parts(folder)), folder.log):
        with contextlib.suppress(FileNotFoundError):  # rotated meanwhile; it is looked at again
            parts.append(part.read_text(errors="replace"))
    return "".join(parts)


def _start(
    folder: DaemonFolder, command: list[str], settings: Mapping[str, str], environment: Mapping[str, str], rotation: Rotation
) -> subprocess.Popen[bytes]:
    folder.work.mkdir(parents=True, exist_ok=True)
    of_all = {
        "spark.decommission.enabled": "true",
        "spark.worker.timeout": str(SILENT_SECONDS),
        # Spark's own web pages ask for no token, show logs and end jobs. They cannot be turned off: nobody has this key.
        "spark.ui.filters": _WEB_FILTER,
        f"spark.{_WEB_FILTER}.param.secretKey": secrets.token_urlsafe(48),
    }
    write_private(folder.spark_settings, "".join(f"{name} {value}\n" for name, value in (of_all | dict(settings)).items()))
    arguments = ["--port", "0", "--webui-port", "0", "--properties-file", str(folder.spark_settings)]
    home = spark_home()
    with folder.log.open("ab") as log:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", *command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**environment, **_of_daemons(environment, home), **_logging(folder, rotation)},
        )
    # At once: whoever has started it may die, and it must be found again.
    handle = handle_of(process.pid)
    if handle is None:
        raise EngineError(f"Spark's daemon ended at once: see {folder.log}.")
    write_handle(folder.daemon, handle)
    return process


def _logging(folder: DaemonFolder, rotation: Rotation) -> dict[str, str]:
    """Return variables that direct a daemon's log (daemons-log4j2.properties). A path in Java's options must have no blanks."""
    return {
        "PITSTOP_DAEMON_LOG": str(folder.log),
        "PITSTOP_DAEMON_LOG_PARTS": str(folder.log_part("%i")),
        "PITSTOP_DAEMON_LOG_BYTES": str(rotation.most_bytes),
        "PITSTOP_DAEMON_LOG_FILES": str(rotation.kept),
    }


def _of_daemons(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return variables that make the Java of Spark's daemons begin fast. They do little, so that speed matters less."""
    java = environment.get("JAVA_HOME")
    archive = to_use(class_archive(Path(java), home)) if java else []
    # Executors have the class path of the worker that starts them.
    configured = f"-Dlog4j2.configurationFile={Path(__file__).parent / 'daemons-log4j2.properties'}"
    class_path = {name: environment[name] for name in (CLASS_PATH,) if name in environment}
    put_on_class_path(class_jar(home), class_path)
    return {
        **class_path,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": " ".join(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", configured, *archive]),
        # The web page listens here, and everything else at the addresses in the arguments.
        "SPARK_LOCAL_IP": LOOPBACK,
    }


def drain(worker: subprocess.Popen[bytes]) -> None:
    """Let a worker take no more executors, and those that it has end once their tasks are done (Spark's decommissioning)."""
    worker.send_signal(signal.SIGPWR)
