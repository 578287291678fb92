"""Topics of Kafka on a real broker: every message once, whatever becomes of topics, partitions, brokers and versions."""

import json
import threading
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SourceSpec
from pitstop.spark.sources import open_batch
from pitstop.spark.sources.shared import behind_of
from pitstop.sql.compiling import compile_query
from pitstop.sql.parsing import parse
from tests.brokers.broker import Broker
from tests.spark.harness import Collected, Harness, check

pytestmark = [pytest.mark.spark, pytest.mark.long]


class KafkaHarness(Harness):
    """Runs versions of a job until its topics are read to the offsets that add up to ``until``."""

    def wait_for(self, running, until):
        assert wait_until(lambda: not running.active or read(running) >= until, 60, step=0.05)
        check(running)


def read(running):
    """Return how many messages the committed epochs have read, of topics that begin at offset 0."""
    epoch = running.checkpoint.committed()
    if epoch < 0:
        return -1
    return sum(
        sum(at.values()) for offset in running.checkpoint.offsets(epoch).offsets for at in json.loads(offset)["at"].values()
    )


@pytest.fixture
def harness(spark, tmp_path):
    return KafkaHarness(spark, tmp_path)


def numbers_of(broker, sink, letters=None, schema="n bigint", **options):
    p = ps.Pipeline()
    kept = ps.sinks.custom(letters) if letters is not None else None
    rows = p.read_from(ps.sources.kafka(broker.servers, schema=schema, **options), name="numbers", dead_letters=kept)
    rows.write_to(ps.sinks.custom(sink), name="sink")
    return p


def test_each_message_is_read_once_over_versions_with_its_place(broker, harness):
    broker.make("places")
    broker.send_numbers("places", range(100))
    first, second = Collected(), Collected()
    metadata = {"key": "key", "topic": "topic", "partition": "part", "offset": "place"}
    harness.run(numbers_of(broker, first, topic="places", with_metadata=metadata), until=100)
    broker.send_numbers("places", range(100, 150))
    harness.run(numbers_of(broker, second, topic="places", with_metadata=metadata), until=150)
    rows = first.rows + second.rows
    assert sorted(row.n for row in rows) == list(range(150))
    assert all((row.key, row.topic, row.part, row.place) == (f"k{row.n % 5}", "places", row.n % 2, row.n // 2) for row in rows)


def test_what_does_not_parse_is_a_dead_letter_with_its_place_and_reason(broker, harness):
    broker.make("letters", 1)
    values = [b'{"n": 1}', None, b"", b'{"n": 2}{"n": 3}', b'{"n": "x"}', b"\xff\xfe", b'[{"n": 4}]', b' {"n": 5} \n', b"null"]
    broker.send("letters", [(None, value, 0) for value in values])
    sink, letters = Collected(), Collected()
    harness.run(numbers_of(broker, sink, letters, topic="letters"), until=len(values))
    assert sorted(row.n for row in sink.rows) == [1, 5]
    reasons = {row.place: (row.text, row.error) for row in letters.rows}
    assert reasons == {
        "letters:0:1": (None, "The value is null, a tombstone."),
        "letters:0:2": ("", "The value is empty."),
        "letters:0:3": ('{"n": 2}{"n": 3}', "The value is not a single JSON object."),
        "letters:0:4": ('{"n": "x"}', "n: 'x' is no bigint."),
        "letters:0:5": ("base64://4=", "The value is not UTF-8."),
        "letters:0:6": ('[{"n": 4}]', 'This is no JSON object: [{"n": 4}]'),
        "letters:0:8": ("null", "This is no JSON object: null"),
    }


def test_of_transactions_only_what_is_committed_is_read(broker, harness):
    broker.make("transactions")
    broker.send_numbers("transactions", range(0, 10), transaction="t1")
    broker.send_numbers("transactions", range(10, 20), transaction="t1", commit=False)
    broker.send_numbers("transactions", range(20, 30))
    sink = Collected()
    harness.run(numbers_of(broker, sink, topic="transactions"), until=30)
    assert sorted(row.n for row in sink.rows) == [*range(0, 10), *range(20, 30)]


def test_a_topic_that_was_made_anew_while_the_job_stood_still_fails_or_is_read_from_its_beginning(broker, harness):
    broker.make("anew", 1)
    broker.send_numbers("anew", range(10), partitions=1)
    first, refused, second = Collected(), Collected(), Collected()
    harness.run(numbers_of(broker, first, topic="anew"), until=10)
    broker.delete("anew")
    broker.make("anew", 1)
    broker.send_numbers("anew", range(100, 130), partitions=1)
    with pytest.raises(Exception, match=r"topic 'anew' was deleted and made anew .* after offset 10 of partition 0, is gone"):
        harness.run(numbers_of(broker, refused, topic="anew"), until=30)
    assert refused.rows == []
    harness.run(numbers_of(broker, second, topic="anew", on_loss="continue"), until=30)
    assert [row.n for row in second.rows] == list(range(100, 130))


class Broken(Collected):
    """A sink that fails while it is broken, from the number 10 on."""

    broken = True

    def write(self, rows, info):
        if self.broken and any(row.n >= 10 for row in rows.collect()):
            raise RuntimeError("the sink is broken")
        super().write(rows, info)


def test_an_epoch_that_was_cut_off_is_not_read_again_from_a_topic_that_was_made_anew(broker, harness):
    broker.make("cut-off", 1)
    broker.send_numbers("cut-off", range(10), partitions=1)
    sink, checkpoint = Broken(), harness.folder / "checkpoint"
    running = harness.start(numbers_of(broker, sink, topic="cut-off"), checkpoint, 2)
    harness.wait_for(running, 10)
    broker.send_numbers("cut-off", range(10, 20), partitions=1)
    assert wait_until(lambda: not running.active, 60)
    broker.delete("cut-off")
    broker.make("cut-off", 1)
    broker.send_numbers("cut-off", range(100, 130), partitions=1)
    sink.broken = False
    gone = "the messages 10 to 19 of partition 0 of topic 'cut-off', which the epoch that was cut off is to read again"
    with pytest.raises(Exception, match=gone):
        harness.wait_for(harness.start(numbers_of(broker, sink, topic="cut-off"), checkpoint, 2), 30)
    again = harness.start(numbers_of(broker, sink, topic="cut-off", on_loss="continue"), checkpoint, 2)
    harness.wait_for(again, 30)
    again.stop(60)
    assert [row.n for row in sink.rows] == [*range(10), *range(100, 130)]


def test_both_branches_of_a_topic_that_is_joined_with_itself_read_the_same(broker, harness):
    broker.make("twice", 1)
    broker.send_numbers("twice", range(50), partitions=1)
    sink = Collected()
    p = ps.Pipeline()
    source = ps.sources.kafka(broker.servers, "twice", schema="n bigint", max_rows=7, with_metadata=("timestamp",))
    rows = p.read_from(source, name="numbers").with_timestamps("timestamp")
    rows.select("n", "'a' branch").merge(rows.select("n", "'b' branch")).write_to(ps.sinks.custom(sink), name="sink")
    harness.run(p, until=2 * 50)  # each branch has a reader of its own
    assert sorted((row.n, row.branch) for row in sink.rows) == [(n, branch) for n in range(50) for branch in "ab"]


def test_settings_that_are_wrong_fail_the_job_and_are_not_waited_for(broker, harness):
    broker.make("secret", 1)
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "NONSENSE"}
    with pytest.raises(Exception, match=r"Source 'numbers' cannot read from .* Could not find a 'KafkaClient' entry"):
        harness.wait_for(
            harness.start(numbers_of(broker, Collected(), topic="secret", settings=settings), harness.folder / "checkpoint", 2), 1
        )


def test_a_topic_of_texts_is_queried_by_this_and_key(broker, harness):
    broker.make("texts", 1)
    broker.send("texts", [("a", "one", 0), (None, "two", 0)])
    options = f"('bootstrap.servers' = '{broker.servers}', 'keyFormat' = 'varchar', 'valueFormat' = 'varchar')"
    (mapping,) = parse(f"CREATE MAPPING texts (__key VARCHAR, this VARCHAR) TYPE Kafka OPTIONS {options}")
    (query,) = parse("SELECT this, __key FROM texts")
    p, relation = compile_query(query, {"texts": mapping.mapping})
    sink = Collected()
    relation.stage.write_to(ps.sinks.custom(sink), name="sink")
    harness.run(p, until=2)
    assert [(row.this, row["__key"]) for row in sink.rows] == [("one", "a"), ("two", None)]


def test_messages_that_a_topic_has_dropped_are_counted_and_fail_the_job_or_are_left_out(broker, harness):
    broker.make("aged", 1)
    broker.send_numbers("aged", range(10), partitions=1)
    first, second = Collected(), Collected()
    harness.run(numbers_of(broker, first, topic="aged"), until=10)
    broker.send_numbers("aged", range(10, 40), partitions=1)
    broker.drop_before("aged", 0, 25)
    lost = "15 messages of partition 0 of topic 'aged' are gone, from offset 10 to 24"
    with pytest.raises(Exception, match=lost):
        harness.run(numbers_of(broker, Collected(), topic="aged"), until=40)
    harness.run(numbers_of(broker, second, topic="aged", on_loss="continue"), until=40)
    assert [row.n for row in second.rows] == list(range(25, 40))


def test_partitions_and_topics_that_come_later_are_read_from_their_beginning(broker, harness):
    broker.make("wide-a", 1)
    broker.send_numbers("wide-a", range(10), partitions=1)
    sink = Collected()
    built = numbers_of(broker, sink, pattern="wide-.*")
    running = harness.start(built, harness.folder / "checkpoint", 2)
    harness.wait_for(running, 10)
    broker.widen("wide-a", 3)
    broker.make("wide-b", 1)
    broker.send_numbers("wide-a", range(10, 40), partitions=3)
    broker.send_numbers("wide-b", range(100, 110), partitions=1)
    harness.wait_for(running, 50)
    running.stop(60)
    assert sorted(row.n for row in sink.rows) == [*range(40), *range(100, 110)]


def test_a_broker_that_is_away_is_waited_for_without_a_restart(tmp_path_factory, harness):
    own = Broker(tmp_path_factory.mktemp("own"))
    try:
        own.make("away")
        own.send_numbers("away", range(10))
        sink = Collected()
        running = harness.start(numbers_of(own, sink, topic="away"), harness.folder / "checkpoint", 2)
        harness.wait_for(running, 10)
        own.kill()
        own.start()
        own.send_numbers("away", range(10, 20))
        harness.wait_for(running, 20)
        running.stop(60)
        assert sorted(row.n for row in sink.rows) == list(range(20))
    finally:
        own.kill()


def test_an_epoch_reads_no_more_than_its_share_and_what_is_behind_is_told(broker, harness):
    broker.make("shares")
    broker.send_numbers("shares", range(100))
    sink = Collected()
    harness.run(numbers_of(broker, sink, topic="shares", max_rows=10), until=100)
    assert max(len(rows) for rows in sink.epochs.values()) <= 10
    assert sorted(row.n for row in sink.rows) == list(range(100))


def test_a_start_at_offsets_and_at_the_newest_is_decided_once(broker, harness, spark, tmp_path):
    broker.make("starts", 1)
    broker.send_numbers("starts", range(10), partitions=1)
    sink, newest = Collected(), Collected()
    harness.run(numbers_of(broker, sink, topic="starts", start={"starts": {0: 7}}), until=10)
    assert [row.n for row in sink.rows] == [7, 8, 9]
    other = KafkaHarness(spark, tmp_path / "other")
    running = other.start(numbers_of(broker, newest, topic="starts", start="latest"), other.folder / "checkpoint", 2)
    other.wait_for(running, 10)
    broker.send_numbers("starts", range(10, 15), partitions=1)
    other.wait_for(running, 15)
    running.stop(60)
    assert [row.n for row in newest.rows] == list(range(10, 15))


def test_a_batch_reads_all_that_is_there(broker, spark):
    broker.make("whole")
    broker.send_numbers("whole", range(30))
    node = Node(SourceSpec(ps.sources.kafka(broker.servers, "whole", value="text")), "whole", (), "here")
    assert sorted(json.loads(row.value)["n"] for row in open_batch(spark, node, {}).collect()) == list(range(30))


class Halted(Collected):
    """A sink that keeps the epoch of a number from ending before it is let go."""

    def __init__(self, number):
        super().__init__()
        self.number, self.reached, self.go_on = number, threading.Event(), threading.Event()

    def write(self, rows, info):
        super().write(rows, info)
        if info.epoch == self.number:
            self.reached.set()
            assert self.go_on.wait(60)


def lag_of(harness, source="numbers"):
    return behind_of(Path(harness.settings.agreements)).get(source)


def test_the_lag_is_what_was_sent_and_not_read_of_each_partition(broker, harness):
    sent = {0: 600, 1: 300, 2: 100}
    broker.make("skewed", 3)
    broker.send("skewed", [(None, '{"n": 1}', number) for number, count in sent.items() for _ in range(count)])
    sink = Halted(3)
    running = harness.start(numbers_of(broker, sink, topic="skewed", max_rows=100), harness.folder / "checkpoint", 2)
    assert sink.reached.wait(60)
    lag = lag_of(harness)
    (planned,) = running.checkpoint.offsets(running.checkpoint.planned()).offsets
    read_of = {int(number): offset for number, offset in json.loads(planned)["at"]["skewed"].items()}
    assert sum(read_of.values()) == len(sink.rows) < sum(sent.values())
    assert lag.parts == {f"skewed:{number}": count - read_of[number] for number, count in sent.items()}
    assert (lag.amount, lag.unit, lag.parts_in_all) == (1000 - len(sink.rows), "messages", 3)
    sink.go_on.set()
    harness.wait_for(running, 1000)
    assert wait_until(lambda: lag_of(harness).amount == 0, 60)
    running.stop(60)
    assert set(lag_of(harness).parts.values()) == {0}


def test_what_a_partition_that_is_waited_with_has_is_lag_and_not_none(broker, harness):
    broker.make("aged-lag", 1)
    broker.send_numbers("aged-lag", range(10), partitions=1)
    built, folder = numbers_of(broker, Collected(), topic="aged-lag", on_loss="wait"), harness.folder / "checkpoint"
    running = harness.start(built, folder, 2)
    harness.wait_for(running, 10)
    running.stop(60)
    broker.send_numbers("aged-lag", range(10, 30), partitions=1)
    broker.drop_before("aged-lag", 0, 15)
    running = harness.start(built, folder, 2)
    assert wait_until(lambda: lag_of(harness).amount == 20, 60), "of which five are gone, for which it waits"
    running.stop(60)


def test_a_group_gets_the_offsets_of_committed_epochs_and_what_it_cannot_get_fails_nothing(broker, harness):
    broker.make("grouped", 3)
    sent = {0: 30, 1: 10, 2: 0}
    broker.send("grouped", [(None, '{"n": 1}', number) for number, count in sent.items() for _ in range(count)])
    built = numbers_of(broker, Collected(), topic="grouped", group="orders-dashboard")
    running = harness.start(built, harness.folder / "checkpoint", 2)
    harness.wait_for(running, 40)

    def known():
        try:
            return broker.committed("orders-dashboard", "grouped", 3)
        except KafkaException:  # this broker knows no group before its first offsets
            return None

    assert wait_until(lambda: known() == [30, 10, 0], 30)
    sink = Halted(running.checkpoint.planned() + 1)
    running.stop(60)
    # An epoch that is not committed yet is none of the group's.
    broker.send("grouped", [(None, '{"n": 1}', 2)] * 5)
    running = harness.start(numbers_of(broker, sink, topic="grouped", group="orders-dashboard"), harness.folder / "checkpoint", 2)
    assert sink.reached.wait(60)
    assert broker.committed("orders-dashboard", "grouped", 3) == [30, 10, 0]
    sink.go_on.set()
    harness.wait_for(running, 45)
    assert wait_until(lambda: broker.committed("orders-dashboard", "grouped", 3) == [30, 10, 5], 30)
    running.stop(60)
    # Kafka lets nobody else commit for a group that has members: the job goes on all the same.
    with broker.member_of("orders-dashboard", "grouped"):
        broker.send("grouped", [(None, '{"n": 1}', 2)] * 7)
        again = Collected()
        running = harness.start(
            numbers_of(broker, again, topic="grouped", group="orders-dashboard"), harness.folder / "checkpoint", 2
        )
        harness.wait_for(running, 52)
        running.stop(60)
        assert broker.committed("orders-dashboard", "grouped", 3) == [30, 10, 5]
    assert len(again.rows) == 7


def test_messages_of_a_transaction_that_is_open_are_no_lag_before_it_ends(broker, harness):
    broker.make("open", 1)
    broker.send_numbers("open", range(10), partitions=1)
    with broker.transaction("open-1") as producer:
        for _ in range(5):
            producer.produce("open", '{"n": 0}', partition=0)
        producer.flush(30)
        sink = Halted(1)
        running = harness.start(numbers_of(broker, sink, topic="open", max_rows=4), harness.folder / "checkpoint", 2)
        assert sink.reached.wait(60)
        assert lag_of(harness).amount == 10 - len(sink.rows)
        sink.go_on.set()
        harness.wait_for(running, 10)
    running.stop(60)
