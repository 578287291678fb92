"""Topics of Kafka as sinks, on a real broker: a reader of committed messages finds each row once."""

import dataclasses
import json

import pytest
from confluent_kafka import Producer

import pitstop as ps
from pitstop.errors import EngineError, UsageError
from pitstop.kit.waiting import wait_until
from pitstop.maps.ports import Fence
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.sinks import EpochContext
from pitstop.spark.sinks.kafka import TASKS, write_kafka

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture
def write(broker, spark, tmp_path):
    """Write numbers as an epoch of a run, as the engine does."""

    def written(topic, numbers, epoch=0, lineage="l", token=1, digest="d", known_as=(), **sink):
        rows = spark.createDataFrame([(n, f"k{n % 5}", n * 0.5) for n in numbers], "n bigint, key string, half double")
        run = Environment("job-1", "job", lineage, ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None)
        run = dataclasses.replace(run, fence=Fence("job-1", token), known_as=known_as)
        context = EpochContext("job", "sink", lineage, epoch, "exactly_once", run, digest)
        return write_kafka(ps.sinks.kafka(broker.servers, topic, **({"key": "key"} | sink)), rows, context)

    return written


def numbers_in(broker, topic):
    return sorted(json.loads(value)["n"] for _, value, _ in broker.messages(topic))


def test_rows_are_messages_with_key_value_and_headers(broker, write):
    broker.make("forms")
    assert write("forms", range(3), value="half", headers={"n": "n", "word": "key"}) == 3
    assert sorted(broker.messages("forms")) == [
        (b"k0", b"0.0", {"n": b"0", "word": b"k0"}),
        (b"k1", b"0.5", {"n": b"1", "word": b"k1"}),
        (b"k2", b"1.0", {"n": b"2", "word": b"k2"}),
    ]


def test_without_a_value_a_message_is_a_json_object_and_a_null_value_is_a_tombstone(broker, write):
    broker.make("objects", 1)
    write("objects", [1], epoch=0)
    write("objects", [2], epoch=1, value="cast(null as string)")
    assert [(key, value) for key, value, _ in broker.messages("objects")] == [
        (b"k1", b'{"n":1,"key":"k1","half":0.5}'),
        (b"k2", None),
    ]


def test_an_epoch_that_is_written_again_adds_nothing_also_under_an_earlier_name(broker, write):
    broker.make("again")
    assert write("again", range(40)) == 40
    assert write("again", range(40)) == 0
    assert write("again", range(40), epoch=7, lineage="next", known_as=(("l", 0),), token=2) == 0
    assert write("again", range(40, 50), epoch=8, lineage="next", token=2) == 10
    assert numbers_in(broker, "again") == list(range(50))


def test_another_epoch_of_the_same_number_is_refused(broker, write):
    broker.make("other")
    write("other", range(40))
    with pytest.raises(EngineError, match="Sink 'sink': topic 'other' has another epoch 0 of this job"):
        write("other", range(100, 140), digest="other")
    assert numbers_in(broker, "other") == list(range(40))


def test_a_run_that_has_lost_its_job_writes_nothing(broker, write):
    broker.make("lost")
    write("lost", range(40), token=2)
    with pytest.raises(EngineError, match="another run of the job has taken over"):
        write("lost", range(40, 80), epoch=1, lineage="older", token=1)
    assert numbers_in(broker, "lost") == list(range(40))


def test_what_a_task_that_was_killed_left_open_is_undone(broker, write):
    broker.make("open")
    for task in range(TASKS):
        killed = Producer({"bootstrap.servers": broker.servers, "transactional.id": f"pitstop.job-1.sink.{task}"})
        killed.init_transactions(30)
        killed.begin_transaction()
        killed.produce("open", json.dumps({"n": 1000 + task}), f"k{task}")
        killed.flush(30)
    write("open", range(40))
    assert wait_until(lambda: numbers_in(broker, "open") == list(range(40)), 30)


def test_an_epoch_without_rows_writes_nothing(broker, write):
    broker.make("empty")
    assert write("empty", []) == 0
    assert broker.messages("empty") == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"topic": "a b"}, "is not a topic name"), ({"settings": {"transactional.id": "x"}}, "transactional.id is Pitstop's own")],
)
def test_what_cannot_be_a_sink_is_told_when_it_is_written(wrong, message):
    with pytest.raises(UsageError, match=message):
        ps.sinks.kafka(**({"servers": "h:1", "topic": "t"} | wrong))
