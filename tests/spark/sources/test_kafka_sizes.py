"""Topics at the ends of what teams have: messages of 10 MB, a thousand partitions, a dozen versions of a schema."""

import json

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.brokers.broker import SECONDS
from tests.brokers.registry import Registry
from tests.spark.harness import Collected, check
from tests.spark.sources.test_kafka import KafkaHarness, numbers_of, read
from tests.spark.sources.test_kafka_avro import framed, record

pytestmark = [pytest.mark.spark, pytest.mark.long]

TEN_MB = 10_000_000


@pytest.fixture
def harness(spark, tmp_path):
    return KafkaHarness(spark, tmp_path)


class PatientHarness(KafkaHarness):
    """Waits longer: an epoch has a task and a consumer for each partition. If each let its broker wait for further messages, as
    Kafka's consumers do by default, two tasks at a time would take more than 250 s."""

    def wait_for(self, running, until):
        assert wait_until(lambda: not running.active or read(running) >= until, 200, step=0.2)
        check(running)


def make_for_large_messages(broker, topic):
    """Make a topic of one partition whose messages may have 12 MB, if they stand alone in a batch."""
    settings = {"max.message.bytes": str(12_000_000)}
    broker.admin.create_topics([NewTopic(topic, 1, 1, config=settings)])[topic].result(SECONDS)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    assert broker.admin.describe_configs([resource])[resource].result(SECONDS)["max.message.bytes"].value == "12000000"


def test_a_message_of_ten_megabytes_is_read_and_written(broker, harness):
    make_for_large_messages(broker, "large-in")
    make_for_large_messages(broker, "large-out")
    producer = Producer({"bootstrap.servers": broker.servers, "message.max.bytes": 12_000_000})
    producer.produce("large-in", "x" * TEN_MB)
    producer.produce("large-in", "small")
    assert producer.flush(SECONDS) == 0
    p = ps.Pipeline()
    texts = p.read_from(ps.sources.kafka(broker.servers, "large-in", value="text"), name="texts")
    sink = ps.sinks.kafka(broker.servers, "large-out", value="value", settings={"message.max.bytes": "12000000"})
    texts.write_to(sink, name="topic")
    harness.run(p, until=2)
    assert sorted(len(value) for _, value, _ in broker.messages("large-out")) == [5, TEN_MB]


@pytest.mark.timeout(600)
def test_a_thousand_partitions_are_read_whole_and_each_once(broker, spark, tmp_path):
    harness = PatientHarness(spark, tmp_path)
    broker.make("wide", 1000)
    broker.send_numbers("wide", range(3000), partitions=1000)
    first, second = Collected(), Collected()
    harness.run(numbers_of(broker, first, topic="wide"), until=3000)
    broker.send_numbers("wide", range(3000, 3100), partitions=1000)
    harness.run(numbers_of(broker, second, topic="wide"), until=3100)
    assert sorted(row.n for row in first.rows) == list(range(3000))
    assert sorted(row.n for row in second.rows) == list(range(3000, 3100))


def test_messages_without_key_or_value_keep_their_places(broker, harness):
    broker.make("nulls", 1)
    broker.send("nulls", [(None, json.dumps({"n": 1}), 0), ("k", None, 0), (None, None, 0), ("k", json.dumps({"n": 2}), 0)])
    sink, letters = Collected(), Collected()
    harness.run(numbers_of(broker, sink, letters, topic="nulls", with_metadata=["key", "offset"]), until=4)
    assert [(row.n, row.key, row.offset) for row in sink.rows] == [(1, None, 0), (2, "k", 3)]
    assert sorted(letter.place for letter in letters.rows) == ["nulls:0:1", "nulls:0:2"]


def test_twelve_versions_of_a_schema_are_read_side_by_side_and_each_is_asked_for_once(broker, harness):
    registry = Registry()
    broker.make("versions", 2)
    messages, numbers = [], []
    for version in range(12):
        fields = [("n", "long"), *((f"f{number}", ["null", "string"]) for number in range(version))]
        number = registry.register("versions-value", record(*fields))
        numbers.append(number)
        for turn in range(5):
            value = {"n": version * 5 + turn} | {f"f{field}": f"v{version}" for field in range(version)}
            messages.append((None, framed(number, record(*fields), value), turn % 2))
    broker.send("versions", messages)
    sink, letters = Collected(), Collected()
    options = {"value": "avro", "schema_registry": registry.url}
    try:
        harness.run(numbers_of(broker, sink, letters, topic="versions", schema="n bigint, f4 string", **options), until=60)
    finally:
        registry.stop()
    assert letters.rows == []
    assert sorted((row.n, row.f4) for row in sink.rows) == [(n, f"v{n // 5}" if n // 5 > 4 else None) for n in range(60)]
    assert [registry.asked_for(number) for number in numbers] == [1] * 12
