"""Places in topics other than the saved one: by time, by word and by offsets, and saved places that mean nothing any more."""

import json
import time
from datetime import UTC, datetime

import pytest

import pitstop as ps
from pitstop.errors import DropError, EngineError, UsageError
from pitstop.model.config import JobConfig
from pitstop.model.option_values import ALL_STAGES
from pitstop.model.report import Verdict
from pitstop.plan.diff import compare
from pitstop.snapshots import manifest as manifests
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.restoring.restore import judge
from pitstop.spark.restoring.source_places import fates_at
from tests.brokers.broker import Broker
from tests.spark.harness import Collected
from tests.spark.sources.test_kafka import KafkaHarness, numbers_of

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    running = Broker(tmp_path_factory.mktemp("kafka"), cluster="first")
    yield running
    running.kill()


@pytest.fixture
def harness(spark, tmp_path):
    return KafkaHarness(spark, tmp_path)


def counted_of(broker, sink, totals, topic, **options):
    """Return a pipeline that writes numbers as they come, and their running sum by key."""
    p = ps.Pipeline()
    rows = p.read_from(
        ps.sources.kafka(broker.servers, topic, schema="n bigint", with_metadata=("key", "partition", "offset"), **options),
        name="numbers",
    )
    rows.write_to(ps.sinks.custom(sink), name="sink")
    rows.group_by("key").rolling_aggregate("counted", seen=ps.count()).write_to(ps.sinks.custom(totals), name="totals")
    return p


def report_of(spark, harness, built, allow_drop=(ALL_STAGES,), **seek):
    """Return the report of ``check`` beside the harness's last snapshot."""
    folder = harness.folder / "snapshots" / "saved"
    plan, manifest = compile_pipeline(spark, built), manifests.read(folder)
    fates = fates_at(spark, folder, built, plan, JobConfig(seek=seek))
    return compare(manifest.plan, plan.to_dict(), manifest.partitions, allow_drop=allow_drop, fates=fates)


def line_of(report, stage="numbers"):
    (line,) = (line for line in report.lines if line.stage == stage)
    return line


def test_a_source_is_put_to_a_time_and_reads_again_what_came_since_then(broker, harness, spark):
    broker.make("times", 3)
    sent = [(f"k{n % 2}", n, n % 3) for n in range(90)]

    def send(part):
        broker.send("times", [(key, json.dumps({"n": n}), partition) for key, n, partition in part])

    send(sent[:60])
    time.sleep(0.05)
    moment = datetime.now(UTC)
    time.sleep(0.05)
    send(sent[60:])
    first, second, totals = Collected(), Collected(), Collected()
    harness.run(counted_of(broker, first, Collected(), "times"), until=2 * 90)  # each branch has a reader of its own
    harness.seek = {"numbers": moment.isoformat()}
    built = counted_of(broker, second, totals, "times")
    report = report_of(spark, harness, built, (), **harness.seek)
    changes = ", ".join(f"times:{partition} at 20 instead of 30" for partition in range(3))
    detail = (
        f"source, is put to {moment.isoformat()}: 0 messages are skipped, 30 are read again ({changes}); stage 'counted' has "
        "saved state already: what that holds of these rows is counted twice"
    )
    line = line_of(report)
    assert (line.verdict, line.detail, line.rule) == (Verdict.DROPPED, detail, "C32")
    assert report.needs_allow_drop == ("numbers",)
    assert report.drops == "source 'numbers'"
    broker.send("times", [("k0", '{"n": 90}', 0)])
    run_report = harness.run(built, until=2 * 91)
    assert line_of(run_report) == line
    assert sorted(row.n for row in second.rows) == [*(n for _, n, _ in sent[60:]), 90]
    # The state stays: the sums go on from those of all 90 messages.
    expected = {key: sum(1 for other, _, _ in [*sent, *sent[60:], ("k0", 90, 0)] if other == key) for key in ("k0", "k1")}
    assert {key: max(row.seen for row in totals.rows if row.key == key) for key in expected} == expected


def test_a_source_is_put_to_offsets_of_some_partitions_and_the_others_stay(broker, harness, spark):
    broker.make("offsets", 2)
    broker.send_numbers("offsets", range(100))
    sink, second = Collected(), Collected()
    harness.run(numbers_of(broker, sink, topic="offsets"), until=100)
    broker.send_numbers("offsets", range(100, 160))
    harness.seek = {"numbers": "offsets:0=70,offsets:1=10"}
    built = numbers_of(broker, second, topic="offsets", with_metadata=("partition", "offset"))
    line = line_of(report_of(spark, harness, built, **harness.seek))
    changes = "offsets:0 at 70 instead of 50, offsets:1 at 10 instead of 50"
    assert f"20 messages are skipped, 40 are read again ({changes})" in line.detail
    harness.run(built, until=160)
    sent = {(n % 2, n // 2): n for n in range(160)}
    assert sorted((row.partition, row.offset, row.n) for row in second.rows) == sorted(
        (*place, n) for place, n in sent.items() if place[1] >= {0: 70, 1: 10}[place[0]]
    )


@pytest.mark.parametrize(("word", "expected"), [("earliest", range(40)), ("latest", range(40, 45))])
def test_a_source_is_put_to_the_oldest_or_the_newest_message(broker, harness, word, expected):
    topic = f"words-{word}"
    broker.make(topic, 1)
    broker.send_numbers(topic, range(20), partitions=1)
    second = Collected()
    harness.run(numbers_of(broker, Collected(), topic=topic), until=20)
    broker.send_numbers(topic, range(20, 40), partitions=1)
    harness.seek = {"numbers": word}
    built = numbers_of(broker, second, topic=topic)
    checkpoint = harness.folder / "checkpoint-1"
    harness.restore(built, checkpoint, None, None, True)
    (line,) = harness.report.lines
    skipped, again = {"earliest": (0, 20), "latest": (20, 0)}[word]
    assert f"{skipped} messages are skipped, {again} are read again" in line.detail
    broker.send_numbers(topic, range(40, 45), partitions=1)
    running = harness.start(built, checkpoint, 2)
    harness.wait_for(running, 45)
    running.stop(60)
    assert [row.n for row in second.rows] == [n for n in [*range(40), *range(40, 45)] if n in expected or n >= 40]


def test_a_place_that_there_is_not_and_a_drop_without_leave_are_refused_before_anything_starts(broker, harness, spark, tmp_path):
    broker.make("none", 1)
    broker.send_numbers("none", range(10), partitions=1)
    built = numbers_of(broker, Collected(), topic="none")
    harness.run(built, until=10)
    for place, message in {
        "yesterday": r"cannot be put to yesterday: a place is earliest, latest, a time such as .*, or offsets such as",
        "none:0=11": r"cannot be put to none:0=11: none:0 has the offsets 0 to 10\.",
        "none:1=0": r"there is no partition none:1\.",
        '{"none": 5}': r"a place is earliest, latest, a time",
    }.items():
        with pytest.raises(UsageError, match=message):
            report_of(spark, harness, built, numbers=place)
    with pytest.raises(UsageError, match=r"The new version has no source 'others' that could be put to another place \(seek\)"):
        report_of(spark, harness, built, others="earliest")
    manifest, plan = manifests.read(harness.folder / "snapshots" / "saved"), compile_pipeline(spark, built)
    fates = fates_at(spark, harness.folder / "snapshots" / "saved", built, plan, JobConfig(seek={"numbers": "earliest"}))
    with pytest.raises(DropError, match=r"source 'numbers'\. Nothing was started: .* --allow-drop=numbers"):
        judge(manifest, plan, fates=fates)
    away = Broker(tmp_path / "away")
    away.kill()
    with pytest.raises(EngineError, match=r"Source 'numbers' .* no broker of .* answered within 10 s"):
        report_of(spark, harness, numbers_of(away, Collected(), topic="none"), numbers="earliest")


def test_a_source_of_a_kind_that_knows_no_other_places_says_so(spark, harness, tmp_path):
    (tmp_path / "lines").mkdir()
    p = ps.Pipeline()
    source = ps.sources.rate(10)
    p.read_from(source, name="ticks").write_to(ps.sinks.custom(Collected()), name="sink")
    checkpoint = harness.start(p, harness.folder / "checkpoint", 2)
    try:
        assert_committed(checkpoint)
    finally:
        checkpoint.stop(60)
    plan = compile_pipeline(spark, p)
    kind = r"Source 'ticks' \(.*\) is of kind rate, which goes on only from its saved place: leave it out of seek\."
    with pytest.raises(UsageError, match=kind):
        fates_at(spark, harness.folder / "checkpoint", p, plan, JobConfig(seek={"ticks": "earliest"}))


def assert_committed(running):
    from pitstop.kit.waiting import wait_until

    assert wait_until(lambda: running.checkpoint.committed() >= 1, 60)


def test_a_saved_place_of_another_cluster_is_refused_and_can_be_left_by_a_seek(broker, harness, spark, tmp_path):
    other = Broker(tmp_path / "other", cluster="second")
    try:
        for each, numbers in ((broker, range(10)), (other, range(100, 130))):
            each.make("moved", 1)
            each.send_numbers("moved", numbers, partitions=1)
        harness.run(numbers_of(broker, Collected(), topic="moved"), until=10)
        sink, third = Collected(), Collected()
        built = numbers_of(other, sink, topic="moved")
        line = line_of(report_of(spark, harness, built))
        assert (line.verdict, line.rule) == (Verdict.REFUSED, "C03")
        assert f"has a saved place in cluster {broker.cluster}, but {other.servers} is cluster {other.cluster}" in line.detail
        # A run that nobody has checked notices it, too, before it reads anything, whatever becomes of the loss.
        with pytest.raises(Exception, match=f"of another cluster .its id was {broker.cluster} and is {other.cluster}"):
            harness.run(built, until=30)
        assert sink.rows == []
        harness.seek = {"numbers": "moved:0=20"}
        line = line_of(report_of(spark, harness, numbers_of(other, third, topic="moved"), **harness.seek))
        assert line.detail.startswith(
            f"source, is put to moved:0=20 of cluster {other.cluster}, while its saved place is in cluster {broker.cluster}: "
            "0 messages are skipped"
        )
        harness.run(numbers_of(other, third, topic="moved"), until=30)
        assert [row.n for row in third.rows] == list(range(120, 130))
    finally:
        other.kill()


def test_new_topics_of_another_cluster_are_not_read_before_somebody_allows_it(broker, harness, tmp_path):
    other = Broker(tmp_path / "other", cluster="second")
    try:
        broker.make("east-1", 1)
        broker.send_numbers("east-1", range(10), partitions=1)
        other.make("east-2", 1)
        other.send_numbers("east-2", range(100, 130), partitions=1)
        harness.run(numbers_of(broker, Collected(), pattern="east-.*"), until=10)
        sink = Collected()
        with pytest.raises(
            Exception, match=f"'east-2' is of cluster {other.cluster}, and what was read is of cluster {broker.cluster}"
        ):
            harness.run(numbers_of(other, sink, pattern="east-.*"), until=40)
        assert sink.rows == []
    finally:
        other.kill()


def test_with_continue_another_cluster_is_read_from_its_beginning_and_never_from_offsets_of_the_first(broker, harness, tmp_path):
    other = Broker(tmp_path / "other", cluster="second")
    try:
        for each, numbers in ((broker, range(10)), (other, range(100, 130))):
            each.make("again", 1)
            each.send_numbers("again", numbers, partitions=1)
        harness.run(numbers_of(broker, Collected(), topic="again"), until=10)
        sink = Collected()
        harness.run(numbers_of(other, sink, topic="again", on_loss="continue"), until=30)
        assert [row.n for row in sink.rows] == list(range(100, 130))
    finally:
        other.kill()


def test_check_tells_topics_that_are_others_new_or_read_no_further(broker, harness, spark):
    for name in ("was-a", "was-b", "will-c"):
        broker.make(name, 1)
        broker.send_numbers(name, range(5), partitions=1)
    harness.run(numbers_of(broker, Collected(), topics=["was-a", "was-b"]), until=10)
    changed = numbers_of(broker, Collected(), topics=["was-a", "will-c", "later-d"])
    assert line_of(report_of(spark, harness, changed)).detail == (
        "source, goes on from the saved offset, topic 'will-c' is new, and read from the beginning; topic 'was-b' is no "
        "longer read; the job waits for topic 'later-d', which is not there yet"
    )
    broker.delete("was-a")
    broker.make("was-a", 1)
    line = line_of(report_of(spark, harness, changed))
    assert line.verdict is Verdict.REFUSED
    assert "has a saved place in topic 'was-a', which was deleted and created again since" in line.detail
    line = line_of(report_of(spark, harness, numbers_of(broker, Collected(), topics=["was-a", "was-b"], on_loss="continue")))
    assert line.verdict is Verdict.RESTORED
    assert line.detail.endswith("topic 'was-a' was deleted and created again since (on_loss=continue)")
