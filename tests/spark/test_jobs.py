"""Whole jobs in one session: sources, sinks, dead letters, journals, errors."""

import json
from collections import defaultdict

import pytest

import pitstop as ps
from pitstop.errors import PipelineError, SnapshotError
from pitstop.kit.waiting import wait_until
from pitstop.maps.model import MapConfig
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.starting.start_point import start_point
from tests.spark.harness import numbers

pytestmark = pytest.mark.spark


class Collected:
    def __init__(self):
        self.epochs = {}

    def write(self, rows, info):
        self.epochs[info.epoch] = [row.asDict() for row in rows.collect()]

    @property
    def rows(self):
        return [row for _, rows in sorted(self.epochs.items()) for row in rows]


EVENTS = [
    {"k": key, "v": value, "at": f"2026-01-01 00:00:{second:02d}"}
    for key, value, second in [("a", 3, 1), ("b", 5, 2), ("a", 1, 3), ("a", None, 4), ("b", 2, 11), ("a", 9, 12), ("b", 7, 25)]
]


def items(p, rows=EVENTS):
    source = p.read_from(ps.sources.items(rows, "k string, v bigint, at string"), name="events")
    return source.with_columns(ts="cast(at as timestamp)").with_timestamps("ts")


def test_a_batch_job_gives_every_aggregate_as_plain_python_computes_it(spark, tmp_path):
    out = Collected()
    p = ps.Pipeline()
    stage = items(p).group_by("k").window(ps.tumbling("10 seconds"))
    stage.aggregate(
        "all",
        rows=ps.count(),
        n=ps.count("v"),
        total=ps.sum("v"),
        mean=ps.avg("v"),
        low=ps.min("v"),
        high=ps.max("v"),
        first=ps.min_by("at", "v"),
        last=ps.max_by("at", "v"),
        squares=ps.aggregate(lambda F, x: (x * x,), lambda F, acc: F.sum(acc), inputs=("v",)),
    ).write_to(ps.sinks.custom(out), name="out")
    ps.run(p, spark, data_dir=tmp_path)
    groups = defaultdict(list)
    for event in EVENTS:
        groups[(event["k"], int(event["at"][-2:]) // 10 * 10)].append(event)
    expected = {}
    for key, events in groups.items():
        known = [event for event in events if event["v"] is not None]
        values = [event["v"] for event in known]
        expected[key] = {
            "rows": len(events),
            "n": len(known),
            "total": sum(values),
            "mean": sum(values) / len(values),
            "low": min(values),
            "high": max(values),
            "first": min(known, key=lambda e: e["v"])["at"],
            "last": max(known, key=lambda e: e["v"])["at"],
            "squares": sum(v * v for v in values),
        }
    got = {
        (row["k"], row["window_start"].second): {name: row[name] for name in next(iter(expected.values()))} for row in out.rows
    }
    assert got == expected


def test_rows_that_do_not_parse_are_counted_sampled_and_kept_and_the_job_goes_on(spark, tmp_path, capsys):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("x,1\nbroken line\ny,zwei\nz,3\n")
    good, bad = Collected(), Collected()
    p = ps.Pipeline()
    source = ps.sources.csv_tail(folder, schema="k string, v bigint")
    p.read_from(source, name="lines", dead_letters=ps.sinks.custom(bad)).write_to(ps.sinks.custom(good), name="good")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    job.wait_for_epoch(0)
    (folder / "b.csv").write_text("w,4\n")
    assert wait_until(lambda: len(good.rows) == 3, 60)
    assert wait_until(lambda: job.progress.input_rows == 5, 60)
    assert job.progress.bad_rows == 2
    job.stop()
    assert sorted((row["k"], row["v"]) for row in good.rows) == [("w", 4), ("x", 1), ("z", 3)]
    assert sorted(row["text"] for row in bad.rows) == ["broken line", "y,zwei"]
    assert {row["stage"] for row in bad.rows} == {"lines"}
    assert "2 rows of 'lines' could not be parsed, such as: " in capsys.readouterr().out


@pytest.mark.long
def test_a_journal_is_read_from_its_oldest_event_unless_a_snapshot_says_where(spark, tmp_path):
    first, second, fresh = Collected(), Collected(), Collected()

    def pipeline(sink):
        p = ps.Pipeline()
        p.read_from(ps.sources.map_journal("m"), name="journal").write_to(ps.sinks.custom(sink), name="out")
        return p

    job = ps.run(pipeline(first), spark, data_dir=tmp_path, processing_guarantee="exactly_once")
    job.maps.put_all("m", [(f"k{n}", str(n)) for n in range(5)])
    assert wait_until(lambda: len(first.rows) == 5, 60)
    job.cancel_and_export_snapshot("saved")
    job.maps.put_all("m", [(f"k{n}", str(n)) for n in range(5, 8)])
    with_snapshot = ps.run(pipeline(second), spark, data_dir=tmp_path, initial_snapshot="saved")
    assert wait_until(lambda: len(second.rows) == 3, 60)
    with_snapshot.stop()
    without = ps.run(pipeline(fresh), spark, data_dir=tmp_path)
    assert wait_until(lambda: len(fresh.rows) == 8, 60)
    without.stop()
    assert [row["key"] for row in first.rows + second.rows] == [f"k{n}" for n in range(8)]
    assert [row["key"] for row in fresh.rows] == [f"k{n}" for n in range(8)]


@pytest.mark.long
def test_windows_whose_names_have_blanks_give_early_results(spark, tmp_path):
    """Two of them: each looks at its own state."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "events.json").write_text("".join(json.dumps(row) + "\n" for row in EVENTS))
    p, outs = ps.Pipeline(), {"per ten seconds": Collected(), "per hour": Collected()}
    rows = p.read_from(
        ps.sources.files(tmp_path / "in", "json", "k string, v bigint, at timestamp", streaming=True), name="events"
    )
    by_key = rows.with_timestamps("at").group_by("k")
    for (name, out), size in zip(outs.items(), ("10 seconds", "1 hour"), strict=True):
        stage = by_key.window(ps.tumbling(size)).early_results("1 ms").aggregate(name, n=ps.count())
        stage.write_to(ps.sinks.custom(out), name=f"{name} out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    job.wait_for_epoch(0, 120)
    job.stop()
    early = {name: sorted((row["k"], row["n"]) for row in out.epochs[0] if row["is_early"]) for name, out in outs.items()}
    assert early == {"per ten seconds": [("a", 1), ("a", 3), ("b", 1), ("b", 1), ("b", 1)], "per hour": [("a", 4), ("b", 3)]}


@pytest.mark.long
def test_events_that_a_journal_dropped_unread_are_told_with_their_number(spark, tmp_path):
    out = Collected()
    p = ps.Pipeline()
    p.read_from(ps.sources.map_journal("m"), name="journal").write_to(ps.sinks.custom(out), name="out")
    job = ps.run(p, spark, data_dir=tmp_path, processing_guarantee="exactly_once")
    job.maps.configure(MapConfig("m", journal_capacity=3))
    job.maps.put_all("m", [("a", "1")])
    assert wait_until(lambda: len(out.rows) == 1, 60)
    job.cancel_and_export_snapshot("saved")
    job.maps.put_all("m", [(f"k{n}", "1") for n in range(10)])
    again = ps.run(p, spark, data_dir=tmp_path, initial_snapshot="saved")
    assert wait_until(lambda: len(out.rows) >= 4, 60)
    again.stop()
    assert [(row["key"], row["lost"]) for row in out.rows][1:] == [("k7", 7), ("k8", 0), ("k9", 0)]


def test_map_sinks_put_merge_update_and_remove(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([("a", 1), ("b", 2), ("a", 5), ("c", None)], "k string, v bigint"), name="rows")
    rows.write_to(ps.sinks.map("whole", key="k"), name="whole")
    rows.write_to(ps.sinks.map("values", key="k", value="v"), name="values")
    rows.write_to(ps.sinks.map("sums", key="k", value="v", merge=lambda old, new: (old or 0) + (new or 0)), name="sums")
    rows.write_to(ps.sinks.map("seen", key="k", update=lambda old, row: [*(old or []), row["v"]]), name="seen")
    job = ps.run(p, spark, data_dir=tmp_path)
    content = {name: {e.key: json.loads(e.value) for e in job.maps.entries(name)} for name in job.maps.names()}
    assert content == {
        "whole": {"a": {"k": "a", "v": 5}, "b": {"k": "b", "v": 2}, "c": {"k": "c", "v": None}},
        "values": {"a": 5, "b": 2},
        "sums": {"a": 6, "b": 2, "c": 0},
        "seen": {"a": [1, 5], "b": [2], "c": [None]},
    }


def test_file_sinks_keep_what_was_written_and_an_epoch_written_again_adds_nothing(spark, tmp_path):
    import dataclasses

    from pitstop.model.config import ProcessingGuarantee
    from pitstop.spark.base.environment import Environment
    from pitstop.spark.sinks import write_sink

    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([("a", 1), ("b", 2)], "k string, v bigint"), name="rows")
    rows.write_to(ps.sinks.files(str(tmp_path / "out"), format="json", partition_by=["k"]), name="files")
    node = p.nodes[-1]
    environment = Environment("id", "job", "l1", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, print)
    frame = spark.createDataFrame([("a", 1), ("b", 2)], "k string, v bigint")
    for _ in range(3):
        write_sink(node, frame, 0, environment)
    write_sink(node, frame, 1, environment)
    write_sink(node, frame, 0, dataclasses.replace(environment, lineage="l2"))
    assert spark.read.json(str(tmp_path / "out")).groupBy("k").count().orderBy("k").collect() == [("a", 3), ("b", 3)]


@pytest.mark.long
def test_every_epoch_counts_though_nobody_looks_and_two_jobs_in_one_session_keep_their_figures_apart(spark, tmp_path):
    jobs = {}
    for rows in (7_000, 2_000):
        p = ps.Pipeline()
        numbers(p, rows=rows, step=1_000).write_to(ps.sinks.noop(), name="out")
        jobs[rows] = ps.run(p, spark, data_dir=tmp_path / str(rows), partitions=2)
    for rows, job in jobs.items():
        job.wait_for_epoch(rows // 1_000 - 1, 120)
        job.stop()
    assert {rows: (job.progress.input_rows, job.progress.stages["numbers"]["rows_out"]) for rows, job in jobs.items()} == {
        7_000: (7_000, 7_000),
        2_000: (2_000, 2_000),
    }


@pytest.mark.long
def test_an_epoch_that_was_written_before_the_job_had_any_commit_is_not_written_again(spark, tmp_path):
    config = JobConfig.from_options({"processing_guarantee": "exactly_once"})
    environment = Environment("id", "job", "", config.processing_guarantee, tmp_path / "work", lambda *_: None)

    def run(lineage):
        p = ps.Pipeline()
        numbers(p, rows=4_000, step=2_000).write_to(ps.sinks.files(str(tmp_path / "out")), name="out")
        job = compile_job(spark, p, config, environment.sources)
        point = start_point(job, environment, DataFolder(tmp_path), lineage, lambda: None)
        started = Run.start(job, environment, point, Progress(), lambda: None)
        assert wait_until(lambda: started.running.checkpoint.committed() >= 1, 60)
        started.stop(60)
        return point

    first = run(None)
    # As a kill leaves it that comes after the sinks have written epoch 0, and before Spark commits it.
    Checkpoint(first.checkpoint).drop_after(0)
    for name in ("0", ".0.crc"):
        (first.checkpoint / "commits" / name).unlink(missing_ok=True)
    for path in (tmp_path / "out").glob("*-00000001-*"):
        path.unlink()
    (tmp_path / "out" / "_pitstop" / first.lineage / "out" / "1.json").unlink()
    assert run(first.lineage).lineage == first.lineage
    assert sorted(row.seq for row in spark.read.parquet(str(tmp_path / "out")).collect()) == list(range(4_000))


def test_a_job_whose_checkpoint_was_removed_by_hand_does_not_start_empty(spark, tmp_path):
    config = JobConfig.from_options({"processing_guarantee": "exactly_once"})
    environment = Environment("id", "job", "", config.processing_guarantee, tmp_path / "work", lambda *_: None)
    p = ps.Pipeline()
    numbers(p, rows=4_000, step=2_000).write_to(ps.sinks.noop(), name="out")
    job = compile_job(spark, p, config, environment.sources)
    with pytest.raises(SnapshotError, match=r"The saved state of job 'job' is gone: .*checkpoint-l1 does not exist"):
        start_point(job, environment, DataFolder(tmp_path), "l1", lambda: None)


def own(stage, state):
    """A stage with state of its own, of these fields."""
    return stage.group_by("k").map_stateful("own", lambda held, row: (1,), state, "n bigint")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.filter("speed > 3"), r"Stage 'filter speed' \(.*\): there is no column 'speed'. There are: k, v, at, ts"),
        (lambda s: s.select("k +"), r"Stage 'select k' \(.*\): cannot read the expression"),
        (lambda s: s.with_timestamps("k"), r"Stage 'timestamps-2' \(.*\) sets the event time that stage 'timestamps' .* has set"),
        (lambda s: s.group_by("vin").window(ps.tumbling("1 s")).aggregate("w", n=ps.count()), "Stage 'w' .*no column 'vin'"),
        (lambda s: s.transform(lambda df: df.dropDuplicates(["k"])), "keeps state .*which a transform must not"),
        (lambda s: s.merge(s.select("k")), r"differ in columns \(at, ts, v\)"),
        (lambda s: s.group_by("k").rolling_aggregate("r", v=ps.count()), r"Stage 'r' \(.*\) would have two columns 'v': rename"),
        (lambda s: s.transform(lambda df: 1 / 0), "failed in its own function: ZeroDivisionError"),
        (lambda s: own(s, "n bigin"), r"Stage 'own' \(.*\): its state 'n bigin' is not DDL such as 'n bigint, last string'"),
        (lambda s: own(s, "n string collate NOPE"), r"Stage 'own' \(.*\): its state 'n string collate NOPE' is not DDL"),
    ],
)
def test_a_wrong_stage_is_named_in_one_sentence(spark, build, message):
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(1), name="rate").write_to(ps.sinks.noop(), name="keeps-it-streaming")
    build(items(p)).write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match=message) as caught:
        compile_pipeline(spark, p)
    assert "\n" not in str(caught.value)


def test_an_event_time_is_a_timestamp(spark):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([("a",)], "k string"), name="rows")
    rows.with_timestamps("k").write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match=r"Stage 'timestamps' \(.*\): column 'k' is string; event time is a timestamp"):
        compile_pipeline(spark, p)


def test_sinks_with_unknown_columns_are_refused_before_anything_runs(spark):
    for sink in (ps.sinks.map("m", key="vin"), ps.sinks.logger("{vin}"), ps.sinks.files("x", partition_by=["vin"])):
        p = ps.Pipeline()
        p.read_from(ps.sources.rate(1), name="rate").write_to(sink, name="out")
        with pytest.raises(PipelineError, match=r"'out'.*no column 'vin'"):
            compile_pipeline(spark, p)


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.long
def test_a_job_that_requires_it_has_a_recovery_point_before_it_reads_an_event(spark, tmp_path, required):
    options = {"processing_guarantee": "exactly_once", "require_snapshot_before_processing": required}
    config = JobConfig.from_options(options)
    environment = Environment("id", "job", "", config.processing_guarantee, tmp_path / "work", lambda *_: None)
    p = ps.Pipeline()
    rows = numbers(p, rows=4_000, step=2_000)
    rows.group_by("key").rolling_aggregate("counted", n=ps.count()).write_to(ps.sinks.files(str(tmp_path / "out")), name="out")
    job = compile_job(spark, p, config, environment.sources)
    point = start_point(job, environment, DataFolder(tmp_path), None, lambda: None)
    assert Checkpoint(point.checkpoint).committed() == (0 if required else -1)
    started = Run.start(job, environment, point, Progress(), lambda: None)
    assert wait_until(lambda: started.look().input_rows >= 4_000, 60)
    started.stop(60)
    assert sorted(row.seq for row in spark.read.parquet(str(tmp_path / "out")).collect()) == list(range(4_000))
