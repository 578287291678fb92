"""A job of a real server that reads a topic is updated under load and killed: each message is counted once."""

import json
import threading

import pytest

from pitstop.model.job import JobState
from tests.brokers.broker import Broker

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

COUNTING = """
import pitstop as ps

@ps.job(partitions=2, snapshot_interval="500 ms")
def counting(servers, folder):
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.kafka(servers, "numbers", schema="n bigint", with_metadata=("key",)), name="numbers")
    numbers.write_to(ps.sinks.files(folder, format="json"), name="rows")
    numbers.write_to(ps.sinks.kafka(servers, "copies", key="key", value="n"), name="copies")
    counted = numbers.group_by("key").rolling_aggregate("counted", seen=ps.count())
    counted.write_to(ps.sinks.map("counts", key="key"), name="counts")
    {more}
    return p
"""
ONE_STAGE_MORE = """numbers.group_by("key").rolling_aggregate("summed", total=ps.sum("n")).write_to(
        ps.sinks.map("sums", key="key"), name="sums")"""
KEYS = 5


def numbers_in(folder):
    return [json.loads(line)["n"] for file in folder.glob("*.json") for line in file.open()]


def test_a_job_on_a_topic_is_changed_and_killed_while_messages_come_and_counts_each_once(tmp_path):
    from stack import Stack, wait_until

    one, two, rows = tmp_path / "one.py", tmp_path / "two.py", tmp_path / "rows"
    one.write_text(COUNTING.format(more=""))
    two.write_text(COUNTING.format(more=ONE_STAGE_MORE))
    broker, over, sent = Broker(tmp_path / "kafka"), threading.Event(), []

    def produce():
        while not over.wait(0.2):
            first = len(sent)
            broker.send_numbers("numbers", range(first, first + 50))
            sent.extend(range(first, first + 50))

    def count():
        return sum(entry["seen"] for entry in client.map("counts").entries().values())

    try:
        broker.make("numbers")
        broker.make("copies")
        producer = threading.Thread(target=produce)
        producer.start()
        with Stack(tmp_path / "stack", spares=1) as stack:
            client = stack.start_server()
            job = client.submit(one, args=(broker.servers, str(rows)))
            wait_until(lambda: job.status is JobState.RUNNING and count() > 0, 200, "the first counts")
            job.update(two)
            wait_until(lambda: client.map("sums").size() == KEYS, 200, "the new stage")
            token, before = stack.kill_run(job), count()
            wait_until(lambda: job.details.token > token and count() > before, 200, "counts after the kill")
            over.set()
            producer.join()
            wait_until(lambda: count() >= len(sent), 100, "all messages")
            assert {key: entry["seen"] for key, entry in client.map("counts").entries().items()} == {
                f"k{key}": len(sent[key::KEYS]) for key in range(KEYS)
            }
            wait_until(lambda: len(numbers_in(rows)) >= len(sent), 60, "the files of the last epoch")
            assert sorted(numbers_in(rows)) == sent
            wait_until(lambda: len(broker.messages("copies")) >= len(sent), 60, "the messages of the last epoch")
            assert sorted(int(value) for _, value, _ in broker.messages("copies")) == sent
    finally:
        over.set()
        broker.kill()
