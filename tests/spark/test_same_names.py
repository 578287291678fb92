"""A field of state may bear the name of a key, or of a column shown beside it: it goes on, and is shown under a free name."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots import manifest as manifests
from pitstop.spark.state.in_snapshot import SnapshotState, export, put, query
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.sequence import START_MS, millis

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

ROWS, CUT, STEP, KEYS = 10_000, 5_000, 2_500, 5
STATE = "key string, `__last` bigint, count bigint, last_event timestamp, Kept bigint"


def follow(state, row):
    state.key, state.count, state.last_event, state.Kept = f"key {row.kept}", (state.count or 0) + 1, row.ts, row.seq
    state.__dict__["__last"] = -row.seq
    return (row.seq, state.count)


def pipeline(sinks, more=False):
    """The job; ``more``: each stage keeps something more, so that its state is converted."""
    p = ps.Pipeline()
    rows = numbers(p, rows=ROWS, step=STEP, keys=KEYS).with_columns(part="key", count="key", kept="key")
    added = {"more": ps.count()} if more else {}
    state = STATE + (", more bigint" if more else "")
    stages = {
        "mapped": rows.group_by("key", "count", "kept").map_stateful("mapped", follow, state, "seq bigint, n bigint"),
        "rolled": rows.group_by("part").rolling_aggregate("rolled", last_event=ps.count(), **added),
        "slid": rows.group_by("part").window(ps.sliding(2, 1)).aggregate("slid", n=ps.count(), **added),
    }
    for name, stage in stages.items():
        sinks[name] = Collected()
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"{name}-out")
    return p


@pytest.fixture(scope="module")
def one(spark, tmp_path_factory):
    """A harness whose first version has read half of the events, and what that gave."""
    harness, sinks = Harness(spark, tmp_path_factory.mktemp("one")), {}
    harness.run(pipeline(sinks), until=CUT)
    return harness, sinks


@pytest.fixture
def harness(spark, tmp_path, one):
    return Harness.following(spark, tmp_path, one[0].folder)


def opened(harness, stage, name="saved"):
    folder = harness.folder / "snapshots" / name
    return SnapshotState.open(folder, manifests.read(folder), stage)


def expected():
    """seq -> how many events its key has had."""
    counts, found = Counter(), {}
    for seq in range(ROWS):
        counts[seq * 7919 % KEYS] += 1
        found[seq] = counts[seq * 7919 % KEYS]
    return found


def check(before, later):
    for name, column in (("mapped", "n"), ("rolled", "last_event")):
        assert {row.seq: row[column] for row in [*before[name].rows, *later[name].rows]} == expected()
        assert min(row.seq for row in later[name].rows) == CUT
    slid = [(millis(row.window_start), row.part, row.n) for row in [*before["slid"].rows, *later["slid"].rows]]
    assert Counter(start - START_MS for start, _, _ in slid) == dict.fromkeys(range(-1000, 6000, 1000), KEYS)
    assert {n for start, _, n in slid if start >= START_MS} == {2000 // KEYS}


@pytest.mark.long
def test_state_goes_on_under_other_fields(harness, one):
    later = {}
    report = harness.run(pipeline(later, more=True))
    assert {line.stage for line in report.lines if line.verdict == "converted"} == set(later)
    check(one[1], later)


@pytest.mark.long
def test_rows_show_each_field_under_a_free_name(spark, harness):
    found = query(spark, opened(harness, "mapped"), "SELECT * FROM state ORDER BY key", 9)
    assert [name for name, _ in found.columns] == [
        *("key", "count", "kept", "state_key", "__last", "state_count", "state_last_event", "state_Kept", "last_event")
    ]
    for key, count, kept, own_key, last, own_count, at, seq, last_event in found.rows:
        assert (count, kept, own_key, last, own_count, at) == (key, key, f"key {key}", -seq, CUT / KEYS, last_event)
    rolled = query(spark, opened(harness, "rolled"), "SELECT * FROM state", 9)
    assert [name for name, _ in rolled.columns] == ["part", "state_last_event", "last_event"]
    slid = query(spark, opened(harness, "slid"), "SELECT * FROM state", 9)
    assert [name for name, _ in slid.columns] == ["part", "window_start", "window_end", "state_part", "n"]


@pytest.mark.long
def test_what_is_exported_and_imported_goes_on(spark, harness, one):
    saved = harness.folder / "snapshots" / "saved"
    for stage in ("mapped", "rolled", "slid"):
        file = harness.folder / f"{stage}.parquet"
        assert export(spark, opened(harness, stage), file) >= KEYS
        made = put(spark, opened(harness, stage), file, DataFolder(harness.folder), f"with-{stage}")
        saved.rename(harness.folder / f"before-{stage}")
        Path(made.path).rename(saved)
    later = {}
    harness.run(pipeline(later))
    check(one[1], later)


@pytest.mark.long
def test_a_migration_gets_and_gives_the_same_names(harness, one):
    later = {}
    built = pipeline(later, more=True)
    built.migrate(ps.migrate("mapped")(lambda old: old.withColumn("more", F.col("state_count"))))
    report = harness.run(built)
    assert "is migrated" in next(line.detail for line in report.lines if line.stage == "mapped")
    check(one[1], later)
