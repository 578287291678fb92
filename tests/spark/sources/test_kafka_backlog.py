"""A backlog in a topic: epochs end at one moment in all partitions, so that no partition makes the rows of another one late."""

import json
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected
from tests.spark.sources.test_kafka import Halted, KafkaHarness, numbers_of

pytestmark = [pytest.mark.spark, pytest.mark.long]
START_MS = 1_767_225_600_000  # 2026-01-01, UTC
SECONDS = {0: range(1000), 1: range(800, 1000)}
"""Partition -> the seconds after the start that have a message: the second partition is new, or its producers were away."""
MESSAGES = sum(map(len, SECONDS.values()))


@pytest.fixture
def harness(spark, tmp_path):
    return KafkaHarness(spark, tmp_path)


def send(broker, topic):
    broker.make(topic, len(SECONDS))
    messages = [(None, json.dumps({"n": n}), part, START_MS + 1000 * n) for part, numbers in SECONDS.items() for n in numbers]
    broker.send(topic, messages)


def test_an_epoch_of_a_backlog_reads_no_message_that_is_newer_than_one_that_it_leaves(broker, harness):
    send(broker, "backlog")
    sink = Collected()
    harness.run(numbers_of(broker, sink, topic="backlog", max_rows=100), until=MESSAGES)
    epochs = [[row.n for row in rows] for _, rows in sorted(sink.epochs.items()) if rows]
    assert sorted(n for numbers in epochs for n in numbers) == sorted(n for numbers in SECONDS.values() for n in numbers)
    assert [max(before) <= min(after) for before, after in pairwise(epochs)] == [True] * (len(epochs) - 1)
    assert max(map(len, epochs)) <= 100
    assert len(epochs) <= 2 * MESSAGES / 100


def test_no_row_of_a_backlog_is_late_although_the_other_partition_has_newer_ones(broker, harness):
    send(broker, "minutes")
    p, sink = ps.Pipeline(), Collected()
    metadata = ("timestamp", "partition")
    source = ps.sources.kafka(broker.servers, "minutes", schema="n bigint", max_rows=100, with_metadata=metadata)
    rows = p.read_from(source, name="numbers").with_timestamps("timestamp", allowed_lag="1 second")
    windows = rows.group_by("partition").window(ps.tumbling("1 minute")).aggregate("minutes", n=ps.count())
    windows.write_to(ps.sinks.custom(sink), name="sink")
    expected = Counter((part, n // 60) for part, numbers in SECONDS.items() for n in numbers if n < 960)
    running = harness.start(p, harness.folder / "checkpoint", 2)
    harness.wait_for(running, MESSAGES)
    assert wait_until(lambda: not running.active or len(sink.rows) >= len(expected), 60)
    running.stop(60)
    minute = lambda time: int((time.replace(tzinfo=UTC) - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds()) // 60  # noqa: E731
    assert {(row.partition, minute(row.window_start)): row.n for row in sink.rows} == expected


def test_older_messages_that_come_while_a_backlog_is_read_are_read_in_step_too(broker, harness):
    broker.make("older", 3)
    times = {0: range(500, 1000), 1: range(300), 2: range(200, 300)}
    messages = {
        part: [(None, json.dumps({"n": n}), part, START_MS + 1000 * n) for n in numbers] for part, numbers in times.items()
    }
    broker.send("older", messages[0])
    sink = Halted(3)
    metadata = ("partition",)
    built = numbers_of(broker, sink, topic="older", max_rows=50, with_metadata=metadata)
    running = harness.start(built, harness.folder / "checkpoint", 2)
    assert sink.reached.wait(60)
    broker.send("older", [*messages[1], *messages[2]])
    sink.go_on.set()
    harness.wait_for(running, sum(map(len, times.values())))
    running.stop(60)
    epochs = [[row.n for row in rows if row.partition > 0] for _, rows in sorted(sink.epochs.items())]
    late_ones = [numbers for numbers in epochs if numbers]
    assert sorted(n for numbers in late_ones for n in numbers) == sorted([*times[1], *times[2]])
    assert all(max(before) <= min(after) for before, after in pairwise(late_ones))


def test_messages_of_one_millisecond_are_read_in_parts(broker, harness):
    broker.make("moment", 2)
    broker.send("moment", [(None, json.dumps({"n": n}), n % 3 % 2, START_MS) for n in range(300)])
    sink = Collected()
    harness.run(numbers_of(broker, sink, topic="moment", max_rows=50), until=300)
    assert sorted(row.n for row in sink.rows) == list(range(300))
    assert max(map(len, sink.epochs.values())) <= 51
