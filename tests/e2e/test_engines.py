"""Jobs that share an engine: one JVM for all of them, and what befalls one of them, or the engine, doubles and loses nothing."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing, suppress

import psutil
import pytest
from sqlalchemy import update
from stack import Stack

from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import handle_in, is_alive
from pitstop.model.data_folder import DataFolder
from pitstop.model.job_event import StateChange
from pitstop.service.api import SubmitRequest
from pitstop.store import schema
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.e2e.counting import COUNTING, assert_exact, lines_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

LINES = 300
ENDS_ITS_JAVA = """
import os, signal
import pitstop as ps
from pyspark import SparkContext


class Deadly:
    def write(self, rows, info):
        os.kill(SparkContext._active_spark_context._jvm.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)


@ps.job
def deadly():
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(100), name="numbers").write_to(ps.sinks.custom(Deadly()), name="deadly")
    return p
"""
TELLS_ITS_JAVA = """
from pathlib import Path
from pyspark import SparkContext
Path({file!r}).write_text(str(SparkContext._active_spark_context._jvm.java.lang.ProcessHandle.current().pid()))
"""
SECONDS = 180.0


TASKS = "org.apache.spark.executor"


@pytest.fixture
def shared(tmp_path):
    """A server whose jobs share an engine."""
    with Stack(tmp_path / "stack", spares=1) as made:
        made.client = made.start_server(120, options=("--engine", "shared"))
        yield made


def submitted(shared, tmp_path, name, **options):
    artifact = tmp_path / f"{name}.py"
    artifact.write_text(COUNTING)
    return shared.client.submit(artifact, args=[str(tmp_path / name)], name=name, config=options or None)


def grows(folder, by=LINES):
    """Wait until so many more lines are there."""
    lines = len(lines_of(folder)) if folder.exists() else 0
    assert wait_until(lambda: folder.exists() and len(lines_of(folder)) >= lines + by, SECONDS, step=0.2), (
        f"{folder} stands still"
    )


def engines(shared):
    """Return name -> pid of the engines that run."""
    folders = [path for path in DataFolder(shared.data).engines.glob("*/process.json") if is_alive(handle_in(path))]
    contents = [json.loads(path.read_text()) for path in folders]
    return {content["name"]: int(content["handle"].split("/")[1]) for content in contents}


def tasks_of(log):
    """Return the lines of Java that tell of tasks of an epoch."""
    return [line for line in map(json.loads, log) if line["msg"].startswith("Finished task") and "epoch" in line]


def javas(pid):
    """Return the Java processes below a process."""
    processes = []
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended since
            if child.name() == "java":
                processes.append(child)
    return processes


def workers(pid):
    """Return client -> number of Python workers of an engine, with the processes that stand for them below Java."""
    counts = {}
    for child in psutil.Process(pid).children(recursive=True):
        try:
            title = dict(word.split("=", 1) for word in " ".join(child.cmdline()).split() if "=" in word)
            client = title.get("PITSTOP_ENGINE_CLIENT") or child.environ().get("PITSTOP_ENGINE_CLIENT")
        except psutil.Error:
            continue
        counts[client] = counts.get(client, 0) + 1
    return counts


def test_jobs_of_one_engine_run_in_one_java_and_a_run_that_is_killed_leaves_nothing_there(shared, tmp_path):
    first, second = submitted(shared, tmp_path, "first", weight=3), submitted(shared, tmp_path, "second")
    grows(tmp_path / "first")
    grows(tmp_path / "second")
    assert list(engines(shared)) == ["shared"]
    engine = engines(shared)["shared"]
    assert len(javas(engine)) == 1
    (log,) = DataFolder(shared.data).engines.glob("*/engine.log")
    assert f"job {first.id} of weight 3" in log.read_text()
    assert f"job {second.id} of weight 1" in log.read_text()
    server = shared._processes["server"].pid
    assert [child.pid for child in javas(server)] == [javas(engine)[0].pid], "no run has a Java of its own"

    assert [(engine.name, engine.jobs) for engine in shared.client.service.server_info().engines] == [
        ("shared", ["first", "second"])
    ]
    shared.client.set_log_level(TASKS, "info")
    assert wait_until(lambda: all(tasks_of(job.logs()) for job in (first, second)), 60, step=0.2), "tasks in the log of their job"
    assert not tasks_of(log.read_text().splitlines()), "and not in the engine's"
    shared.client.set_log_level(TASKS, None)
    clients, others = set(workers(engine)), second.details.token
    token = shared.kill_run(first)
    assert wait_until(lambda: first.details.token > token and first.status == "RUNNING", SECONDS, step=0.1)
    grows(tmp_path / "first")
    grows(tmp_path / "second")
    assert second.details.token == others, "the other job goes on as if nothing had been"
    assert engines(shared)["shared"] == engine
    assert clients - set(workers(engine)), "the workers of the run that was killed are gone"
    java_of_check = tmp_path / "java"
    version = tmp_path / "version.py"
    version.write_text(COUNTING + TELLS_ITS_JAVA.format(file=str(java_of_check)))
    shared.client.service.check(SubmitRequest(str(version), args=[str(tmp_path / "first")]), job="first")
    assert int(java_of_check.read_text()) == javas(engine)[0].pid, "a version is compiled in the engine that is there"
    for job in (first, second):
        job.suspend()
    assert_exact(tmp_path / "first")
    assert_exact(tmp_path / "second")


@pytest.mark.long
def test_an_engine_that_is_killed_costs_its_jobs_a_restart_from_their_last_epochs(shared, tmp_path):
    jobs = {name: submitted(shared, tmp_path, name) for name in ("first", "second")}
    for name in jobs:
        grows(tmp_path / name)
    engine = engines(shared)["shared"]
    tokens = {name: job.details.token for name, job in jobs.items()}
    os.kill(javas(engine)[0].pid, signal.SIGKILL)
    for name, job in jobs.items():
        goes_on = wait_until(
            lambda name=name, job=job: job.details.token > tokens[name] and job.status == "RUNNING", SECONDS, step=0.1
        )
        assert goes_on, job.details
        grows(tmp_path / name)
    assert engines(shared)["shared"] != engine
    for name, job in jobs.items():
        job.suspend()
        assert_exact(tmp_path / name)


@pytest.mark.long
def test_a_job_has_the_engine_that_it_names(shared, tmp_path):
    own, critical = submitted(shared, tmp_path, "own", engine="own"), submitted(shared, tmp_path, "named", engine="critical")
    grows(tmp_path / "own")
    grows(tmp_path / "named")
    assert sorted(engines(shared)) == ["critical", "shared"]
    server = shared._processes["server"].pid
    assert wait_until(lambda: len(javas(server)) == 3, SECONDS, step=0.1), javas(server)
    critical.update(tmp_path / "named.py", args=[str(tmp_path / "named")], config={"engine": "shared"})
    grows(tmp_path / "named")
    assert critical.status == "RUNNING"
    for job in (own, critical):
        job.suspend()
    assert_exact(tmp_path / "own")
    assert_exact(tmp_path / "named")


@pytest.mark.long
def test_a_job_whose_epochs_end_the_shared_engine_goes_on_in_its_own(shared, tmp_path):
    innocent = submitted(shared, tmp_path, "innocent")
    grows(tmp_path / "innocent")
    artifact = tmp_path / "deadly.py"
    artifact.write_text(ENDS_ITS_JAVA)
    deadly = shared.client.submit(artifact, name="deadly", config={"restart": "none"})
    assert wait_until(lambda: deadly.status == "FAILED", SECONDS, step=0.2), deadly.details
    reasons = [event.reason for event in deadly.events() if isinstance(event, StateChange)]
    assert any("it goes on in an engine of its own" in reason for reason in reasons), reasons
    assert "shares" not in reasons[-1], "alone, it fails as other jobs do"
    grows(tmp_path / "innocent")
    innocent.suspend()
    assert_exact(tmp_path / "innocent")


@pytest.mark.long
def test_the_jobs_of_an_engine_move_over_to_another_one_without_a_row_lost_or_doubled(shared, tmp_path):
    jobs = [submitted(shared, tmp_path, name) for name in ("first", "second")]
    for job in ("first", "second"):
        grows(tmp_path / job)
    engine = engines(shared)["shared"]
    command = [sys.executable, "-m", "pitstop.main", "--url", shared.client.service.url, "cluster", "restart-engine", "shared"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = ["The new engine 'shared' is up. 2 jobs to move.", "Job 'first' restarted.", "Job 'second' restarted."]
    assert done.stdout.splitlines() == lines
    assert wait_until(lambda: not psutil.pid_exists(engine), SECONDS, step=0.2), "the old one ends"
    for job in ("first", "second"):
        grows(tmp_path / job)
    (info,) = shared.client.service.server_info().engines
    assert (info.name, info.jobs, info.retired) == ("shared", ["first", "second"], False)
    assert engines(shared)["shared"] != engine
    for job in jobs:
        job.suspend()
    assert_exact(tmp_path / "first")
    assert_exact(tmp_path / "second")


@pytest.mark.long
def test_a_run_that_stands_still_gives_way_to_the_next_one_in_the_same_engine(shared, tmp_path):
    job = submitted(shared, tmp_path, "counting")
    grows(tmp_path / "counting")
    engine, token = engines(shared)["shared"], job.details.token
    with closing(open_database(sqlite_url(DataFolder(shared.data).store))) as database:
        run = psutil.Process(int(SqlRegistry(database).handle_of(job.id, token).split("/")[1]))
        run.suspend()
        # The control plane cannot kill it.
        elsewhere = f"another-machine/{run.pid}/1"
        with database.write() as connection:
            connection.execute(update(schema.leases).where(schema.leases.c.token == token).values(handle=elsewhere))
    assert wait_until(lambda: job.details.token > token and job.status == "RUNNING", SECONDS, step=0.1), job.details
    grows(tmp_path / "counting")
    assert not run.is_running() or run.status() == psutil.STATUS_ZOMBIE
    assert engines(shared)["shared"] == engine
    job.suspend()
    assert_exact(tmp_path / "counting")
