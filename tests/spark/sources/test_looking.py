"""What ``check`` finds at the servers of sources and sinks: a sentence for each, whatever becomes of the others."""

import socket
import time

import pytest

import pitstop as ps
from pitstop.machine import named_secrets
from pitstop.spark.base.looking import LOOK_SECONDS
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.looking import findings
from tests.brokers.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    running = Broker(tmp_path_factory.mktemp("kafka"), user="jobs", password="planted-p")
    yield running
    running.kill()


@pytest.fixture(autouse=True)
def secrets(monkeypatch):
    monkeypatch.setenv("PITSTOP_SECRET_KAFKA", "planted-p")
    monkeypatch.setattr(named_secrets, "_values", {})


@pytest.fixture
def silent():
    """The address of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


SECURITY = {"tls": False, "user": "jobs", "password": "secret:KAFKA"}


def told(spark, *pairs):
    """Return the findings of a pipeline of (source, sink), without the places in the code."""
    p = ps.Pipeline()
    for number, (source, sink) in enumerate(pairs):
        p.read_from(source, name=f"in-{number}").write_to(sink, name=f"out-{number}")
    sentences = findings(spark, p, compile_pipeline(spark, p))
    assert all(" (test_looking.py:" in sentence for sentence in sentences)
    assert "planted" not in str(sentences)
    return [f"{each.partition(' (')[0]}{each.partition(')')[2]}" for each in sentences]


def topic(broker, name, schema="n bigint", security=SECURITY, **more):
    return ps.sources.kafka(broker.servers, name, schema=schema, security=security, **more)


def test_a_topic_is_told_with_its_partitions_its_end_and_its_newest_message_as_a_row(spark, broker):
    broker.make("numbers", 2)
    broker.send_numbers("numbers", range(9))
    broker.make("bad", 1)
    broker.send("bad", [(None, b'{"n": "x"}', 0)])
    broker.make("empty", 3)
    broker.make("copies", 4)
    servers = broker.servers
    out = ps.sinks.kafka(servers, "copies", security=SECURITY)
    sentences = told(
        spark,
        (topic(broker, "numbers", with_metadata=("key", "offset")), out),
        (topic(broker, "bad"), ps.sinks.kafka(servers, "nowhere", security=SECURITY)),
        (topic(broker, "empty"), ps.sinks.noop()),
        (topic(broker, None, topics=("numbers", "later"), schema=None, value="text"), ps.sinks.noop()),
    )
    assert sentences[0].startswith(
        f"Source 'in-0' reads from {servers}: topic 'numbers' has 2 partitions, newest offset 4; the newest message (numbers:"
    )
    # Two partitions have been sent to at one time: either has the newest.
    assert sentences[0].endswith((
        ':0:4) is the row {"n":8,"key":"k3","offset":4}.', ':1:3) is the row {"n":7,"key":"k2","offset":3}.'
    ))  # fmt: skip
    assert sentences[1:6] == [
        f"Sink 'out-0' writes to {servers}: topic 'copies' has 4 partitions.",
        f"Source 'in-1' reads from {servers}: topic 'bad' has 1 partition, newest offset 0; the newest message (bad:0:0) is no "
        """row: n: 'x' is no bigint: {"n": "x"}.""",
        f"Sink 'out-1' writes to {servers}: topic 'nowhere' is not there yet.",
        f"Source 'in-2' reads from {servers}: topic 'empty' has 3 partitions, no messages.",
        sentences[5],
    ]
    assert "topic 'numbers' has 2 partitions, newest offset 4, topic 'later' is not there yet; " in sentences[5]
    assert "nowhere" not in broker.admin.list_topics(timeout=10).topics


def test_what_is_away_or_silent_is_a_sentence_and_keeps_no_other_from_being_told(spark, broker, silent):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        away = f"127.0.0.1:{listener.getsockname()[1]}"
    broker.make("there", 1)
    began = time.monotonic()
    sentences = told(
        spark,
        (ps.sources.kafka(away, "t", value="text"), ps.sinks.kafka(away, "t")),
        (ps.sources.kafka(silent, "t", value="text"), ps.sinks.kafka(silent, "t")),
        (topic(broker, "there"), ps.sinks.postgres(f"postgresql://jobs@{away}/shop", "t")),
        (ps.sources.rate(1), ps.sinks.postgres(f"postgresql://jobs@{silent}/shop", "t")),
    )
    assert sentences[:4] == [
        f"Source 'in-0' cannot read from {away}: no broker answered within {LOOK_SECONDS} s.",
        f"Sink 'out-0' cannot write to {away}: no broker answered within {LOOK_SECONDS} s.",
        f"Source 'in-1' cannot read from {silent}: no broker answered within {LOOK_SECONDS} s.",
        f"Sink 'out-1' cannot write to {silent}: no broker answered within {LOOK_SECONDS} s.",
    ]
    assert sentences[4] == f"Source 'in-2' reads from {broker.servers}: topic 'there' has 1 partition, no messages."
    assert sentences[5].startswith(f"Sink 'out-2' cannot reach the table 't' of {away}/shop: connection ")
    assert sentences[6].startswith(f"Sink 'out-3' cannot reach the table 't' of {silent}/shop: connection timeout")
    assert len(sentences) == 7
    assert time.monotonic() - began < 30
