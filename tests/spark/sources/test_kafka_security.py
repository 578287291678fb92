"""Topics of brokers that ask who comes: read and written by one value ``security=``, whose secrets no text tells."""

import dataclasses
import json

import pytest

import pitstop as ps
from pitstop.errors import PipelineError, UsageError
from pitstop.machine import named_secrets
from pitstop.maps.ports import Fence
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SinkSpec, SourceSpec
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.sinks import EpochContext, write_sink
from pitstop.spark.sinks.kafka import write_kafka
from pitstop.spark.sources import open_batch
from tests.brokers.broker import Broker
from tests.brokers.certificates import make_certificates
from tests.folders import everything_below
from tests.spark.harness import Collected
from tests.spark.sources.test_kafka import KafkaHarness, numbers_of

pytestmark = [pytest.mark.spark, pytest.mark.long]

PASSWORD = 'planted "p\\w", 100% of; it=ü'
"""It has what ends a text in the login configuration of Java, and what means something elsewhere."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def signed_in(tmp_path_factory):
    broker = Broker(tmp_path_factory.mktemp("kafka"), user="jobs", password=PASSWORD)
    yield broker
    broker.kill()


@pytest.fixture(scope="module")
def by_certificate(tmp_path_factory, certificates):
    broker = Broker(tmp_path_factory.mktemp("kafka"), tls=certificates, clients=True)
    yield broker
    broker.kill()


@pytest.fixture(autouse=True)
def secrets(tmp_path, monkeypatch):
    """The folder of secrets."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "KAFKA_PASSWORD").write_text(PASSWORD + "\n")
    monkeypatch.setenv("PITSTOP_SECRETS", str(folder))
    monkeypatch.setattr(named_secrets, "_values", {})
    return folder


@pytest.fixture
def harness(spark, tmp_path):
    return KafkaHarness(spark, tmp_path)


@pytest.fixture
def write(spark, tmp_path):
    def written(broker, topic, numbers, security, epoch=0):
        rows = spark.createDataFrame([(n,) for n in numbers], "n bigint")
        run = Environment("job-1", "job", "l", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None)
        context = EpochContext("job", "s", "l", epoch, "exactly_once", dataclasses.replace(run, fence=Fence("job-1", 1)), "d")
        return write_kafka(ps.sinks.kafka(broker.servers, topic, security=security), rows, context)

    return written


def by_user(mechanism):
    return ps.kafka_security(tls=False, user="jobs", password="secret:KAFKA_PASSWORD", mechanism=mechanism)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_topic_is_written_and_read_by_user_and_password(signed_in, harness, write, mechanism):
    topic, security, sink = f"by-{mechanism}", by_user(mechanism), Collected()
    signed_in.make(topic)
    assert write(signed_in, topic, range(40), security) == 40
    assert write(signed_in, topic, range(40), security) == 0
    assert sorted(json.loads(value)["n"] for _, value, _ in signed_in.messages(topic)) == list(range(40))
    signed_in.send_numbers(topic, range(40, 60))
    harness.run(numbers_of(signed_in, sink, topic=topic, security=security), until=60)
    assert sorted(row.n for row in sink.rows) == list(range(60))


def test_a_table_of_such_a_topic_is_read_whole_and_no_plan_shows_the_password(signed_in, spark, capfd, tmp_path):
    signed_in.make("table")
    signed_in.send_numbers("table", range(30))
    source = ps.sources.kafka(signed_in.servers, "table", schema="n bigint", security=by_user("SCRAM-SHA-512"))
    frame = open_batch(spark, Node(SourceSpec(source), "numbers"), {})
    assert frame.count() == 30
    frame.explain("extended")
    shown = capfd.readouterr().out + str(source) + repr(source)
    assert "planted" not in shown


def test_no_file_of_a_run_holds_the_password(signed_in, harness, tmp_path, secrets):
    signed_in.make("files")
    signed_in.send_numbers("files", range(20))
    harness.run(numbers_of(signed_in, Collected(), topic="files", security=by_user("PLAIN")), until=20)
    files = [path for path in everything_below(tmp_path) if path.is_file() and secrets not in path.parents]
    assert files
    assert [path for path in files if b"planted" in path.read_bytes()] == []


@pytest.mark.parametrize("place", ["files", "secrets"])
def test_a_topic_is_written_and_read_by_certificates(by_certificate, certificates, harness, write, secrets, place):
    if place == "files":
        security = {"ca": str(certificates / "ca.crt"), "key": str(certificates / "client.key")}
        security["certificate"] = str(certificates / "client.crt")
    else:
        for name in ("ca.crt", "client.crt", "client.key"):
            (secrets / name).write_text((certificates / name).read_text())
        security = {"ca": "secret:ca.crt", "certificate": "secret:client.crt", "key": "secret:client.key"}
    topic, sink = f"by-{place}", Collected()
    by_certificate.make(topic)
    assert write(by_certificate, topic, range(10), security) == 10
    harness.run(numbers_of(by_certificate, sink, topic=topic, security=security), until=10)
    assert sorted(row.n for row in sink.rows) == list(range(10))


def test_a_missing_secret_is_told_with_its_stage_before_anything_runs(signed_in, harness, secrets):
    (secrets / "KAFKA_PASSWORD").unlink()
    with pytest.raises(PipelineError) as error:
        harness.run(numbers_of(signed_in, Collected(), topic="closed", security=by_user("PLAIN")), until=1)
    assert str(error.value).startswith("Source 'numbers' (test_kafka.py:")
    assert f"secret 'KAFKA_PASSWORD' is missing: the folder {secrets} has no file KAFKA_PASSWORD" in str(error.value)


def test_a_secret_that_is_missing_in_an_epoch_is_told_with_its_sink_and_ends_the_run(spark, tmp_path, secrets):
    (secrets / "KAFKA_PASSWORD").unlink()
    node = Node(SinkSpec(ps.sinks.kafka("h:1", "t", security=by_user("PLAIN"))), "topic", (), "job.py:7")
    run = Environment("job-1", "job", "l", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None)
    with pytest.raises(UsageError, match=r"^Sink 'topic' \(job.py:7\): secret 'KAFKA_PASSWORD' is missing: ") as error:
        write_sink(node, spark.createDataFrame([(1,)], "n bigint"), 0, run)
    assert not error.value.details.get("restartable")


def test_a_secret_where_none_is_looked_up_is_refused(spark, secrets):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(1), name="rows")
    rows.write_to(ps.sinks.kafka("h:1", "t", value="concat('${secret:KAFKA_PASSWORD}', sequence)"), name="topic")
    with pytest.raises(
        PipelineError, match=r"^Sink 'topic' \(.*\) names secret 'KAFKA_PASSWORD' where secrets are not looked up\.$"
    ):
        compile_job(spark, p, JobConfig(), SourceSettings())
