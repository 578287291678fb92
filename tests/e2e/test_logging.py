"""Logs of real processes: one form, levels that change while they run, rotation under a reader that follows."""

import json
import re

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]

BETA = "pitstop.source.http_poll"
SPARK, TASKS = "org.apache.spark.sql.execution.streaming", "org.apache.spark.executor"
ADDED = re.compile(r"Added \d+ pings\. Highest sequence number is: \d+")
JOB = """
import logging
import pitstop as ps


def chatty(batches):
    for batch in batches:
        logging.getLogger("fleet.worker").info("a batch of %d rows", len(batch))
        yield batch


@ps.job(snapshot_interval=0.5)
def reading(url: str):
    print("printed without a logger")
    logging.getLogger("fleet.driver").warning("built")
    p = ps.Pipeline()
    pings = p.read_from(ps.sources.http_poll(url, schema="sequence bigint", interval="200 ms"), name="beta")
    pings.transform(lambda frame: frame.mapInPandas(chatty, frame.schema)).write_to(ps.sinks.noop(), name="out")
    return p
"""


def lines_of(job):
    return [json.loads(line) for line in job.logs()]


@pytest.mark.parametrize("spares", [0, pytest.param(1, marks=pytest.mark.deep)])
def test_levels_reach_a_running_job_in_python_jvm_and_workers_and_are_taken_back(tmp_path, spares):
    from stack import Stack, wait_until

    with Stack(tmp_path / "stack", speedup=60.0, spares=spares) as stack:
        client = stack.start_server()
        stack.start_simulators()
        artifact = tmp_path / "reading.py"
        artifact.write_text(JOB)
        job = client.submit(artifact, args=[stack.beta_url], name="reading")
        job.wait_started()

        def seen(logger, text="", after=0):
            return [line for line in lines_of(job)[after:] if line["logger"].startswith(logger) and re.search(text, line["msg"])]

        assert not seen(BETA, ADDED.pattern)
        job.set_log_level(BETA, "debug")
        job.set_log_level("fleet", "info")
        client.set_log_level(SPARK, "info")
        client.set_log_level(TASKS, "info")
        wait_until(lambda: seen(BETA, ADDED.pattern), 30, "the line of the lab")
        wait_until(lambda: seen("fleet.worker", "a batch of"), 30, "a line of a function in Spark's Python worker")
        wait_until(lambda: seen(SPARK), 30, "a line of Spark's JVM")
        wait_until(lambda: seen(TASKS, "^Finished task"), 30, "a line of a task in Java")
        (added, *_) = seen(BETA, ADDED.pattern)
        assert (added["level"], added["job"], added["run"], added["stage"]) == ("DEBUG", "reading", 1, "beta")
        batch = seen("fleet.worker", "a batch of")[0]
        assert batch["epoch"] <= job.metrics().epoch + 1
        assert {line["epoch"] for line in seen(TASKS, "^Finished task") if "epoch" in line} <= set(range(job.metrics().epoch + 2))
        assert any("epoch" in line for line in seen(TASKS, "^Finished task"))
        assert [line["level"] for line in seen("fleet.driver", "^built$")] == ["WARN"]
        assert [line["level"] for line in seen("output", "^printed without a logger$")] == ["INFO"]
        for line in lines_of(job):
            assert list(line)[:4] == ["time", "level", "logger", "msg"]
            assert (line["job"], line["run"]) == ("reading", 1)

        for logger in (BETA, "fleet"):
            job.set_log_level(logger, None)
        client.set_log_level(SPARK, None)
        client.set_log_level(TASKS, None)
        wait_until(lambda: seen("pitstop.runner", "log levels: the usual ones"), 30, "the run has taken it back")
        wait_until(lambda: quiet(job, stack), 60, "no more of them")


ROW = re.compile(r"row (\d+)")
ON_MEMBERS = """
import logging
import pitstop as ps


def telling(batches):
    for batch in batches:
        for number in batch["sequence"]:
            logging.getLogger("fleet.worker").warning("row %d", number)
        yield batch


@ps.job(snapshot_interval=0.5)
def reading(url: str):
    p = ps.Pipeline()
    pings = p.read_from(ps.sources.http_poll(url, schema="sequence bigint", interval="200 ms"), name="beta")
    pings.transform(lambda frame: frame.mapInPandas(telling, frame.schema)).write_to(ps.sinks.noop(), name="out")
    return p
"""


@pytest.mark.deep
@pytest.mark.parametrize("spares", [0, 1])
def test_what_a_function_logs_on_a_member_is_in_the_log_of_its_job_once(tmp_path, spares):
    from stack import Stack, wait_until

    with Stack(tmp_path / "stack", speedup=60.0, spares=spares) as stack:
        client = stack.start_server(members=1)
        stack.start_simulators()
        artifact = tmp_path / "reading.py"
        artifact.write_text(ON_MEMBERS)
        job = client.submit(artifact, args=[stack.beta_url], name="reading")
        job.wait_started()

        def told():
            return [line for line in lines_of(job) if line["logger"] == "fleet.worker"]

        wait_until(lambda: len(told()) > 100, 60, "lines of the executor")
        job.suspend()
        rows = sorted(int(ROW.fullmatch(line["msg"])[1]) for line in told())
        assert rows == list(range(rows[0], rows[0] + len(rows)))
        assert {(line["job"], line["run"], line["executor"]) for line in told()} == {("reading", 1, "member-1")}


def quiet(job, stack):
    """True if an epoch or more has passed without one of those lines."""
    from stack import wait_until

    before, epoch = len(job.logs()), job.metrics().epoch
    wait_until(lambda: job.metrics().epoch > epoch + 1, 60, "two epochs")
    return not [line for line in lines_of(job)[before:] if line["logger"] in (BETA, "fleet.worker")]
