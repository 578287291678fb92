"""A job made by SQL writes topics of Kafka, which Kafka's own client, Python's json and csv read back."""

import csv
import io
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from pitstop.kit.waiting import wait_until
from tests.brokers.broker import Broker

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

START = datetime(2026, 11, 1, 12, 0, 0, 123456, tzinfo=UTC)
WORDS = ('a "quoted", one', " blanks ", "", "plain", "back\\slash", "plain")
ROWS = [(number, word, START + timedelta(seconds=number)) for number, word in enumerate(WORDS)]
STATEMENTS = """
CREATE MAPPING words (id BIGINT, word VARCHAR, at TIMESTAMP) TYPE CsvTail OPTIONS ('path' = '{folder}');
CREATE MAPPING objects EXTERNAL NAME "words.objects"
    (__key VARCHAR, id BIGINT, word VARCHAR EXTERNAL NAME "the word", at TIMESTAMP)
    TYPE Kafka OPTIONS ('bootstrap.servers' = '{servers}', 'keyFormat' = 'varchar', 'valueFormat' = 'json-flat');
CREATE MAPPING lines (id BIGINT, word VARCHAR, at TIMESTAMP)
    TYPE Kafka OPTIONS ('bootstrap.servers' = '{servers}', 'valueFormat' = 'csv');
CREATE MAPPING texts (this VARCHAR) TYPE Kafka OPTIONS ('bootstrap.servers' = '{servers}', 'valueFormat' = 'varchar');
CREATE MAPPING counts (__key VARCHAR, n BIGINT) TYPE Kafka OPTIONS ('bootstrap.servers' = '{servers}');
CREATE JOB copies AS BEGIN
    INSERT INTO objects (id, __key, word, at) SELECT id, 'k' || CAST(id AS VARCHAR), word, at FROM words;
    INSERT INTO lines SELECT * FROM words;
    INSERT INTO texts SELECT word FROM words WHERE id < 2;
    SINK INTO counts SELECT word, COUNT(*) FROM words GROUP BY word;
END
"""


def test_a_job_in_sql_writes_topics_in_each_format(stack, tmp_path):
    folder, broker = tmp_path / "words", Broker(tmp_path / "kafka")
    folder.mkdir()
    with (folder / "words.csv").open("w") as file:
        quoting = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        quoting.writerows((number, word, at.isoformat()) for number, word, at in ROWS)
    try:
        sizes = {"words.objects": len(ROWS), "lines": len(ROWS), "texts": 2, "counts": len(ROWS)}
        for topic in sizes:
            broker.make(topic)
        client = stack.start_server()
        client.sql(STATEMENTS.format(folder=folder, servers=broker.servers))
        job = client.job("copies")
        wait_until(lambda: {topic: len(broker.messages(topic)) for topic in sizes} == sizes or job.status.terminal, 200)
        assert not job.status.terminal, job.details.failure
        objects = {key: json.loads(value) for key, value, _ in broker.messages("words.objects")}
        assert {key: (row["id"], row["the word"], datetime.fromisoformat(row["at"])) for key, row in objects.items()} == {
            f"k{number}".encode(): (number, word, at) for number, word, at in ROWS
        }
        assert sorted(
            (int(row[0]), row[1], datetime.fromisoformat(row[2]))
            for _, value, _ in broker.messages("lines")
            for row in csv.reader(io.StringIO(value.decode()), strict=True)
        ) == sorted(ROWS)
        assert sorted(value.decode() for _, value, _ in broker.messages("texts")) == sorted(WORDS[:2])
        # The messages of a word keep their order, and the last one has its count.
        last = {key.decode(): json.loads(value) for key, value, _ in broker.messages("counts")}
        assert last == {word: {"n": count} for word, count in Counter(WORDS).items()}
        client.sql("DROP JOB copies")
    finally:
        broker.kill()
