"""Sources as values: what users say of them, and what is refused before anything is read."""

from datetime import UTC, datetime

import pytest

import pitstop as ps
from pitstop.errors import UsageError


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "give topic, topics or pattern"),
        ({"topic": "a", "pattern": "b.*"}, "give topic, topics or pattern"),
        ({"topic": "a b"}, "'a b' is not a topic name"),
        ({"topic": "a,b"}, "'a,b' is not a topic name"),
        ({"topic": "a", "value": "orc"}, "json, csv, avro, protobuf, debezium, text or bytes, not 'orc'"),
        ({"topic": "a", "schema": None}, "Values of json need a schema"),
        ({"topic": "a", "value": "text"}, "Values of text have no schema"),
        ({"topic": "a", "on_loss": "skip"}, "on_loss is fail, wait or continue, not 'skip'"),
        ({"topic": "a", "isolation": "none"}, "isolation is read_committed or read_uncommitted"),
        ({"topic": "a", "max_rows": 0}, "max_rows is at least 1"),
        ({"topic": "a", "with_metadata": ["size"]}, "Messages of Kafka have no size. There are: key, topic"),
        ({"topic": "a", "start": "yesterday"}, "start is earliest, latest, a time .* not 'yesterday'"),
        ({"topic": "a", "settings": {"group.id": "g"}}, "group.id is Pitstop's own"),
    ],
)
def test_what_cannot_be_read_from_kafka_is_told_when_it_is_written(wrong, message):
    with pytest.raises(UsageError, match=message):
        ps.sources.kafka("localhost:9092", **({"schema": "n bigint"} | wrong))


@pytest.mark.parametrize(
    ("start", "option"),
    [
        ("latest", "latest"),
        ("2026-11-01T00:00", "1793491200000"),
        ("2026-11-01T01:00+01:00", "1793491200000"),
        (datetime(2026, 11, 1, tzinfo=UTC), "1793491200000"),
        ({"orders": {0: 17, 1: 5}}, '{"orders": {"0": 17, "1": 5}}'),
    ],
)
def test_a_start_is_a_place_a_time_or_offsets(start, option):
    assert ps.sources.kafka("h:1", "orders", schema="n int", start=start).options["start"] == option


def test_the_digest_of_a_source_without_metadata_is_that_of_earlier_releases():
    assert ps.sources.rate(5, 7).digest == "9ad08cd1d22fa25c"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"path": "gs://bucket/t"}, "gs://bucket/t"),
        ({"start": "soon"}, "start is earliest, latest, a version or a time .* not 'soon'"),
        ({"start": -1}, "start is earliest, latest, a version or a time .* not -1"),
        ({"start": True}, "start is earliest, latest, a version or a time .* not True"),
        ({"on_rewrite": "wait"}, "on_rewrite is fail or skip, not 'wait'"),
        ({"on_loss": "wait"}, "on_loss is fail or continue, not 'wait'"),
        ({"changes": True, "on_rewrite": "skip"}, "leave out on_rewrite, or changes"),
        ({"max_files": 0}, "max_files and max_bytes are at least 1"),
    ],
)
def test_what_cannot_be_read_from_a_delta_table_is_told_when_it_is_written(wrong, message):
    with pytest.raises(UsageError, match=message):
        ps.sources.delta(**({"path": "/data/t"} | wrong))


@pytest.mark.parametrize(
    ("start", "option"),
    [
        ("earliest", "earliest"),
        (0, "version:0"),
        (17, "version:17"),
        ("2026-11-01T01:00+01:00", "time:1793491200000"),
        (datetime(2026, 11, 1, tzinfo=UTC), "time:1793491200000"),
    ],
)
def test_the_start_of_a_delta_table_is_a_word_a_version_or_a_time(start, option):
    assert ps.sources.delta("/data/t", start=start).options["start"] == option


def test_options_of_spark_are_texts_as_spark_writes_them():
    source = ps.sources.spark("csv", "n int", header=True, maxFilesPerTrigger=1, path="/in", jars=["/lib/a.jar"])
    assert source.options == {
        "format": "csv",
        "options": '{"header": "true", "maxFilesPerTrigger": "1", "path": "/in"}',
        "jars": '["/lib/a.jar"]',
    }
    sink = ps.sinks.spark("jdbc", batchsize=10, truncate=False)
    assert (sink.options, sink.mode, sink.describe()) == ((("batchsize", "10"), ("truncate", "false")), "append", "spark, jdbc")
