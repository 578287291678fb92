"""``python -m pitstop.runner run | spare | once``: started by the launcher, not by people."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from pitstop.kit.wake import WakeSocket, wake
from pitstop.runner.logs import log
from pitstop.runner.prepared import Prepared, RunnerSettings, Standby
from pitstop.runner.run import Runner
from pitstop.runner.session import session
from pitstop.runner.worker_tasks import TASKS, run_once
from pitstop.spark.starting.warm_up import warm_up
from pitstop.store.database import Database, open_database
from pitstop.store.maps import SqlMapStore
from pitstop.store.runner_link import SqlRunnerLink

STORE_FACTORY = "pitstop.store.maps:open_map_store"
ORPHAN_CHECK_SECONDS = 3.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="pitstop.runner")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "spare"):
        sub = commands.add_parser(name)
        sub.add_argument("--store", required=True)
        sub.add_argument("--data", required=True, type=Path)
        sub.add_argument("--job" if name == "run" else "--spare", required=True)
        if name == "run":
            sub.add_argument("--token", required=True, type=int)
    sub = commands.add_parser("once")
    sub.add_argument("--task", required=True, choices=sorted(TASKS))
    sub.add_argument("--folder", required=True, type=Path)
    options = parser.parse_args()
    if options.command == "run":
        return run_job(options.job, options.token, options.store, options.data)
    if options.command == "spare":
        return wait_as_spare(options.spare, options.store, options.data)
    return _leave(run_once(options.task, options.folder))


def run_job(job_id: str, token: int, store_url: str, data_dir: Path) -> int:
    """Run one job to its end."""
    settings = RunnerSettings(data_dir, store_url, STORE_FACTORY)
    work = settings.job_dir(job_id) / "work"
    return _run(job_id, token, settings, open_database(store_url), lambda: session(work), None)


def _run(
    job_id: str,
    token: int,
    settings: RunnerSettings,
    database: Database,
    spark: Callable[[], SparkSession],
    prepared: Prepared | None,
) -> int:
    link = SqlRunnerLink(database, lambda: wake(settings.data_dir / "control.sock"))
    return _leave(Runner(job_id, token, link, SqlMapStore(database), settings, spark, prepared).run())


def wait_as_spare(spare_id: str, store_url: str, data_dir: Path) -> int:
    """Keep a Spark session warm until a job is assigned, or the control plane is gone; do what a standby is asked for."""
    folder = data_dir / "spares" / spare_id
    folder.mkdir(parents=True, exist_ok=True)
    socket = WakeSocket(folder / "wake.sock")
    assignment = folder / "assignment.json"
    spark = session(folder / "work")
    if not assignment.exists():
        warm_up(spark, folder / "work" / "warm-up")
    settings, database = RunnerSettings(data_dir, store_url, STORE_FACTORY), open_database(store_url)
    process, standby = psutil.Process(), Standby(spark, settings, folder)
    _write(folder / "ready", {"pid": process.pid, "created": process.create_time()})
    answered = 0
    while not assignment.exists():
        if not _control_alive(data_dir):
            return _leave(0)
        task = folder / f"task-{answered + 1}.json"
        if task.exists():
            answered += 1
            _write(folder / f"answer-{answered}.json", standby.do(json.loads(task.read_text())))
            wake(folder / "answer.sock")
            continue
        socket.wait(ORPHAN_CHECK_SECONDS)
    wanted = json.loads(assignment.read_text())
    socket.close()
    log_file = data_dir / "jobs" / wanted["job"] / "runner.log"
    log_file.parent.mkdir(parents=True, exist_ok=True)
    # The descriptors are replaced, so that what this process' JVM and workers write goes to the job's log too.
    target = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(target, 1)
    os.dup2(target, 2)
    return _run(wanted["job"], int(wanted["token"]), settings, database, lambda: spark, standby.prepared)


def _write(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content))
    temporary.rename(path)


def _control_alive(data_dir: Path) -> bool:
    try:
        owner = json.loads((data_dir / "control.pid").read_text())
        return bool(abs(psutil.Process(owner["pid"]).create_time() - owner["created"]) < 1)
    except (OSError, ValueError, psutil.NoSuchProcess):
        return False


def _leave(code: int) -> int:
    """End the process within seconds, whatever Spark's shutdown hooks are waiting for."""

    def force() -> None:
        time.sleep(10)
        log("WARN", "pitstop.runner", "Spark did not shut down in time: leaving")
        os._exit(code)

    threading.Thread(target=force, daemon=True).start()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    return code


if __name__ == "__main__":
    sys.exit(main())
