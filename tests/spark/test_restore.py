"""A changed job goes on from a snapshot: every window once, none missing."""

import dataclasses
import errno
import functools

import pytest

import pitstop as ps
from pitstop.errors import DropError, EngineError, IncompatibleError, PipelineError, SnapshotError
from pitstop.model.config import StateStore
from pitstop.plan.rules import check_state_store
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.state_stores import STATE_STORES
from pitstop.spark.internals.settings import COUNT_ROWS
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.restoring import feeding
from pitstop.spark.restoring import restore as restoring
from pitstop.spark.restoring.saved_facts import read_facts
from tests.spark import kinds, sequence
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.sequence import expected_windows, millis

ROWS, CUT, STEP, KEYS = 140_000, 60_000, 20_000, 50
TUMBLING = ps.tumbling("10 seconds")
SLIDING = ps.sliding("40 seconds", slide="10 seconds")


def pipeline(sinks, windows, filtered=False, more=None):
    p = ps.Pipeline()
    source = numbers(p, rows=ROWS, step=STEP, keys=KEYS)
    timed = source.filter("seq >= 0") if filtered else source
    for name, window in windows.items():
        wanted = {"n": ps.count(), "total": ps.sum("v")} | (more or {}).get(name, {})
        stage = timed.group_by("key").window(window).aggregate(name, **wanted)
        sinks.setdefault(name, Collected())
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"{name}-out")
    return p


@pytest.fixture
def harness(spark, tmp_path):
    made = Harness(spark, tmp_path)
    yield made
    made.store("rocksdb")


def result(rows):
    return [((r.key, millis(r.window_start), millis(r.window_end)), (r.n, r.total)) for r in rows]


def assert_all_once(rows, window):
    got = result(rows)
    until = max(end for (_, _, end), _ in got)
    expected = expected_windows(ROWS, KEYS, window.size_ms, window.slide_ms, until)
    assert len(got) == len({key for key, _ in got})
    assert dict(got) == expected
    assert until >= sequence.START_MS + ROWS - 20_000 - window.slide_ms


def version_one(harness, windows):
    sinks = {}
    harness.run(pipeline(sinks, windows), until=CUT)
    record = manifests.read(harness.folder / "snapshots" / "saved")
    for sink in sinks.values():
        assert max(sink.epochs) == record.epoch
    return sinks


@pytest.fixture(scope="module")
def ran(spark, tmp_path_factory):
    """Run version 1 with one window, once: (its folder, what it has written)."""

    @functools.cache
    def run(window):
        folder = tmp_path_factory.mktemp("one")
        return folder, version_one(Harness(spark, folder), {"speed": window})["speed"].rows

    return run


@pytest.fixture
def following(spark, tmp_path, ran):
    """A harness after version 1 with a window, and what that has written."""

    def follow(window):
        folder, rows = ran(window)
        return Harness.following(spark, tmp_path, folder), rows

    return follow


@pytest.mark.spark
@pytest.mark.parametrize(
    "window", [TUMBLING, pytest.param(SLIDING, marks=[pytest.mark.long, pytest.mark.deep])], ids=["tumbling", "sliding"]
)
@pytest.mark.parametrize(
    ("change", "partitions", "rewrite", "way"),
    [
        pytest.param("nothing", None, True, "resume", marks=pytest.mark.long),
        pytest.param("another window beside", 3, True, "rebuild", marks=pytest.mark.long),
        ("another window beside", 3, False, "rebuild"),
    ],
    ids=["resumed", "rewritten", "fed"],
)
def test_changed_version_gives_every_window_once(following, window, change, partitions, rewrite, way):
    harness, before = following(window)
    windows = {"speed": window} if change == "nothing" else {"fresh": ps.tumbling("5 seconds"), "speed": window}
    second = {"speed": Collected()}
    built = pipeline(second, windows, filtered=True)
    assert harness.run(built, partitions=partitions, rewrite=rewrite).way == way
    assert_all_once(before + second["speed"].rows, window)
    if "fresh" in second:
        starts = {millis(row.window_start) for row in second["fresh"].rows}
        assert min(starts) >= sequence.START_MS + 60_000


@pytest.mark.long
@pytest.mark.spark
def test_a_rebuilt_checkpoint_tells_when_the_last_saved_epoch_ran(following):
    """Spark removes state whose time to live ended between the epoch before and this one; what ended earlier it never sees."""
    harness, _ = following(TUMBLING)
    folder, target = harness.folder / "snapshots" / "saved", harness.folder / "checkpoint-1"
    ran = Checkpoint(folder / manifests.FILES).offsets(manifests.read(folder).epoch).metadata["batchTimestampMs"]
    harness.restore(pipeline({}, {"fresh": ps.tumbling("5 seconds"), "speed": TUMBLING}), target, None, None, True)
    rebuilt = Checkpoint(target)
    assert harness.report.way == "rebuild"
    assert rebuilt.offsets(rebuilt.committed()).metadata["batchTimestampMs"] == ran


@pytest.mark.spark
def test_a_start_that_would_drop_state_nobody_has_given_up_makes_nothing(following):
    harness, _ = following(TUMBLING)
    target = harness.folder / "checkpoint-1"
    harness.allow_drop = ("numbers",)
    with pytest.raises(DropError) as refused:
        harness.restore(pipeline({}, {"fresh": SLIDING}), target, None, None, True)
    assert str(refused.value) == (
        "The pipeline would drop what snapshot 'saved' has of stage 'speed'. Nothing was started: if that is meant, say "
        "--allow-drop=speed (option allow_drop, in SQL allowDrop); for a stage that only has another name, give "
        "--renamed NEW=OLD."
    )
    assert not target.exists()
    harness.allow_drop = ("speed",)
    harness.restore(pipeline({}, {"fresh": SLIDING}), target, None, None, True)
    assert Checkpoint(target).committed() >= 0


@pytest.mark.long
@pytest.mark.spark
def test_added_aggregate_counts_from_the_snapshot_on_and_others_keep_their_state(following):
    harness, before = following(TUMBLING)
    second = {"speed": Collected()}
    built = pipeline(second, {"speed": TUMBLING}, more={"speed": {"high": ps.max("seq")}})
    report = harness.run(built)
    assert [line.verdict.value for line in report.lines if line.stage == "speed"] == ["converted"]
    assert_all_once(before + second["speed"].rows, TUMBLING)


@pytest.mark.spark
def test_a_restore_that_would_lose_a_row_of_state_ends_before_the_change_over(following, monkeypatch):
    harness, _ = following(TUMBLING)
    built, target = pipeline({}, {"speed": TUMBLING}, more={"speed": {"high": ps.max("seq")}}), harness.folder / "checkpoint-1"

    def without_one_key(*arguments):
        fed = feeding.fed_streams(*arguments)
        return {part: dataclasses.replace(each, stream=each.stream.where("key != 0")) for part, each in fed.items()}

    monkeypatch.setattr(restoring, "fed_streams", without_one_key)
    with pytest.raises(EngineError, match=r"The saved state of stage 'speed' has \d+ rows, and \d+ of them have come into"):
        harness.restore(built, target, None, None, True)
    assert not target.exists()


@pytest.mark.spark
def test_state_goes_in_as_rows_also_where_the_store_is_told_to_count_none(following, spark):
    harness, _ = following(TUMBLING)
    built, target = pipeline({}, {"speed": TUMBLING}, more={"speed": {"high": ps.max("seq")}}), harness.folder / "checkpoint-1"
    spark.conf.set(COUNT_ROWS, "false")
    try:
        harness.restore(built, target, None, None, True)
    finally:
        spark.conf.unset(COUNT_ROWS)
    assert Checkpoint(target).committed() >= 0


@pytest.mark.spark
@pytest.mark.long
def test_two_counts_of_one_stage_keep_an_accumulator_each(harness):
    first, second, counts = {}, {}, {"again": ps.all_of(n=ps.count(), low=ps.min("seq"))}
    harness.run(pipeline(first, {"speed": TUMBLING}, more={"speed": counts}), until=CUT)
    report = harness.run(pipeline(second, {"speed": TUMBLING}, more={"speed": counts | {"high": ps.max("seq")}}))
    assert [line.verdict.value for line in report.lines if line.stage == "speed"] == ["converted"]
    rows = first["speed"].rows + second["speed"].rows
    assert_all_once(rows, TUMBLING)
    assert all(row.again.n == row.n for row in rows)


def prices(sink, **more):
    """A window of sums of decimals, which are all null for the keys that are even."""
    p = ps.Pipeline()
    priced = numbers(p, rows=ROWS, step=STEP, keys=KEYS).with_columns(price="if(key % 2 = 1, cast(v as decimal(10,2)), null)")
    stage = priced.group_by("key").window(TUMBLING).aggregate("prices", n=ps.count(), total=ps.sum("price"), **more)
    stage.write_to(ps.sinks.custom(sink), name="out")
    return p


@pytest.mark.spark
@pytest.mark.parametrize(
    ("first", "more", "verdict"),
    [("rocksdb", {"high": ps.max("seq")}, "converted"), pytest.param("memory", {}, "restored", marks=pytest.mark.long)],
    ids=["an-aggregate-more", "from-memory-to-disk"],
)
@pytest.mark.long
def test_a_sum_of_decimals_that_are_all_null_is_null_also_when_its_state_goes_in_as_rows(harness, first, more, verdict):
    before, later = Collected(), Collected()
    harness.store(first)
    harness.run(prices(before), until=CUT)
    harness.store("rocksdb")
    report = harness.run(prices(later, **more))
    assert [line.verdict.value for line in report.lines if line.stage == "prices"] == [verdict]
    got = result(before.rows + later.rows)
    until = max(end for (_, _, end), _ in got)
    plain = expected_windows(ROWS, KEYS, TUMBLING.size_ms, TUMBLING.slide_ms, until)
    assert len(got) == len(plain)
    assert dict(got) == {window: (n, total if window[0] % 2 else None) for window, (n, total) in plain.items()}


@pytest.mark.spark
@pytest.mark.long
def test_a_sum_becomes_decimal_and_what_a_struct_holds_widens_and_both_go_on(harness):
    def version(sink, total, lowest):
        return pipeline({"speed": sink}, {"speed": TUMBLING}, more={"speed": {"total": ps.sum(total), "lowest": lowest}})

    first, second = Collected(), Collected()
    harness.run(version(first, "v", ps.min_by("seq", "v")), until=CUT)
    report = harness.run(version(second, "cast(v as decimal(38,0))", ps.min_by("cast(seq as decimal(38,0))", "v")))
    assert "lowest, total widens" in report.text()
    rows = first.rows + second.rows
    assert_all_once(rows, TUMBLING)
    lowest = {}
    for seq, key, v, ms in sequence.events(ROWS, KEYS):
        window = (key, ms // 10_000 * 10_000)
        lowest[window] = min(lowest.get(window, (v, seq)), (v, seq))
    windows = [(row.key, millis(row.window_start)) for row in rows]
    assert [row.lowest for row in rows] == [lowest[window][1] for window in windows]


@pytest.mark.spark
def test_the_end_of_the_last_saved_frame_is_read_from_the_state_for_windows_of_another_slide(following):
    """The watermark lags behind the last event, whose frame is taken over, too."""
    harness, _ = following(TUMBLING)
    folder = harness.folder / "snapshots" / "saved"
    manifest = manifests.read(folder)
    last = max(ms for _, _, _, ms in sequence.events(CUT, KEYS)) // 10_000 * 10_000 + 10_000
    plan = compile_pipeline(harness.spark, pipeline({}, {"speed": ps.tumbling("5 seconds")}))
    assert read_facts(harness.spark, folder, manifest, plan, {}) == {"speed": {"last_frame_ms": last}}
    assert manifest.watermark_ms < last


@pytest.mark.spark
def test_changed_key_is_refused_before_anything_starts(following):
    harness, _ = following(TUMBLING)
    p = ps.Pipeline()
    stage = numbers(p).group_by("v").window(TUMBLING).aggregate("speed", n=ps.count(), total=ps.sum("seq"))
    stage.write_to(ps.sinks.noop(), name="out")
    with pytest.raises(IncompatibleError, match=r"stage 'speed' its key was \(key bigint\) and is now \(v bigint\)"):
        harness.run(p)


@pytest.mark.spark
def test_one_flipped_byte_is_found_before_the_job_starts(following):
    harness, _ = following(TUMBLING)
    folder = harness.folder / "snapshots" / "saved"
    manifest = manifests.read(folder)
    victim = next(folder / manifests.FILES / f.path for f in manifest.files if f.path.endswith(".changelog"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.unlink()
    victim.write_bytes(bytes(data))
    with pytest.raises(SnapshotError, match="is corrupted: 1 of its files does not match"):
        manifests.verify(folder, manifest, "job")


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.deep
@pytest.mark.parametrize(("first", "second"), [("memory", "memory"), ("memory", "rocksdb"), ("rocksdb", "memory")])
def test_state_goes_on_from_one_store_to_another(harness, first, second):
    harness.store(first)
    sinks = version_one(harness, {"speed": TUMBLING, "trend": SLIDING})
    record = manifests.read(harness.folder / "snapshots" / "saved")
    assert ("HDFS" in record.provider) == (first == "memory")
    harness.store(second)
    later = {}
    built = pipeline(later, {"fresh": ps.tumbling("5 seconds"), "speed": TUMBLING, "trend": SLIDING})
    assert harness.run(built).way == "rebuild"
    for name, window in (("speed", TUMBLING), ("trend", SLIDING)):
        assert_all_once(sinks[name].rows + later[name].rows, window)
    assert ("HDFS" in manifests.read(harness.folder / "snapshots" / "saved").provider) == (second == "memory")


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("store", STATE_STORES)
def test_state_of_as_many_partitions_goes_on_in_its_own_files_beside_state_that_is_converted(harness, store):
    harness.store(store)
    first = version_one(harness, {"speed": TUMBLING, "trend": SLIDING})
    saved = {path.stat().st_ino for path in (harness.folder / "snapshots" / "saved" / manifests.FILES / "state").rglob("*.*")}
    second, windows = {}, {"speed": TUMBLING, "fresh": ps.tumbling("5 seconds"), "trend": SLIDING}
    built = pipeline(second, windows, more={"speed": {"high": ps.max("seq")}})
    rebuilt = harness.folder / "checkpoint-1"
    # What a restore that was cut off has left is in nobody's way.
    (harness.folder / "checkpoint-1.building.rows" / "source_0").mkdir(parents=True)
    harness.run(built)
    verdicts = {line.stage: line.verdict.value for line in harness.report.lines}
    assert (verdicts["speed"], verdicts["trend"], verdicts["fresh"]) == ("converted", "restored", "new")
    assert saved & {path.stat().st_ino for path in (rebuilt / "state").rglob("*.*")}
    for name, window in (("speed", TUMBLING), ("trend", SLIDING)):
        assert_all_once(first[name].rows + second[name].rows, window)


@pytest.mark.long
@pytest.mark.spark
def test_a_restore_that_fails_leaves_nothing_of_what_it_has_made(following, monkeypatch):
    harness, _ = following(TUMBLING)
    before = sorted(path.name for path in harness.folder.iterdir())

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(restoring, "take_over_offsets", full)
    with pytest.raises(OSError, match="No space left"):
        harness.run(pipeline({}, {"speed": TUMBLING, "fresh": TUMBLING}), partitions=3, rewrite=False)
    assert sorted(path.name for path in harness.folder.iterdir()) == before


def test_what_restores_that_were_killed_have_left_is_removed_and_nothing_else(tmp_path):
    left = ["checkpoint-L1.building", "checkpoint-L1.building.rows", "checkpoint-L2.reading"]
    kept = ["checkpoint-L1", "checkpoint-L1.early.0", "work"]
    for name in (*left, *kept):
        (tmp_path / name / "state").mkdir(parents=True)
    restoring.remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


@pytest.mark.spark
def test_state_that_could_not_move_from_memory_is_refused_there(spark):
    p = ps.Pipeline()
    numbers(p).group_by("key").distinct("seen").write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match="Stage 'seen' has distinct, whose state a changed version could not take over"):
        check_state_store(compile_pipeline(spark, p), StateStore.MEMORY)


@pytest.mark.long
def test_file_sources_go_on_where_they_were_when_another_one_is_read_first(spark, tmp_path):
    def built(first):
        job = kinds.Job(tmp_path / "events")
        for name in ("numbers", "others") if first else ("others", "numbers"):
            job.to(job.source(name).group_by("seq").distinct(f"{name} by seq"), f"{name} by seq")
            if name == "numbers":
                job.to(job.source(name).group_by("key", "seq").distinct("numbers by key"), "numbers by key")
        return job

    harness, versions = kinds.FileHarness(spark, tmp_path), [built(True), built(False)]
    for version, files in zip(versions, (2, 4), strict=True):
        kinds.write_files(tmp_path / "events", files - 2, files)
        harness.run(version.pipeline, until=files)
    for name in versions[0].sinks:
        assert sorted(row.seq for version in versions for row in version.sinks[name].rows) == list(range(4 * kinds.STEP))


def test_no_setting_of_one_state_store_is_left_over_for_a_job_with_the_other():
    assert len({frozenset(settings) for settings in STATE_STORES.values()}) == 1
