"""The package that docs/extending.md describes, built and installed, in jobs that are snapshot, updated and written again."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.plan.diff import compare
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.sinks import write_sink
from pitstop.spark.starting.rehearsal import rehearse
from tests.spark.extensions.documented import block_with

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def counts(installed):
    names = {}
    exec(block_with("def counts("), names)
    return names["counts"]


def rows_of(database, table="counts"):
    with closing(sqlite3.connect(database)) as opened:
        return sorted(opened.execute(f"SELECT n, parity, seen FROM {table}").fetchall())


def expected(count):
    """Each number, and which one of its parity it is."""
    return [(n, n % 2, n // 2 + 1) for n in range(count)]


def finish(job, database, rows):
    """Stop the job once so many rows are there, however they come."""
    assert wait_until(lambda: not job.active or len(rows_of(database)) >= rows, 240, step=0.2)
    job.stop()


@pytest.mark.long
def test_a_job_goes_on_from_its_snapshot_and_each_row_is_there_once(spark, counts, tmp_path):
    database, data = str(tmp_path / "tally.db"), tmp_path / "data"
    options = {"processing_guarantee": "exactly_once", "partitions": 2}
    first = ps.run(counts.build([database, "100"]), spark, data_dir=data, **options)
    first.wait_for_epoch(2, 240)
    first.cancel_and_export_snapshot("half")
    half = rows_of(database)
    assert half == expected(len(half))
    assert 0 < len(half) <= 100
    again = ps.run(counts.build([database, "160"]), spark, data_dir=data, initial_snapshot="half", **options)
    finish(again, database, 160)
    assert rows_of(database) == expected(160)


@pytest.mark.long
def test_a_changed_version_is_rehearsed_and_writes_nothing_meanwhile(spark, counts, tmp_path):
    import tally

    database, data = str(tmp_path / "tally.db"), tmp_path / "data"
    options = {"processing_guarantee": "exactly_once", "partitions": 2}
    first = ps.run(counts.build([database, "40"]), spark, data_dir=data, **options)
    first.wait_for_epoch(1, 240)
    snapshot = first.cancel_and_export_snapshot("before")
    before = rows_of(database)
    changed = ps.Pipeline()
    numbers = changed.read_from(tally.numbers(80, per_epoch=20), name="numbers").with_columns(parity="n % 2")
    counted = numbers.group_by("parity").rolling_aggregate("counted", seen=ps.count())
    counted.write_to(tally.sqlite(database, table="counts"), name="counts")
    numbers.group_by("n").distinct("different").write_to(ps.sinks.noop(), name="more")
    work = tmp_path / "work"
    sources = SourceSettings.working_in(work, "job", None, None)
    environment = Environment("id", "job", "", ProcessingGuarantee.EXACTLY_ONCE, work, lambda *_: None, sources=sources)
    job = compile_job(spark, changed, JobConfig(processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE, partitions=2), sources)
    assert rehearse(job, environment, Path(snapshot.path), tmp_path / "rehearsal", tmp_path / "laid-down") is not None
    assert rows_of(database) == before == expected(len(before))
    rebuilt = ps.run(changed, spark, data_dir=data, initial_snapshot="before", **options)
    finish(rebuilt, database, 80)
    assert rows_of(database) == expected(80)


@pytest.mark.long
def test_an_epoch_that_is_written_again_adds_nothing(spark, counts, tmp_path):
    database = str(tmp_path / "tally.db")
    node = counts.build([database, "10"]).nodes[-1]
    environment = Environment("id", "job", "l1", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, print)
    frame = spark.createDataFrame([(0, 0, 1), (1, 1, 1)], "n bigint, parity bigint, seen bigint")
    for _ in range(2):
        write_sink(node, frame, 0, environment)
    assert rows_of(database) == expected(2)


def test_a_plan_says_the_kinds_and_another_kind_of_the_same_name_is_refused(spark, counts, tmp_path):
    plan = compile_pipeline(spark, counts.build([str(tmp_path / "a.db"), "10"])).to_dict()
    said = {stage["name"]: (stage["description"], stage["transactional"]) for stage in plan["stages"]}
    assert (said["numbers"], said["counts"]) == (("tally_numbers", False), ("sink tally_sqlite", True))
    other = ps.Pipeline()
    numbers = other.read_from(ps.sources.rate(1), name="numbers").with_columns(n="sequence")
    numbers.write_to(ps.sinks.map("m", key="n"), name="counts")
    report = compare(plan, compile_pipeline(spark, other).to_dict())
    refused = {line.stage: line.detail for line in report.refusals}
    assert refused["numbers"] == "was a source of kind tally_numbers and is now rate: give it another name"
    assert refused["counts"] == "was a sink tally_sqlite and is now a sink map: give it another name"


def test_what_a_sink_cannot_take_is_said_when_the_pipeline_is_compiled(spark, installed, tmp_path):
    import tally

    p = ps.Pipeline()
    numbers = p.read_from(tally.numbers(10), name="numbers").with_columns(both="struct(n, n)")
    numbers.write_to(tally.sqlite(str(tmp_path / "a.db"), "t"), name="out")
    with pytest.raises(
        PipelineError, match=r"Sink 'out' \(test_package.py:\d+\): a table has no place for the nested column 'both'"
    ):
        compile_pipeline(spark, p)
