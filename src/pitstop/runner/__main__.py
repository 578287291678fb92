"""``python -m pitstop.runner COMMAND``: started by the launcher and by engines, not by people."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.launchers.processes import handle_in, is_alive, own_handle, write_handle, write_json
from pitstop.launchers.wake import UnixSocketWake
from pitstop.machine.logs import show
from pitstop.machine.private import keep_private
from pitstop.machine.questions import QuestionBox
from pitstop.machine.wake import WakeSocket, wake
from pitstop.model.data_folder import DataFolder
from pitstop.model.process_folders import EngineFolder, SpareFolder, WorkerFolder
from pitstop.runner.executor_logs import follow_executors
from pitstop.runner.joining import Joined, Membership, Role
from pitstop.runner.keeping import FollowedRetention
from pitstop.runner.logs import log
from pitstop.runner.prepared import Prepared, RunnerSettings, StandbyTasks
from pitstop.runner.run import Runner
from pitstop.runner.session import levels_of_workers, session
from pitstop.runner.spark_runtime import SparkRuntime
from pitstop.runner.worker_tasks import WORK, answer, do_task, read_task
from pitstop.spark.base.engines import has_joined
from pitstop.spark.base.run_levels import RunLevels
from pitstop.spark.starting.warm_up import warm_up
from pitstop.store.database import Database, open_database
from pitstop.store.maps import SqlMapStore
from pitstop.store.runner_link import SqlRunnerLink

STORE_FACTORY = "pitstop.store.maps:open_map_store"
ORPHAN_CHECK_SECONDS = 3.0


def main() -> int:
    options = _options(None)
    if options.command == "template":
        from pitstop.runner.template import fork_on_request

        options = _options(fork_on_request(socket.socket(fileno=options.socket)))
    keep_private()
    if options.command == "forks":
        from pitstop.runner.python_forks import fork_workers

        fork_workers(options.socket)
        return 0
    # Who prints else prints into the log: the lines of answers are the server's alone.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8") if options.command == "queries" else None
    if answers is not None:
        os.dup2(2, 1)
    show()
    if answers is not None:
        from pitstop.runner.queries import serve_queries

        serve_queries(options.store, options.work, answers)
        return _leave(0)
    if options.command == "engine":
        from pitstop.runner.engine_host import host_engine

        return _leave(host_engine(options.id, DataFolder(options.data, options.server)))
    if options.command in ("run", "spare"):
        data = DataFolder(options.data, options.server)
        engine = EngineFolder(options.engine) if options.engine is not None else None
        if options.command == "run":
            return run_job(options.job, options.token, options.store, data, engine)
        return wait_as_spare(options.spare, options.store, data, engine)
    folder = WorkerFolder(options.folder)

    def start() -> SparkSession:
        return Joined(EngineFolder(options.engine), folder.work, Role.TASK).session if options.engine else session(folder.work)

    return _leave(do_task(options.task, folder, start))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options in ``arguments``, or else in those of this process."""
    parser = argparse.ArgumentParser(prog="pitstop.runner")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "spare"):
        sub = commands.add_parser(name)
        sub.add_argument("--store", required=True)
        sub.add_argument("--data", required=True, type=Path)
        sub.add_argument("--server", default="")
        sub.add_argument("--engine", type=Path)
        sub.add_argument("--job" if name == "run" else "--spare", required=True)
        if name == "run":
            sub.add_argument("--token", required=True, type=int)
    sub = commands.add_parser("engine")
    sub.add_argument("--store", required=True)
    sub.add_argument("--data", required=True, type=Path)
    sub.add_argument("--server", default="")
    sub.add_argument("--id", required=True)
    sub = commands.add_parser("worker")
    sub.add_argument("--task", required=True, choices=sorted(WORK))
    sub.add_argument("--folder", required=True, type=Path)
    sub.add_argument("--engine", type=Path)
    sub = commands.add_parser("queries")
    sub.add_argument("--store", required=True)
    sub.add_argument("--work", required=True, type=Path)
    sub = commands.add_parser("forks")
    sub.add_argument("--socket", required=True, type=Path)
    sub = commands.add_parser("template")
    sub.add_argument("--socket", required=True, type=int)
    return parser.parse_args(arguments)


def run_job(job_id: str, token: int, store_url: str, data: DataFolder, engine: EngineFolder | None) -> int:
    """Run one job to its end, in a JVM of its own or in an engine."""
    settings = RunnerSettings(data, store_url, STORE_FACTORY)
    job = data.job(job_id)

    membership = Membership()

    def start() -> SparkSession:
        if engine is not None:
            membership.joined = Joined(engine, job.work, Role.RUN)
            membership.joined.at_end(_say_engine_ended)
            spark = membership.joined.session
            membership.take(job_id, token)
        else:
            spark = session(job.work)
            follow_executors(spark, data)
        RunLevels(spark, levels_of_workers(job.work)).follow(data.log_levels, job.log_levels)
        return spark

    return _run(job_id, token, settings, open_database(store_url), start, None, membership)


def _run(
    job_id: str,
    token: int,
    settings: RunnerSettings,
    database: Database,
    spark: Callable[[], SparkSession],
    prepared: Prepared | None,
    membership: Membership | None = None,
) -> int:
    waking = database.wake() or UnixSocketWake(settings.data)
    link = SqlRunnerLink(database, waking, retention=FollowedRetention(settings.data.retention))
    runtime = SparkRuntime(settings, SqlMapStore(database), spark, prepared, membership)
    questions = QuestionBox(settings.data.job(job_id).questions)
    return _leave(Runner(job_id, token, own_handle(), link, waking, runtime, questions=questions).run())


def wait_as_spare(spare_id: str, store_url: str, data: DataFolder, engine: EngineFolder | None) -> int:
    """Keep a Spark session warm until a job is assigned, or the control plane is gone; do what a standby is asked for."""
    folder = data.spare(spare_id)
    folder.root.mkdir(parents=True, exist_ok=True)
    wake_socket = WakeSocket(folder.socket)
    warm = threading.Event()
    threading.Thread(target=_leave_when_alone, args=(data, folder, warm), daemon=True).start()
    joined = Joined(engine, folder.work, Role.SPARE) if engine is not None else None
    if joined is not None:
        spark = joined.session
        joined.at_end(lambda: _leave_with_engine(folder))
    else:
        spark = session(folder.work)
        follow_executors(spark, data)
    levels = RunLevels(spark, levels_of_workers(folder.work))
    levels.follow(data.log_levels)
    if not folder.assignment.exists():
        # In an engine all is warm but the Python workers: a job need not wait for those.
        warm_up(spark, folder.work / "warm-up", lambda: joined is None or not folder.assignment.exists())
    settings, database = RunnerSettings(data, store_url, STORE_FACTORY), open_database(store_url)
    standby = StandbyTasks(spark, settings, folder)
    warm.set()
    write_handle(folder.ready, own_handle())
    answered = 0
    while not folder.assignment.exists():
        if not _control_alive(data):
            return _leave(0)
        task = folder.task(answered + 1)
        if task.exists():
            answered += 1
            order = json.loads(task.read_text())
            write_json(folder.answer(answered), answer(standby.do, read_task(order["task"], order["request"])))
            wake(folder.answer_socket)
            continue
        wake_socket.wait(ORPHAN_CHECK_SECONDS)
    assignment = json.loads(folder.assignment.read_text())
    wake_socket.close()
    levels.follow(data.log_levels, data.job(assignment["job"]).log_levels)
    return _run(
        assignment["job"], int(assignment["token"]), settings, database, lambda: spark, standby.prepared, Membership(joined)
    )


def _leave_when_alone(data: DataFolder, folder: SpareFolder, warm: threading.Event) -> None:
    """End the process if the control plane is gone before it is warm: Spark may wait for ever for a folder that went with it.

    Not one that has been given a run already: that goes on without a control plane.
    """
    while _control_alive(data):
        if warm.wait(ORPHAN_CHECK_SECONDS):
            return
    if not warm.is_set() and not folder.assignment.exists():
        os._exit(0)


def _say_engine_ended() -> None:
    log("WARN", "pitstop.runner", "the engine of this run has ended")


def _leave_with_engine(folder: SpareFolder) -> None:
    """End the process, whose engine has ended, unless it has a job: a run tells itself that it has lost its Spark."""
    if not folder.assignment.exists():
        os._exit(1)
    _say_engine_ended()


def _control_alive(data: DataFolder) -> bool:
    owner = handle_in(data.control_process)
    return owner is not None and is_alive(owner)


def _leave(code: int) -> int:
    """End the process within seconds, whatever Spark's shutdown hooks are waiting for."""

    def force() -> None:
        time.sleep(10)
        log("WARN", "pitstop.runner", "Spark did not shut down in time: leaving")
        os._exit(code)

    threading.Thread(target=force, daemon=True).start()
    from pyspark.sql import SparkSession

    if has_joined():  # its JVM runs other jobs, too, and ends what this process leaves there
        return code
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    return code


if __name__ == "__main__":
    sys.exit(main())
