"""A job of a real server runs in real time and in epochs by turns, is killed at random moments, and counts each message once."""

import random
import threading
import time

import psutil
import pytest

from pitstop.launchers.processes import find
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.brokers.broker import Broker

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1500)]

COUNTING = """
import pitstop as ps

@ps.job(partitions=2, snapshot_interval="5 seconds")
def counting(servers):
    p = ps.Pipeline()
    one, two = (
        p.read_from(ps.sources.kafka(servers, topic, schema="n bigint", with_metadata=("key", "timestamp")), name=topic)
        for topic in ("one", "two")
    )
    numbers = one.merge(two, name="both").filter("n >= 0", name="valid")
    counted = numbers.group_by("key").rolling_aggregate("counted", seen=ps.count(), total=ps.sum("n"))
    shown = counted.select("key", "seen", "total", name="shown")
    shown.write_to(ps.sinks.map("counts", key="key", value="struct(seen, total)"), name="counts")
    return p
"""
KEYS = 5
KILLS = 3
STOPS = ("epochs", "realtime")


def expected(count):
    """What plain Python makes of messages that went to both topics by turns."""
    return {f"k{key}": (len(range(key, count, KEYS)), sum(range(key, count, KEYS))) for key in range(KEYS)}


def listening(stack, job):
    """Return the addresses at which the Java of a job's run listens for TCP."""
    database = open_database(sqlite_url(DataFolder(stack.data).store))
    try:
        handle = SqlRegistry(database).handle_of(job.id, job.details.token)
    finally:
        database.close()
    run = psutil.Process(find(handle).pid)
    (java,) = (process for process in [run, *run.children(recursive=True)] if process.name() == "java")
    return {each.laddr.ip for each in java.net_connections("tcp") if each.status == psutil.CONN_LISTEN}


@pytest.mark.parametrize("seed", [int(time.time())], ids=["now"])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--engine", "own"), id="own"),
        pytest.param(("--engine", "shared"), id="shared", marks=pytest.mark.deep),
    ],
)
def test_a_job_counts_each_message_once_over_kills_within_epochs_and_changes_of_its_execution(tmp_path, seed, options):
    from stack import Stack, wait_until

    code = tmp_path / "counting.py"
    code.write_text(COUNTING)
    moments = random.Random(seed)
    broker, over, sent = Broker(tmp_path / "kafka"), threading.Event(), [0]

    def produce():
        while not over.wait(0.1):
            first = sent[0]
            broker.send_numbers("one", range(first, first + 20, 2))
            broker.send_numbers("two", range(first + 1, first + 20, 2))
            sent[0] = first + 20

    def counts():
        entries = client.map("counts").entries()
        return {key: (entry["seen"], entry["total"]) for key, entry in entries.items()}

    def seen():
        return sum(seen for seen, _ in counts().values())

    def goes_on(what):
        before = seen()
        wait_until(lambda: job.status is JobState.RUNNING and seen() > before, 200, what)

    try:
        broker.make("one")
        broker.make("two")
        producer = threading.Thread(target=produce)
        producer.start()
        with Stack(tmp_path / "stack", spares=1) as stack:
            client = stack.start_server(options=options)
            job = client.submit(code, args=(broker.servers,), config={"execution": "realtime"})
            goes_on("the first counts")
            assert listening(stack, job) <= {"127.0.0.1", "::ffff:127.0.0.1"}
            for number in range(KILLS):
                time.sleep(moments.uniform(0.5, 8))
                token = stack.kill_run(job)
                wait_until(lambda token=token: job.details.token > token, 200, f"the run after kill {number}")
                goes_on(f"counts after kill {number}")
            for execution in STOPS:
                job.update(code, args=(broker.servers,), config={"execution": execution})
                goes_on(f"counts in {execution}")
                time.sleep(moments.uniform(0, 4))
                stack.kill_run(job)
                goes_on(f"counts in {execution} after a kill")
            job.suspend()
            wait_until(lambda: job.status is JobState.SUSPENDED, 100, "the suspended job")
            job.resume()
            goes_on("counts of the resumed job")
            job.export_snapshot("beside")
            over.set()
            producer.join()
            wait_until(lambda: seen() >= sent[0], 100, "all messages")
            assert counts() == expected(sent[0]), f"the seed was {seed}"
            job.cancel_and_export_snapshot("last")
            wait_until(lambda: job.status.terminal, 100, "the cancelled job")
            assert counts() == expected(sent[0])
    finally:
        over.set()
        broker.kill()
