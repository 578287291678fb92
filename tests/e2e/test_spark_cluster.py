"""``pitstop serve --master spark://...``: a standalone cluster of somebody else, whose processes have a secret in common."""

import os
import re
import subprocess
from collections import Counter

import pytest

from pitstop.launchers.processes import handle_of, kill_all
from pitstop.machine.java import find_java, spark_home
from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

SECONDS = 240
ROWS, KEYS = 4_000, 7
JOB = """
import pitstop as ps

@ps.job(partitions=2)
def counting(folder):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(folder, "csv", "seq bigint, key bigint", streaming=True), name="rows")
    counted = rows.group_by("key").rolling_aggregate("counted", n=ps.count())
    counted.write_to(ps.sinks.map("counts", key="key", update=lambda old, row: (old or 0) + 1), name="counts")
    return p
"""
SETTINGS = """
spark.authenticate true
spark.authenticate.secret of-the-administrator
"""


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """Spark's own configuration, which the administrator of the cluster gives to all machines."""
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "spark-defaults.conf").write_text(SETTINGS)
    (folder / "spark-defaults.conf").chmod(0o600)
    monkeypatch.setenv("SPARK_CONF_DIR", str(folder))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("JAVA_HOME", str(find_java(tmp_path / "java")))
    return folder


@pytest.fixture
def cluster(tmp_path, configured):
    """(its URL, the folder in which its worker keeps what executors print)"""
    from stack import wait_until

    started, logs = [], {}

    def start(name, main, *arguments):
        logs[name] = tmp_path / f"{name}.log"
        command = [spark_home() / "bin" / "spark-class", f"org.apache.spark.deploy.{main}", *arguments]
        command += ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        command += ["--properties-file", configured / "spark-defaults.conf"]
        with logs[name].open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ}, start_new_session=True)
        started.append((process, handle_of(process.pid)))

    try:
        start("master", "master.Master")
        told = wait_until(lambda: re.search(r"Starting Spark master at (\S+)", logs["master"].read_text()), SECONDS, "a master")
        work = tmp_path / "work"
        start("worker", "worker.Worker", told[1], "--cores", "2", "--memory", "2g", "--work-dir", work)
        wait_until(lambda: "Successfully registered with master" in logs["worker"].read_text(), SECONDS, "a worker")
        yield told[1], work
    finally:
        for process, handle in started:
            kill_all(handle)
            process.wait()


def test_a_job_runs_on_a_cluster_of_somebody_elses(stack, cluster, tmp_path):
    from stack import wait_until

    url, work = cluster
    folder, artifact = tmp_path / "rows", tmp_path / "counting.py"
    folder.mkdir()
    (folder / "rows.csv").write_text("".join(f"{seq},{seq % KEYS}\n" for seq in range(ROWS)))
    artifact.write_text(JOB)
    client = stack.start_server(SECONDS, options=("--master", url, "--spares", "0"))
    job = client.submit(artifact, args=[str(folder)], name="counting")
    job.wait_started(SECONDS)
    expected = {str(key): n for key, n in Counter(seq % KEYS for seq in range(ROWS)).items()}
    wait_until(lambda: client.map("counts").entries() == expected, SECONDS, "all rows are counted")
    assert len(list(work.glob("app-*/*/stderr"))) == 1, "its tasks ran on an executor of that cluster"
    job.suspend()
    assert job.status is JobState.SUSPENDED
