"""The compatibility rules C01 to C30 (jet.md §2.3), each as one test: version 1 runs on Spark and leaves a snapshot, version
2 starts from it, and all output of both is compared with what plain Python makes of the same events.

Version 1 is run once, with a stage of every kind; each rule changes what it is about.
"""

import shutil
from collections import defaultdict
from types import SimpleNamespace

import pytest

import pitstop as ps
from pitstop.errors import IncompatibleError, SnapshotError, UsageError
from pitstop.plan.diff import Verdict
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.compile import compile_pipeline
from pitstop.spark.restore import judge
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.reference import BURST, KEYS, PAUSE, happened, plain_windows, reframed_windows, sessions_of
from tests.spark.sequence import expected_sessions, millis

pytestmark = [pytest.mark.spark, pytest.mark.rules]

ROWS, CUT, STEP = 77_000, 44_000, 11_000
"""All events; those that version 1 reads; those of an epoch. The cut is in the middle of a burst."""
TUMBLING, SLIDING = (10_000, 10_000), (40_000, 10_000)
ALL, BEFORE, AFTER = happened(0, ROWS), happened(0, CUT), happened(CUT, ROWS)


class Job:
    """A pipeline in the making, and what its sinks have got."""

    def __init__(self):
        self.pipeline, self.sinks = ps.Pipeline(), {}
        self._source = None

    def source(self, name="numbers", step=STEP):
        return numbers(self.pipeline, name, rows=ROWS, step=step, keys=KEYS, burst=BURST, pause=PAUSE)

    @property
    def numbers(self):
        self._source = self._source or self.source()
        return self._source

    def to(self, stage, name):
        self.sinks[name] = Collected()
        stage.write_to(ps.sinks.custom(self.sinks[name]), name=f"{name}-out")

    def rows(self, name):
        return self.sinks[name].rows


WANTED = {"n": ps.count(), "total": ps.sum("v")}


def window(job, name, size=TUMBLING, stage=None, early=None, **aggregates):
    made = ps.tumbling(size[0] / 1000) if size[0] == size[1] else ps.sliding(size[0] / 1000, size[1] / 1000)
    grouped = (stage or job.numbers).group_by("key").window(made)
    grouped = grouped.early_results(early) if early is not None else grouped
    job.to(grouped.aggregate(name, **(aggregates or WANTED)), name)


def session(job, name="visits", timeout=3):
    job.to(job.numbers.group_by("key").window(ps.session(timeout)).aggregate(name, **WANTED), name)


def count_rows(state, row):
    state.n = (state.n or 0) + 1
    return None if row.seq % 1000 else (row.seq, state.n)


def tell(state, key, time):
    return (-time, state.n)


def mapped(job, name="mapped", state="n bigint", ttl=None, evict=None, function=count_rows):
    stage = job.numbers.group_by("key").map_stateful(name, function, state, "seq bigint, n bigint", ttl=ttl, on_evict=evict)
    job.to(stage, name)


@pytest.fixture(scope="module")
def one(spark, tmp_path_factory):
    """Version 1, its sinks, and the folder of its snapshot."""
    folder = tmp_path_factory.mktemp("one")
    job = Job()
    window(job, "speed")
    window(job, "trend", SLIDING)
    window(job, "best", low=ps.min_by("seq", "v"), n=ps.count())
    session(job)
    mapped(job)
    mapped(job, "visitors", ttl=3, evict=tell)
    job.to(job.numbers.group_by("key").rolling_aggregate("rolling", n=ps.count()).filter("seq % 100 = 0"), "rolling")
    job.to(job.source("more").filter("seq % 1000 = 0"), "more")
    harness = Harness(spark, folder)
    harness.run(job.pipeline, until=CUT)
    checkpoint = Checkpoint(folder / "checkpoint-0")
    watermark = checkpoint.offsets(checkpoint.committed()).metadata["batchWatermarkMs"]
    return SimpleNamespace(job=job, folder=folder, watermark=watermark)


@pytest.fixture
def harness(spark, tmp_path, one):
    shutil.copytree(one.folder / "snapshots", tmp_path / "snapshots")
    made = Harness(spark, tmp_path)
    made.runs = 1
    return made


def verdicts(report):
    return {line.stage: (line.verdict, line.rule) for line in report.lines}


def got_windows(rows):
    found = {(r.key, millis(r.window_start), millis(r.window_end)): (r.n, r.total) for r in rows}
    assert len(found) == len(rows), "a window came twice"
    return found


def last_end(rows):
    return max(millis(row.window_end) for row in rows)


def assert_complete(one, job, name, size=TUMBLING):
    """The windows of both versions are just those of all events."""
    rows = one.job.rows(name) + job.rows(name)
    assert last_end(job.rows(name)) > one.watermark
    assert got_windows(rows) == plain_windows(ALL, *size, last_end(rows))


def refused(harness, one, job, rule, **options):
    """The new version is refused before anything is made of it; the report says by which rule."""
    with pytest.raises(IncompatibleError) as caught:
        harness.run(job.pipeline, **options)
    assert f"[{rule}]" in str(caught.value)
    assert not (harness.folder / f"checkpoint-{harness.runs}").exists()
    return str(caught.value)


@pytest.mark.tried_on("tumbling")
def test_c01_an_added_stateful_stage_starts_empty(harness, one):
    job = Job()
    window(job, "fresh", (5_000, 5_000))
    window(job, "speed")
    report = harness.run(job.pipeline)
    assert verdicts(report)["fresh"] == (Verdict.NEW, "C01")
    assert_complete(one, job, "speed")
    assert got_windows(job.rows("fresh")) == plain_windows(AFTER, 5_000, 5_000, last_end(job.rows("fresh")))


@pytest.mark.tried_on("sliding")
def test_c02_state_of_a_removed_stage_is_ignored_and_told(harness, one):
    job = Job()
    window(job, "trend", SLIDING)
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == (Verdict.DROPPED, "C02")
    assert sum(line.stage == "speed" for line in report.lines) == 1
    assert_complete(one, job, "trend", SLIDING)


@pytest.mark.tried_on("tumbling, map_stateful")
def test_c03_the_same_stage_goes_on(harness, one):
    job = Job()
    window(job, "speed")
    mapped(job)
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == verdicts(report)["mapped"] == (Verdict.RESTORED, "C03")
    assert_complete(one, job, "speed")
    counts, expected = defaultdict(int), {}
    for seq, key, _, _ in ALL:
        counts[key] += 1
        if seq % 1000 == 0:
            expected[seq] = (key, counts[key])
    assert {row.seq: (row.key, row.n) for row in one.job.rows("mapped") + job.rows("mapped")} == expected


@pytest.mark.tried_on("source")
def test_c04_an_added_source_begins_at_its_own_start_and_the_old_one_where_it_was(harness, one):
    job = Job()
    job.to(job.source("late"), "late")
    job.to(job.numbers, "old")
    report = harness.run(job.pipeline)
    assert verdicts(report)["late"] == (Verdict.NEW, "C04")
    assert sorted(row.seq for row in job.rows("late")) == list(range(ROWS))
    assert sorted(row.seq for row in job.rows("old")) == list(range(CUT, ROWS))


@pytest.mark.tried_on("source, tumbling")
def test_c05_the_offset_of_a_removed_source_is_ignored(harness, one):
    job = Job()
    window(job, "speed")
    report = harness.run(job.pipeline)
    assert verdicts(report)["more"] == (Verdict.DROPPED, "C05")
    assert_complete(one, job, "speed")


@pytest.mark.tried_on("sink, tumbling")
def test_c06_an_added_sink_gets_only_what_comes_after_the_snapshot(harness, one):
    job = Job()
    window(job, "speed")
    job.to(job.numbers, "added")
    harness.run(job.pipeline)
    assert sorted(row.seq for row in job.rows("added")) == list(range(CUT, ROWS))
    assert_complete(one, job, "speed")


@pytest.mark.tried_on("sliding")
def test_c07_a_longer_window_beside_the_old_one_starts_empty_and_the_old_one_is_complete(harness, one):
    job = Job()
    window(job, "trend", SLIDING)
    window(job, "longer", (60_000, 20_000))
    harness.run(job.pipeline)
    assert_complete(one, job, "trend", SLIDING)
    assert got_windows(job.rows("longer")) == plain_windows(AFTER, 60_000, 20_000, last_end(job.rows("longer")))


@pytest.mark.tried_on("tumbling")
def test_c08_a_changed_stateless_stage_works_on_what_comes_after_the_snapshot(harness, one):
    job = Job()
    window(job, "speed", stage=job.numbers.filter("v < 5"))
    harness.run(job.pipeline)
    rows = one.job.rows("speed") + job.rows("speed")
    few = [event for event in AFTER if event[2] < 5]
    assert got_windows(rows) == plain_windows(BEFORE + few, *TUMBLING, last_end(rows))


@pytest.mark.tried_on("tumbling")
def test_c08_columns_that_a_later_stage_does_not_read_stay_in_the_state(harness, one):
    first, job = Job(), Job()
    stage = first.numbers.group_by("key").window(ps.tumbling("10 seconds")).aggregate("speed", **WANTED)
    first.to(stage.select("key", "window_start", "window_end", "n"), "speed")
    harness.run(first.pipeline, until=CUT + STEP)
    window(job, "speed")
    harness.run(job.pipeline)
    expected = plain_windows(ALL, *TUMBLING, last_end(job.rows("speed")))
    got = got_windows(job.rows("speed"))
    assert got
    assert got == {window: values for window, values in expected.items() if window in got}
    assert len(one.job.rows("speed")) + len(first.rows("speed")) + len(got) == len(expected)


@pytest.mark.tried_on("branch, tumbling")
def test_c09_an_added_branch_sees_what_comes_after_the_snapshot(harness, one):
    job = Job()
    stage = job.numbers.filter("v >= 0")
    window(job, "speed", stage=stage)
    job.to(stage.filter("seq % 2 = 0"), "branch")
    harness.run(job.pipeline)
    assert sorted(row.seq for row in job.rows("branch")) == list(range(CUT, ROWS, 2))
    assert_complete(one, job, "speed")


@pytest.mark.tried_on("source")
def test_c10_other_parameters_of_a_source_keep_its_offset(harness, one):
    job = Job()
    job.to(job.source("numbers", step=7_000), "rows")
    harness.run(job.pipeline)
    assert sorted(row.seq for row in job.rows("rows")) == list(range(CUT, ROWS))


@pytest.mark.tried_on("tumbling, sliding")
def test_c11_early_results_come_and_final_ones_stay_the_same(harness, one):
    job = Job()
    window(job, "speed", early="1 ms")
    window(job, "trend", SLIDING, early="1 ms")
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == (Verdict.RESTORED, "C03")
    for name, size in (("speed", TUMBLING), ("trend", SLIDING)):
        final = [row for row in job.rows(name) if not row.is_early]
        rows = one.job.rows(name) + final
        assert got_windows(rows) == plain_windows(ALL, *size, last_end(rows))
        early = [row for row in job.rows(name) if row.is_early]
        expected = plain_windows(ALL, *size, float("inf"))
        assert early
        for row in early:
            whole = expected[(row.key, millis(row.window_start), millis(row.window_end))]
            assert 0 < row.n <= whole[0]
        assert any((row.n, row.total) == expected[(row.key, millis(row.window_start), millis(row.window_end))] for row in early)


@pytest.mark.tried_on("session")
def test_c12_open_sessions_go_on_under_another_timeout(harness, one):
    job = Job()
    session(job, timeout=5)
    report = harness.run(job.pipeline)
    assert verdicts(report)["visits"] == (Verdict.RESTORED, "C12")
    rows = one.job.rows("visits") + job.rows("visits")
    got = [(r.key, millis(r.window_start), millis(r.window_end), r.n, r.total) for r in rows]
    closed = max(end for _, _, end, _, _ in got)
    expected = sessions_of(ALL, lambda seq: 3000 if seq < CUT else 5000)
    assert sorted(got) == sorted(session for session in expected if session[2] <= closed)


@pytest.mark.tried_on("sliding")
@pytest.mark.parametrize("size", [20_000, 60_000], ids=["smaller", "larger"])
def test_c13_another_size_keeps_the_frames(harness, one, size):
    job = Job()
    window(job, "trend", (size, 10_000))
    report = harness.run(job.pipeline)
    assert verdicts(report)["trend"] == (Verdict.CONVERTED, "C13")
    until = last_end(job.rows("trend"))
    expected = reframed_windows(BEFORE, AFTER, SLIDING, (size, 10_000), one.watermark, until)
    assert got_windows(job.rows("trend")) == expected
    whole = {w: v for w, v in plain_windows(ALL, size, 10_000, until).items() if w[2] > one.watermark + size}
    assert whole.items() <= expected.items()


@pytest.mark.tried_on("tumbling, sliding")
@pytest.mark.parametrize(("name", "old", "new"), [("speed", TUMBLING, (15_000, 15_000)), ("trend", SLIDING, (40_000, 20_000))])
def test_c14_frames_of_another_length_count_where_they_end(harness, one, name, old, new):
    job = Job()
    window(job, name, new)
    report = harness.run(job.pipeline)
    assert verdicts(report)[name] == (Verdict.CONVERTED, "C14")
    until = last_end(job.rows(name))
    assert got_windows(job.rows(name)) == reframed_windows(BEFORE, AFTER, old, new, one.watermark, until)


@pytest.mark.tried_on("map_stateful with ttl")
def test_c15_another_time_to_live_counts_from_the_last_event(harness, one):
    job = Job()
    mapped(job, "visitors", ttl=5, evict=tell)
    report = harness.run(job.pipeline)
    assert verdicts(report)["visitors"] == (Verdict.CONVERTED, "C15")
    got = sorted((row.key, -row.seq, row.n) for row in job.rows("visitors") if row.seq < 0)
    evicted = {(row.key, -row.seq) for row in one.job.rows("visitors") if row.seq < 0}
    ended = [(key, end + 2000, n) for key, _, end, n, _ in expected_sessions(ALL, 3000) if (key, end) not in evicted]
    expected = sorted(ended)
    closed = max(at for _, at, _ in got)
    assert got == [item for item in expected if item[1] <= closed]


@pytest.mark.tried_on("min_by")
def test_c16_other_parameters_of_an_aggregate_keep_its_accumulator(harness, one):
    job = Job()
    window(job, "best", low=ps.min_by("seq", "9 - v"), n=ps.count())
    report = harness.run(job.pipeline)
    assert verdicts(report)["best"] == (Verdict.RESTORED, "C03")
    until, ranked = last_end(job.rows("best")), defaultdict(list)
    for seq, key, v, ms in ALL:
        ranked[(key, ms - ms % 10_000)].append((v if seq < CUT else 9 - v, seq))
    got = {(row.key, millis(row.window_start)): (row.low, row.n) for row in job.rows("best")}
    assert got == {
        window: (min(own)[1], len(own)) for window, own in ranked.items() if one.watermark < window[1] + 10_000 <= until
    }


@pytest.mark.tried_on("count, sum, max")
def test_c17_another_aggregate_of_the_same_accumulator_keeps_the_history(harness, one):
    job = Job()
    window(job, "speed", n=ps.sum("v"), total=ps.count())
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == (Verdict.RESTORED, "C03")
    swapped = [(seq, key, v, ms) for seq, key, v, ms in AFTER]
    until = last_end(job.rows("speed"))
    before, after = plain_windows(BEFORE, *TUMBLING, until), plain_windows(swapped, *TUMBLING, until)
    expected = {}
    for key in before.keys() | after.keys():
        (n, total), (more, more_total) = before.get(key, (0, 0)), after.get(key, (0, 0))
        expected[key] = (n + more_total, total + more)
    assert got_windows(job.rows("speed")) == {w: v for w, v in expected.items() if w[2] > one.watermark}


@pytest.mark.tried_on("count, sum, max")
def test_c17_aggregates_come_and_go_beside_those_that_keep_their_state(harness, one):
    job = Job()
    window(job, "speed", total=ps.sum("v"), high=ps.max("seq"), n=ps.count())
    report = harness.run(job.pipeline)
    assert verdicts(report)["speed"] == (Verdict.CONVERTED, "C17")
    assert_complete(one, job, "speed")
    assert min(row.high for row in job.rows("speed") if row.high is not None) >= CUT


@pytest.mark.tried_on("filter")
def test_c18_a_stateless_stage_may_be_renamed(harness, one):
    job = Job()
    window(job, "speed", stage=job.numbers.filter("true", name="another-name"))
    harness.run(job.pipeline)
    assert_complete(one, job, "speed")


@pytest.mark.tried_on("sliding, session")
def test_c19_a_sliding_window_does_not_become_a_session(harness, one):
    job = Job()
    session(job, "trend")
    assert "was a window and is now a session window: give it another name" in refused(harness, one, job, "C19")


@pytest.mark.tried_on("count, max")
def test_c20_another_accumulator_is_refused(harness, one):
    job = Job()
    window(job, "speed", n=ps.max("v"), total=ps.sum("v"))
    assert "aggregate 'n' kept sum of bigint and now keeps max of bigint" in refused(harness, one, job, "C20")


@pytest.mark.tried_on("tumbling")
def test_c21_a_renamed_stage_is_refused_unless_its_old_name_is_told(harness, one):
    job = Job()
    window(job, "velocity")
    assert "looks renamed to 'velocity'" in refused(harness, one, job, "C21")
    with pytest.raises(UsageError, match="no stage or source 'sped'"):
        harness.run(job.pipeline, renamed={"velocity": "sped"})
    report = harness.run(job.pipeline, renamed={"velocity": "speed"})
    assert verdicts(report)["velocity"] == (Verdict.RESTORED, "C03")
    rows = one.job.rows("speed") + job.rows("velocity")
    assert got_windows(rows) == plain_windows(ALL, *TUMBLING, last_end(rows))


@pytest.mark.tried_on("snapshot")
def test_c22_a_missing_or_damaged_snapshot_is_told(harness, one):
    folder = harness.folder / "snapshots" / "saved"
    manifest = manifests.read(folder)
    victim = next(folder / manifests.FILES / file.path for file in manifest.files if file.path.endswith(".changelog"))
    victim.write_bytes(victim.read_bytes()[:-1] + b"?")
    with pytest.raises(SnapshotError, match=r"State for job in snapshot \"saved\" is corrupted"):
        manifests.verify(folder, manifest, "job")
    with pytest.raises(SnapshotError, match="doesn't exist or is damaged"):
        manifests.read(harness.folder / "snapshots" / "none")


@pytest.mark.tried_on("tumbling, sliding, session: 2, 1, 7, 2 partitions")
def test_c23_another_number_of_partitions_gives_the_same(harness, one):
    job = None
    earlier = {name: list(one.job.rows(name)) for name in ("speed", "trend", "visits")}
    for partitions, until in ((1, CUT + STEP), (7, CUT + 2 * STEP), (2, None)):
        job = Job()
        window(job, "speed")
        window(job, "trend", SLIDING)
        session(job)
        harness.run(job.pipeline, until=until, partitions=partitions)
        for name, rows in earlier.items():
            rows += job.rows(name)
    for name, size in (("speed", TUMBLING), ("trend", SLIDING)):
        assert got_windows(earlier[name]) == plain_windows(ALL, *size, last_end(earlier[name]))
    got = [(r.key, millis(r.window_start), millis(r.window_end), r.n, r.total) for r in earlier["visits"]]
    closed = max(end for _, _, end, _, _ in got)
    assert sorted(got) == sorted(s for s in expected_sessions(ALL, 3000) if s[2] <= closed)


@pytest.mark.tried_on("files, map")
def test_c24_a_sink_of_another_kind_needs_another_name(harness, one, tmp_path):
    first, job = Job(), Job()
    first.numbers.write_to(ps.sinks.files(tmp_path / "out"), name="kept")
    harness.run(first.pipeline, until=CUT + STEP)
    job.numbers.write_to(ps.sinks.map("kept", key="seq"), name="kept")
    assert "was a sink files and is now a sink map" in refused(harness, one, job, "C24")


@pytest.mark.tried_on("tumbling")
def test_c25_another_key_is_refused(harness, one):
    job = Job()
    stage = job.numbers.group_by("v").window(ps.tumbling("10 seconds")).aggregate("speed", n=ps.count(), total=ps.sum("key"))
    job.to(stage, "speed")
    assert "its key was (key bigint) and is now (v bigint)" in refused(harness, one, job, "C25")


@pytest.mark.tried_on("tumbling, sliding")
@pytest.mark.parametrize(("name", "old", "new"), [("speed", TUMBLING, SLIDING), ("trend", SLIDING, TUMBLING)])
def test_c26_tumbling_becomes_sliding_and_back(harness, one, name, old, new):
    job = Job()
    window(job, name, new)
    report = harness.run(job.pipeline)
    assert verdicts(report)[name] == (Verdict.CONVERTED, "C26")
    until = last_end(job.rows(name))
    assert got_windows(job.rows(name)) == reframed_windows(BEFORE, AFTER, old, new, one.watermark, until)


@pytest.mark.tried_on("tumbling")
def test_c27_both_versions_may_run_side_by_side(harness, one):
    second = Job()
    window(second, "speed")
    plan_of_two = harness.restore(second.pipeline, harness.folder / "beside", None, None, True)
    first = Job()
    window(first, "speed")
    beside = harness.start(second.pipeline, harness.folder / "beside", plan_of_two)
    harness.run(first.pipeline)
    harness.wait_for(beside, None)
    beside.stop(60)
    for job in (first, second):
        assert_complete(one, job, "speed")


@pytest.mark.tried_on("tumbling")
def test_c28_without_the_snapshot_all_that_is_kept_is_read_again(harness, one):
    job = Job()
    window(job, "speed")
    harness.run(job.pipeline, fresh=True)
    assert got_windows(job.rows("speed")) == plain_windows(ALL, *TUMBLING, last_end(job.rows("speed")))


@pytest.mark.tried_on("tumbling")
def test_c29_a_snapshot_starts_any_number_of_jobs(harness, one):
    before = manifests.read(harness.folder / "snapshots" / "saved")
    shutil.copytree(harness.folder / "snapshots" / "saved", harness.folder / "kept")
    for _ in range(2):
        job = Job()
        window(job, "speed")
        harness.run(job.pipeline)
        assert_complete(one, job, "speed")
        shutil.rmtree(harness.folder / "snapshots" / "saved")
        shutil.copytree(harness.folder / "kept", harness.folder / "snapshots" / "saved")
    manifests.verify(harness.folder / "snapshots" / "saved", before, "job")


@pytest.mark.tried_on("map_stateful")
def test_c30_a_field_added_to_state_is_null_and_anything_else_is_refused(harness, one):
    def noted(state, row):
        state.n = (state.n or 0) + 1
        was, state.seen = state.seen, row.seq
        return None if row.seq % 1000 else (row.seq, state.n if was is None or was >= CUT else -1)

    job = Job()
    mapped(job, state="n bigint, seen bigint", function=noted)
    report = harness.run(job.pipeline)
    assert verdicts(report)["mapped"] == (Verdict.CONVERTED, "C30")
    counts, expected = defaultdict(int), {}
    for seq, key, _, _ in ALL:
        counts[key] += 1
        if seq % 1000 == 0 and seq >= CUT:
            expected[seq] = (key, counts[key])
    assert {row.seq: (row.key, row.n) for row in job.rows("mapped")} == expected
    wrong = Job()
    mapped(wrong, state="seen string", function=noted)
    message = refused_now(harness, wrong)
    assert "its state had a field 'n' and has none now" in message


def refused_now(harness, job):
    manifest = manifests.read(harness.folder / "snapshots" / "saved")
    with pytest.raises(IncompatibleError) as caught:
        judge(manifest, compile_pipeline(harness.spark, job.pipeline))
    return str(caught.value)
