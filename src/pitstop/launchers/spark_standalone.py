"""Spark's own cluster, standalone: a master and workers as processes of this machine, known to one another by a secret."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pitstop.errors import EngineError
from pitstop.kit.private import write_private
from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import handle_of, write_handle
from pitstop.model.data_folder import DaemonFolder

START_SECONDS = 120.0
SHARES = 64
"""So many jobs may run on each core of a member: Spark gives every job cores of its own, and ours share them."""
_MASTER, _WORKER = (f"org.apache.spark.deploy.{part}" for part in ("master.Master", "worker.Worker"))
_URL = re.compile(r"Starting Spark master at (spark://\S+)")


def start_master(
    folder: DaemonFolder, host: str, secret: str, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], str]:
    """Start a master on a free port; its process and its URL. EngineError if it does not come up."""
    process = _start(folder, [_MASTER, "--host", host], secret, environment)
    found: list[str] = []

    def is_up() -> bool:
        found[:] = _URL.findall(folder.log.read_text(errors="replace"))
        return bool(found) or process.poll() is not None

    if not wait_until(is_up, START_SECONDS, step=0.1) or not found:
        process.kill()
        raise EngineError(f"The Spark master did not start: see {folder.log}.")
    return process, found[-1]


def start_worker(
    folder: DaemonFolder, host: str, master: str, cores: int, secret: str, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a worker that lends so many cores, as shares, and as much memory as jobs ask for."""
    # What an executor takes is bounded by its own settings: the worker itself must refuse none for memory.
    lent = ["--cores", str(cores * SHARES), "--memory", "1024g", "--work-dir", str(folder.work)]
    return _start(folder, [_WORKER, master, "--host", host, *lent], secret, environment)


def _start(folder: DaemonFolder, command: list[str], secret: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    folder.work.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.worker.cleanup.enabled": "true",
        "spark.decommission.enabled": "true",
    }
    write_private(folder.spark_settings, "".join(f"{name} {value}\n" for name, value in settings.items()))
    arguments = ["--port", "0", "--webui-port", "0", "--properties-file", str(folder.spark_settings)]
    home = spark_home()
    with folder.log.open("ab") as log:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", *command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**environment, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"},
        )
    # At once: whoever has started it may die, and it must be found again.
    handle = handle_of(process.pid)
    if handle is None:
        raise EngineError(f"Spark's daemon ended at once: see {folder.log}.")
    write_handle(folder.daemon, handle)
    return process


def drain(worker: subprocess.Popen[bytes]) -> None:
    """Let a worker take no more executors, and those that it has end once their tasks are done (Spark's decommissioning)."""
    worker.send_signal(signal.SIGPWR)


def spark_home() -> Path:
    """Where pyspark's jars are; nothing of it is loaded."""
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise EngineError("The package pyspark is not installed here: install Pitstop with its dependencies.")
    return Path(os.fspath(found.submodule_search_locations[0]))
