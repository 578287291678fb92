"""The compatibility rules C18 to C30, each as one test: version 1 runs on Spark and leaves a snapshot, version
2 starts from it, and all output of both is compared with what plain Python makes of the same events.

Names, kinds, keys and fields change; snapshots are missing, used twice and spread over other partitions.
"""

import shutil
from collections import defaultdict

import pytest

import pitstop as ps
from pitstop.errors import SnapshotError, UsageError
from pitstop.plan.diff import Verdict
from pitstop.snapshots import manifest as manifests
from tests.spark.reference import plain_windows
from tests.spark.rules.versions import (
    ALL,
    CUT,
    SLIDING,
    STEP,
    TUMBLING,
    Job,
    assert_complete,
    assert_reframed,
    got_windows,
    last_end,
    mapped,
    refused,
    refused_now,
    session,
    verdicts,
    window,
)
from tests.spark.sequence import expected_sessions, millis

pytestmark = [pytest.mark.spark, pytest.mark.rules]


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
def test_c26_tumbling_becomes_sliding_and_back(harness, one):
    assert_reframed(harness, one, "C26", {"speed": (TUMBLING, SLIDING), "trend": (SLIDING, TUMBLING)})


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
