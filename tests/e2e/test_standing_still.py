"""The JVM of a run stands still, alone: real processes, and a real signal. Nothing is missed or doubled."""

import os
import signal

import psutil
import pytest

from pitstop.launchers.processes import handle_in
from pitstop.model.data_folder import DataFolder

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOB = """
import pitstop as ps

@ps.job(processing_guarantee="exactly_once", partitions=1, snapshot_interval="500 ms", epoch_timeout="30 seconds")
def counting():
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate(20), name="numbers").with_columns(key="'all'")
    counted = numbers.group_by("key").rolling_aggregate("seen", n=ps.count())
    counted.select("cast(n as string) key", "sequence").write_to(ps.sinks.map("seen", key="key"), name="map")
    return p
"""


def jvm_of(stack, job_id):
    """The process of Spark's driver, where the run has one of its own."""
    found = (process for process in psutil.process_iter(["cmdline"]) if "pitstop.runner" in (process.info["cmdline"] or ()))
    (runner,) = [one for one in found if job_id in one.info["cmdline"] and str(stack.data) in one.info["cmdline"]]
    (jvm,) = [child for child in runner.children(recursive=True) if child.name() == "java"]
    return jvm


def nothing_missed_or_doubled(client):
    """The n-th number seen is the n-th one that there was."""
    entries = client.map("seen").entries()
    return [entries[str(n)]["sequence"] for n in range(1, len(entries) + 1)] == list(range(len(entries)))


def jvm_of_engine(stack, job_id):
    """The process of Spark's driver in the engine that jobs share."""
    (process,) = DataFolder(stack.data).engines.glob("*/process.json")
    engine = psutil.Process(int(handle_in(process).split("/")[1]))
    (jvm,) = [child for child in engine.children(recursive=True) if child.name() == "java"]
    return jvm


@pytest.mark.parametrize(("engine", "jvm_of"), [("own", jvm_of), ("shared", jvm_of_engine)])
def test_a_job_goes_on_when_the_jvm_of_its_run_stands_still(tmp_path, engine, jvm_of):
    from stack import Stack, wait_until

    (tmp_path / "counting.py").write_text(JOB)
    with Stack(tmp_path / "stack", spares=0) as stack:
        client = stack.start_server(options=("--engine", engine))
        job = client.submit(tmp_path / "counting.py")
        wait_until(lambda: client.map("seen").size() > 40, 300, "the job counts")
        jvm = jvm_of(stack, job.id)
        os.kill(jvm.pid, signal.SIGSTOP)
        before = client.map("seen").size()
        wait_until(lambda: client.map("seen").size() > before + 60, 400, "the job goes on")
        assert not jvm.is_running(), "what stands still is ended"
        assert nothing_missed_or_doubled(client)
        reasons = " ".join(getattr(event, "reason", "") for event in job.events())
        own = ("its query has not answered for 30 seconds", "did not end within 30 seconds")
        assert any(reason in reasons for reason in (*own, "The engine that this job shares with others has ended"))
