"""A changed job goes on from a snapshot: every window once, none missing (jet.md §2.3)."""

from pathlib import Path

import pyspark.cloudpickle
import pytest

import pitstop as ps
from pitstop.errors import IncompatibleError, SnapshotError
from pitstop.model.job import ProcessingGuarantee
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.compile import compile_pipeline
from pitstop.spark.environment import Environment
from pitstop.spark.query import RunningQuery, wait_until
from pitstop.spark.restore import Restore, judge, restore
from tests.spark import sequence
from tests.spark.sequence import SCHEMA, Sequence, expected_windows, millis

pyspark.cloudpickle.register_pickle_by_value(sequence)

ROWS, KEYS = 140_000, 50
TUMBLING = ps.tumbling("10 seconds")
SLIDING = ps.sliding("40 seconds", slide="10 seconds")


class Collected:
    """A sink that keeps what it gets, by epoch, so that an epoch written again replaces itself."""

    def __init__(self):
        self.epochs = {}

    def write(self, rows, info):
        self.epochs[info.epoch] = rows.collect()

    def rows(self):
        return [row for _, rows in sorted(self.epochs.items()) for row in rows]


def pipeline(sinks, windows, filtered=False, aggregates=None):
    p = ps.Pipeline()
    options = {"rows": ROWS, "step": 20_000, "keys": KEYS}
    source = p.read_from(ps.sources.custom(Sequence, schema=SCHEMA, **options), name="numbers")
    if filtered:
        source = source.filter("seq >= 0")
    timed = source.with_timestamps("ts", allowed_lag="2 seconds")
    for name, window in windows.items():
        wanted = aggregates or {"n": ps.count(), "total": ps.sum("v")}
        stage = timed.group_by("key").window(window).aggregate(name, **wanted)
        sinks.setdefault(name, Collected())
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"{name}-out")
    return p


class Harness:
    """Runs versions of a job one after the other in one Spark session."""

    def __init__(self, spark, folder: Path):
        self.spark, self.folder, self.runs = spark, folder, 0

    def environment(self):
        return Environment("id", "job", f"run{self.runs}", ProcessingGuarantee.EXACTLY_ONCE, self.folder, lambda *_: None)

    def start(self, built, checkpoint, partitions):
        self.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        plan = compile_pipeline(self.spark, built)
        facts = {"job_id": "id", "job_name": "job", "lineage": f"run{self.runs}", "plan": plan.to_dict()}
        facts["sources"] = [[slot.stage, slot.reader] for slot in plan.source_slots]
        Checkpoint(checkpoint).write_facts(facts)
        return RunningQuery(self.spark, built, self.environment(), checkpoint, {})

    def until(self, running, epoch):
        assert wait_until(lambda: running.checkpoint.committed() >= epoch or not running.active, 90)
        assert running.failure() is None

    def finish(self, running):
        done = f'"seq": {ROWS}'

        def at_end():
            epoch = running.checkpoint.committed()
            return not running.active or (epoch > 1 and done in str(running.checkpoint.offsets(epoch - 1).offsets))

        assert wait_until(at_end, 120)
        assert running.failure() is None
        running.stop(30)

    def restore(self, name, built, partitions, rewrite=True):
        folder = self.folder / "snapshots" / name
        manifest = manifests.read(folder)
        plan = compile_pipeline(self.spark, built, partitions=partitions)
        report = judge(manifest, plan)
        self.runs += 1
        target = self.folder / f"checkpoint-{self.runs}"
        from pitstop.spark.lower_source import SourceSettings

        chosen = partitions or manifest.partitions
        restore(Restore(self.spark, folder, manifest, built, plan, target, chosen, SourceSettings(), rewrite), report)
        return report, target


@pytest.fixture
def harness(spark, tmp_path):
    return Harness(spark, tmp_path)


def result(rows):
    return [((r.key, millis(r.window_start), millis(r.window_end)), (r.n, r.total)) for r in rows]


def assert_all_once(rows, window):
    got = result(rows)
    until = max(end for (_, _, end), _ in got)
    expected = expected_windows(ROWS, KEYS, window.size_ms, window.slide_ms, until)
    assert len(got) == len({key for key, _ in got})
    assert dict(got) == expected
    assert until >= sequence.START_MS + ROWS - 20_000 - window.slide_ms


def version_one(harness, windows, cancel=True):
    sinks = {}
    checkpoint = harness.folder / "checkpoint-0"
    running = harness.start(pipeline(sinks, windows), checkpoint, 2)
    harness.until(running, 2)
    running.stop(30)
    record = export_checkpoint(Checkpoint(checkpoint), harness.folder, "saved")
    for sink in sinks.values():
        assert max(sink.epochs) == record.epoch
    return sinks


@pytest.mark.spark
@pytest.mark.parametrize("window", [TUMBLING, SLIDING], ids=["tumbling", "sliding"])
@pytest.mark.parametrize(
    ("change", "partitions", "rewrite", "way"),
    [
        ("nothing", None, True, "resume"),
        ("another window beside", 3, True, "rebuild"),
        ("another window beside", 3, False, "rebuild"),
    ],
    ids=["resumed", "rewritten", "fed"],
)
def test_changed_version_gives_every_window_once(harness, window, change, partitions, rewrite, way):
    sinks = version_one(harness, {"speed": window})
    windows = {"speed": window} if change == "nothing" else {"fresh": ps.tumbling("5 seconds"), "speed": window}
    first = sinks.pop("speed")
    second = {"speed": Collected()}
    built = pipeline(second, windows, filtered=True)
    report, checkpoint = harness.restore("saved", built, partitions, rewrite)
    assert report.way == way
    harness.finish(harness.start(built, checkpoint, partitions or 2))
    assert_all_once(first.rows() + second["speed"].rows(), window)
    if "fresh" in second:
        starts = {millis(row.window_start) for row in second["fresh"].rows()}
        assert min(starts) >= sequence.START_MS + 60_000


@pytest.mark.spark
def test_added_aggregate_counts_from_the_snapshot_on_and_others_keep_their_state(harness):
    sinks = version_one(harness, {"speed": TUMBLING})
    second = {"speed": Collected()}
    wanted = {"n": ps.count(), "total": ps.sum("v"), "high": ps.max("seq")}
    built = pipeline(second, {"speed": TUMBLING}, aggregates=wanted)
    report, checkpoint = harness.restore("saved", built, None)
    assert [line.verdict.value for line in report.lines if line.stage == "speed"] == ["converted"]
    harness.finish(harness.start(built, checkpoint, 2))
    assert_all_once(sinks["speed"].rows() + second["speed"].rows(), TUMBLING)


@pytest.mark.spark
def test_changed_key_is_refused_before_anything_starts(harness):
    version_one(harness, {"speed": TUMBLING})
    p = ps.Pipeline()
    source = p.read_from(ps.sources.custom(Sequence, schema=SCHEMA), name="numbers").with_timestamps("ts")
    stage = source.group_by("v").window(TUMBLING).aggregate("speed", n=ps.count(), total=ps.sum("seq"))
    stage.write_to(ps.sinks.noop(), name="out")
    with pytest.raises(IncompatibleError, match=r"stage 'speed' its key was \(key bigint\) and is now \(v bigint\)"):
        harness.restore("saved", p, None)


@pytest.mark.spark
def test_one_flipped_byte_is_found_before_the_job_starts(harness):
    version_one(harness, {"speed": TUMBLING})
    folder = harness.folder / "snapshots" / "saved"
    manifest = manifests.read(folder)
    victim = next(folder / manifests.FILES / f.path for f in manifest.files if f.path.endswith(".changelog"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.unlink()
    victim.write_bytes(bytes(data))
    with pytest.raises(SnapshotError, match="is corrupted: 1 of its files do not match"):
        manifests.verify(folder, manifest, "job")
