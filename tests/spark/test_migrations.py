"""State changed by the user's own hand: migrations, and rows taken out of a snapshot and put back."""

import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import IncompatibleError, NotFoundError, UsageError
from pitstop.model.data_folder import DataFolder
from pitstop.pipeline.migration import Migration
from pitstop.plan.diff import Verdict
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import lay_view
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.restoring.migrations import try_migrations
from pitstop.spark.state.in_snapshot import SnapshotState, export, put, query
from tests.spark.harness import Collected, Harness, numbers
from tests.spark.own_code import OUTPUT, Counting, OnlyTimers
from tests.spark.reference import BURST, KEYS, PAUSE, happened, plain_windows
from tests.spark.sequence import millis

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROWS, CUT, STEP = 30_000, 20_000, 10_000
SIZES = {"speed": (10_000, 10_000), "trend": (20_000, 5_000)}
EVENTS = happened(0, ROWS)


class Job:
    """A pipeline whose stages go to sinks of their own."""

    def __init__(self, rows=ROWS):
        self.pipeline, self.sinks = ps.Pipeline(), {}
        self.numbers = numbers(self.pipeline, rows=rows, step=STEP, keys=KEYS, burst=BURST, pause=PAUSE).with_columns(
            region="key % 7"
        )

    def window(self, name, key="key", **wanted):
        size, slide = (ms / 1000 for ms in SIZES[name])
        window = ps.tumbling(size) if size == slide else ps.sliding(size, slide)
        made = self.numbers.group_by(key).window(window)
        return self.to(made.aggregate(name, **(wanted or {"n": ps.count(), "total": ps.sum("v")})), name)

    def to(self, stage, name):
        self.sinks[name] = Collected()
        stage.write_to(ps.sinks.custom(self.sinks[name]), name=f"{name}-out")
        return self


def count_rows(state, row):
    state.n = (state.n or 0) + 1
    return None if row.seq % 1000 else (row.seq, state.n)


def mapped(job, key="key", function=count_rows, state="n bigint"):
    return job.to(job.numbers.group_by(key).map_stateful("mapped", function, state, "seq bigint, n bigint"), "mapped")


def with_processor(rows, processor):
    return rows.groupBy("key").transformWithState(processor, OUTPUT, "append", "eventTime")


@pytest.fixture(scope="module")
def one(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    job = Job().window("speed").window("trend")
    mapped(job)
    job.to(job.numbers.group_by("key").window(ps.tumbling(10)).aggregate("sets", seen=ps.collect_set("v")), "sets")
    job.to(job.numbers.group_by("key").distinct("first"), "first")
    other = numbers(job.pipeline, "others", rows=ROWS, step=STEP, keys=KEYS, burst=BURST, pause=PAUSE).select(
        "key", "ts", "v as w"
    )
    job.to(job.numbers.join("pairs", other.filter("w = 1").select("key", "ts as at", "w"), on="key", within=0.001), "pairs")
    own = job.numbers.with_columns(ms="unix_millis(ts)").stateful("own", lambda rows: with_processor(rows, Counting()))
    job.to(own, "own")
    job.to(job.numbers.stateful("timers", lambda rows: with_processor(rows, OnlyTimers())), "timers")
    harness = Harness(spark, folder)
    harness.run(job.pipeline, until=CUT)
    saved = Checkpoint(folder / "checkpoint-0")
    job.watermark = saved.offsets(saved.committed()).metadata["batchWatermarkMs"]
    # A snapshot is whole though what it was saved from is gone from its place.
    job.checkpoint = saved.path.rename(folder / "elsewhere")
    job.folder = folder
    return job


@pytest.fixture
def harness(spark, tmp_path, one):
    return Harness.following(spark, tmp_path, one.folder)


@pytest.fixture
def state(harness):
    def opened(stage, name="saved"):
        folder = harness.folder / "snapshots" / name
        return SnapshotState.open(folder, manifests.read(folder), stage)

    return opened


@pytest.fixture
def seen(harness):
    """Stages as a query or an export sees them."""

    def opened(stage):
        folder, view = harness.folder / "snapshots" / "saved", harness.folder / "view"
        lay_view(folder, manifests.read(folder), view)
        return SnapshotState.open(view, manifests.read(folder), stage)

    return opened


def by_region(events):
    return [(seq, key % 7, *rest) for seq, key, *rest in events]


def got(rows, key="region"):
    found = {(row[key], millis(row.window_start), millis(row.window_end)): (row.n, row.total) for row in rows}
    assert len(found) == len(rows), "a window came twice"
    return found


@pytest.mark.parametrize("name", ["speed", "trend"])
def test_a_migration_carries_windows_over_to_another_key(harness, one, name):
    def regions(old):
        spans = [column for column in ("window_start", "window_end", "part") if column in old.columns]
        sums = [F.sum("n").alias("n"), F.sum("total").alias("total")]
        return old.groupBy((F.col("key") % 7).alias("region"), *spans).agg(*sums)

    job = Job().window(name, key="region")
    job.pipeline.migrate(ps.migrate(name)(regions))
    report = harness.run(job.pipeline)
    line = next(line for line in report.lines if line.stage == name)
    assert (line.verdict, line.detail) == (Verdict.CONVERTED, "its state is migrated by 'regions'")
    rows = job.sinks[name].rows
    last = max(millis(row.window_end) for row in rows)
    expected = plain_windows(by_region(EVENTS), *SIZES[name], last)
    assert got(rows) == {window: values for window, values in expected.items() if window[2] > one.watermark}


def test_a_migration_gives_state_of_ones_own_another_key_and_form(harness):
    def totals(old):
        return old.groupBy((F.col("key") % 7).alias("region")).agg(F.sum("n").alias("rows"))

    def count_on(state, row):
        state.rows += 1
        return None if row.seq % 1000 else (row.seq, state.rows)

    job = Job()
    mapped(job, "region", count_on, "rows bigint")
    job.pipeline.migrate(ps.migrate("mapped")(totals))
    harness.run(job.pipeline)
    counts, expected = defaultdict(int), {}
    for seq, region, *_ in by_region(EVENTS):
        counts[region] += 1
        if seq >= CUT and seq % 1000 == 0:
            expected[seq] = (region, counts[region])
    assert {row.seq: (row.region, row.n) for row in job.sinks["mapped"].rows} == expected


def test_a_migration_is_not_used_once_the_state_has_the_new_form(harness):
    job = Job().window("speed")
    job.pipeline.migrate(Migration("speed", lambda old: old.where("false")))
    assert harness.run(job.pipeline, until=CUT + STEP).of(Verdict.RESTORED) == ("numbers", "speed")


@pytest.mark.parametrize(("added", "ttl"), [("", "1 day"), (", more string", None)], ids=["time-to-live", "another-field"])
def test_a_migration_that_is_left_in_the_job_does_nothing_to_the_state_that_it_has_made(harness, added, ttl):
    def millions(old):
        return old.select("key", (F.col("n") * 1_000_000).alias("n"), F.lit("millionth").alias("unit"))

    def version(rows, state, ttl):
        job = Job(rows)
        by_key = job.numbers.group_by("key")
        job.to(by_key.map_stateful("mapped", count_rows, state, "seq bigint, n bigint", ttl=ttl), "mapped")
        job.pipeline.migrate(ps.migrate("mapped")(millions))
        return job

    versions = [version(ROWS, "n bigint, unit string", None), version(ROWS + STEP, f"n bigint, unit string{added}", ttl)]
    for job, until in zip(versions, (ROWS, ROWS + STEP), strict=True):
        harness.run(job.pipeline, until=until)
    counts, expected = defaultdict(int), {}
    for seq, key, *_ in happened(0, ROWS + STEP):
        counts[key] += 1_000_000 if seq < CUT else 1
        if seq >= CUT and seq % 1000 == 0:
            expected[seq] = (key, counts[key])
    got = [row for job in versions for row in job.sinks["mapped"].rows]
    assert versions[1].sinks["mapped"].rows
    assert {row.seq: (row.key, row.n) for row in got} == expected


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda old: 1 / 0, "failed: ZeroDivisionError"),
        (lambda old: old.count(), "returned int, not a DataFrame"),
        (lambda old: old, r"there is no column 'region' \(bigint\); stage 'speed' keeps region bigint, window_start"),
        (lambda old: old.withColumn("region", F.lit("x")), "column 'region' is string, and stage 'speed' keeps bigint"),
        (lambda old: old.withColumnRenamed("key", "region").withColumn("odd", F.lit(1)), "there is a column 'odd' that stage"),
        (
            lambda old: old.withColumnRenamed("key", "region").withColumn("window_end", F.expr("window_end + interval 1 second")),
            "is not a window of stage 'speed', which has tumbling",
        ),
        (lambda old: old.withColumnRenamed("key", "region").where("nothing > 1"), "failed: AnalysisException"),
    ],
)
def test_a_migration_that_does_not_work_is_refused_by_the_check_on_the_real_state(spark, harness, tmp_path, function, said):
    job = Job().window("speed", key="region")
    job.pipeline.migrate(Migration("speed", function))
    plan = compile_pipeline(spark, job.pipeline)
    with pytest.raises(IncompatibleError, match=said) as caught:
        try_migrations(spark, job.pipeline, plan, harness.folder / "snapshots" / "saved", {}, tmp_path / "scratch")
    assert "stage 'speed'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_check_runs_a_migration_on_the_checkpoint_of_a_job_too(spark, one, tmp_path):
    job = Job().window("speed", key="region")
    job.pipeline.migrate(Migration("speed", lambda old: old.withColumnRenamed("key", "region").where("region < 7")))
    plan = compile_pipeline(spark, job.pipeline)
    told = try_migrations(spark, job.pipeline, plan, one.checkpoint, {}, tmp_path / "scratch")
    before = [window for window in plain_windows(EVENTS[:CUT], *SIZES["speed"], 2**62) if window[2] > one.watermark]
    kept = sum(key < 7 for key, _, _ in before)
    assert told == {"speed": f"{len(before):,} rows of its state become {kept:,}"}


def test_a_migration_for_a_stage_that_keeps_no_state_or_is_not_there_is_refused(spark):
    job = Job().window("speed")
    job.pipeline.migrate(Migration("speed-out", lambda old: old))
    with pytest.raises(ps.PitstopError, match="is for stage 'speed-out', which keeps no state"):
        compile_pipeline(spark, job.pipeline)
    job = Job().window("speed")
    job.pipeline.migrate(Migration("sped", lambda old: old))
    with pytest.raises(ps.PitstopError, match="is for stage 'sped', which the pipeline does not have"):
        job.pipeline.check()


def test_a_migration_cannot_read_state_that_spark_keeps_to_itself(harness):
    job = Job()
    job.to(job.numbers.group_by("region").window(ps.tumbling(10)).aggregate("sets", seen=ps.collect_set("v")), "sets")
    job.pipeline.migrate(Migration("sets", lambda old: old))
    with pytest.raises(IncompatibleError, match="stage 'sets' its old state holds an aggregate that cannot be read"):
        harness.run(job.pipeline)


def test_a_query_sees_what_plain_python_says_is_open(spark, state, one):
    found = query(spark, state("speed"), "SELECT key, window_start, n, total FROM state ORDER BY key, window_start", 1000)
    expected = plain_windows(EVENTS[:CUT], *SIZES["speed"], 2**62)
    held = sorted((key, start, n, total) for (key, start, end), (n, total) in expected.items() if end > one.watermark)
    assert [column for column, _ in found.columns] == ["key", "window_start", "n", "total"]
    assert [(row[0], row[2], row[3]) for row in found.rows] == [(key, n, total) for key, _, n, total in held]
    assert not found.more
    counted = query(spark, state("mapped"), "SELECT sum(n) AS n, max(last_event) AS last FROM mapped", 10)
    assert counted.rows[0][0] == CUT
    assert json.dumps(counted.rows)


def test_a_query_gives_no_more_rows_than_asked_for_and_says_so(spark, state):
    found = query(spark, state("mapped"), "SELECT * FROM state", 7)
    assert (len(found.rows), found.more) == (7, True)


def test_state_that_is_sparks_alone_can_be_looked_at(spark, seen):
    found = query(spark, seen("first"), "SELECT key.key FROM state ORDER BY 1", ROWS)
    assert [key for (key,) in found.rows] == sorted({key for _, key, _, _ in EVENTS[:CUT]})
    kept = defaultdict(list)
    for store, key, value in query(spark, seen("pairs"), "SELECT * FROM state", ROWS).rows:
        kept[store.split()[-1]].append((*json.loads(key).values(), json.loads(value)))
    happened_to = {(seq, key) for seq, key, _, _ in EVENTS[:CUT]}
    assert kept["left"]
    assert {(value["seq"], value["key"]) for *_, value in kept["left"]} <= happened_to
    assert kept["right"]
    assert {value["__right_w"] for *_, value in kept["right"]} == {1}


def leaves(value):
    return [leaf for part in value.values() for leaf in leaves(part)] if isinstance(value, dict) else [value]


def test_each_variable_of_the_users_own_code_can_be_looked_at(spark, seen):
    kept = defaultdict(list)
    for store, key, value in query(spark, seen("own"), "SELECT * FROM state", ROWS).rows:
        kept[store.split()[-1]].append((json.loads(key)["key"], tuple(leaves(json.loads(value)))))
    counts, values, marks = Counter(), Counter(), []
    for seq, key, v, _ in EVENTS[:CUT]:
        counts[key] += 1
        values[(key, v)] += 1
        marks += [(key, (seq,))] if seq % 500 == 0 else []
    assert sorted(kept["n"]) == sorted((key, (n,)) for key, n in counts.items())
    assert sorted(kept["marks"]) == sorted(marks)
    assert sorted(kept["values"]) == sorted((key, (v, n)) for (key, v), n in values.items())


def test_wrong_queries_are_told_in_a_sentence(spark, state, seen):
    with pytest.raises(UsageError, match=r"The query on stage 'speed' failed: .*`nothing`") as caught:
        query(spark, state("speed"), "SELECT nothing FROM state", 10)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="holds an aggregate that Spark keeps in a form that cannot be read"):
        query(spark, state("sets"), "SELECT * FROM state", 10)
    with pytest.raises(UsageError, match="Stage 'timers' has no variables, only timers"):
        query(spark, seen("timers"), "SELECT * FROM state", 10)
    with pytest.raises(
        NotFoundError, match=r"has no stage 'sped' with state\. It has: speed, trend, mapped, sets, first, pairs, own, timers"
    ):
        state("sped")


def named(harness, record):
    """Let the name of a new snapshot lead to it, as the registry does."""
    folder = harness.folder / "snapshots" / record.name
    shutil.rmtree(folder, ignore_errors=True)
    Path(record.path).rename(folder)


@pytest.mark.parametrize("stage", ["speed", "trend", "mapped"])
def test_rows_taken_out_and_put_back_are_the_same_state(spark, harness, state, one, stage, tmp_path):
    file = tmp_path / "state.parquet"
    export(spark, state(stage), file)
    record = put(spark, state(stage), file, DataFolder(harness.folder), "saved")
    assert record.name == "saved"
    named(harness, record)
    job = mapped(Job()) if stage == "mapped" else Job().window(stage)
    report = harness.run(job.pipeline)
    line = next(line for line in report.lines if line.stage == stage)
    assert line.detail == "its state was imported and goes in as rows"
    if stage == "mapped":
        counts, expected = defaultdict(int), {}
        for seq, key, *_ in EVENTS:
            counts[key] += 1
            if seq % 1000 == 0 and seq >= CUT:
                expected[seq] = (key, counts[key])
        assert {row.seq: (row.key, row.n) for row in job.sinks[stage].rows} == expected
        return
    rows = one.sinks[stage].rows + job.sinks[stage].rows
    assert got(rows, "key") == plain_windows(EVENTS, *SIZES[stage], max(millis(row.window_end) for row in rows))


def test_edited_state_goes_in_under_a_new_name_and_the_old_snapshot_stays(spark, harness, state, tmp_path):
    before = manifests.read(harness.folder / "snapshots" / "saved")
    rows = state("mapped").rows(spark).withColumn("n", F.col("n") + 1_000_000)
    rows.coalesce(1).write.parquet(str(tmp_path / "edited"))
    file = next((tmp_path / "edited").glob("*.parquet"))
    named(harness, put(spark, state("mapped"), file, DataFolder(harness.folder), "edited"))
    made = manifests.read(harness.folder / "snapshots" / "edited")
    assert (made.name, made.epoch, set(made.imported)) == ("edited", before.epoch, {"mapped"})
    manifests.verify(harness.folder / "snapshots" / "edited", made, "job")
    assert manifests.read(harness.folder / "snapshots" / "saved") == before
    shutil.rmtree(harness.folder / "snapshots" / "saved")
    (harness.folder / "snapshots" / "edited").rename(harness.folder / "snapshots" / "saved")
    job = mapped(Job())
    harness.run(job.pipeline)
    assert min(row.n for row in job.sinks["mapped"].rows) > 1_000_000


def test_rows_that_are_not_of_the_stage_are_refused_and_the_snapshot_is_as_it_was(spark, harness, state, tmp_path):
    before = manifests.read(harness.folder / "snapshots" / "saved")
    rows = state("mapped").rows(spark)
    rows.union(rows.limit(1)).coalesce(1).write.parquet(str(tmp_path / "doubled"))
    doubled = next((tmp_path / "doubled").glob("*.parquet"))
    with pytest.raises(UsageError, match=r"The file: there are 2 rows for key .*, and stage 'mapped' keeps one a key"):
        put(spark, state("mapped"), doubled, DataFolder(harness.folder), "saved")
    with pytest.raises(UsageError, match="there is no column 'window_start'"):
        put(spark, state("speed"), doubled, DataFolder(harness.folder), "saved")
    with pytest.raises(UsageError, match="stage 'first' is distinct, whose state cannot be given as rows"):
        put(spark, state("first"), doubled, DataFolder(harness.folder), "saved")
    (tmp_path / "text").write_text("no parquet")
    with pytest.raises(UsageError, match="The file for stage 'speed' cannot be read as parquet"):
        put(spark, state("speed"), tmp_path / "text", DataFolder(harness.folder), "saved")
    assert manifests.read(harness.folder / "snapshots" / "saved") == before
    assert [path.name for path in (harness.folder / "snapshots").iterdir()] == ["saved"]
