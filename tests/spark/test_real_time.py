"""Jobs in real time: what can be one, and that rows are in a map while their epoch runs, each counted once."""

import json

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import FencedError, PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.model.config import Execution, JobConfig, ProcessingGuarantee
from pitstop.model.job import Progress
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.internals.real_time import set_task_slots
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.starting.start_point import StartPoint
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from tests.maps import map_store

pytestmark = [pytest.mark.spark]

CONFIG = JobConfig(execution=Execution.REALTIME, snapshot_interval_ms=60_000)


@pytest.fixture
def few_slots(spark):
    """The session of all tests has two threads again after the test."""
    yield
    set_task_slots(spark, 2)


def counting(servers, topic="numbers"):
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.kafka(servers, topic, schema="n bigint", with_metadata=("key",)), name="numbers")
    counted = numbers.group_by("key").rolling_aggregate("counted", seen=ps.count(), total=ps.sum("n"))
    counted.write_to(ps.sinks.map("counts", key="key", value="struct(seen, total)"), name="counts")
    return p


class RealTime:
    """Runs of one job on one checkpoint."""

    def __init__(self, spark, folder, pipeline):
        self.spark, self.folder, self.maps = spark, folder, map_store(folder)
        self.settings = SourceSettings(agreements=str(folder / "agreements"))
        self.job = compile_job(spark, pipeline, CONFIG, self.settings)
        self.lines = []

    def start(self):
        environment = Environment(
            "id", "job", "lineage", ProcessingGuarantee.EXACTLY_ONCE, self.folder, self.log, maps=self.maps, sources=self.settings
        )
        checkpoint, plan = self.folder / "checkpoint", self.job.plan
        facts = {"job_id": "id", "job_name": "job", "lineage": "lineage", "plan": plan.to_dict()}
        facts["sources"] = [[slot.stage, slot.reader] for slot in plan.source_slots]
        Checkpoint(checkpoint).write_facts(Checkpoint(checkpoint).facts() | facts)
        return Run.start(self.job, environment, StartPoint("lineage", checkpoint), Progress(), lambda: None)

    def log(self, level, logger, message):
        self.lines.append(message)

    def counts(self):
        return {entry.key: tuple(json.loads(entry.value).values()) for entry in self.maps.entries("counts")}


def expected(numbers, keys=5):
    by_key = {}
    for number in numbers:
        seen, total = by_key.get(f"k{number % keys}", (0, 0))
        by_key[f"k{number % keys}"] = (seen + 1, total + number)
    return by_key


def test_rows_are_in_the_map_while_their_epoch_runs_and_are_counted_once_over_a_run_that_is_lost(
    spark, tmp_path, broker, few_slots
):
    broker.make("numbers")
    job = RealTime(spark, tmp_path, counting(broker.servers))
    run = job.start()
    try:
        broker.send_numbers("numbers", range(100))
        assert wait_until(lambda: not run.active or job.counts() == expected(range(100)), 60), (run.failure(), job.lines)
        assert run.failure() is None
        committed = run.running.checkpoint.committed()
        run.running.end_epoch(30)
        assert run.running.checkpoint.committed() > committed
        broker.send_numbers("numbers", range(100, 150))
        assert wait_until(lambda: job.counts() == expected(range(150)), 60), run.failure()
    finally:
        run.abandon()
    run = job.start()
    try:
        broker.send_numbers("numbers", range(150, 200))
        assert wait_until(lambda: job.counts() == expected(range(200)), 60), run.failure()
        run.stop(30)
        assert run.failure() is None
        assert run.look().stages["counts"]["rows_in"] == 100
    finally:
        run.abandon()


class LostJob(SqlMapStore):
    """The store of a run that loses its job: no transaction with the run's fence is let through from then on."""

    lost = False

    def write_epoch(self, *arguments):
        if self.lost:
            raise FencedError("another run has this job")
        return super().write_epoch(*arguments)


def test_a_run_that_loses_its_job_within_an_epoch_writes_nothing_more_and_commits_no_epoch(spark, tmp_path, broker, few_slots):
    broker.make("lost")
    job = RealTime(spark, tmp_path, counting(broker.servers, "lost"))
    job.maps = LostJob(open_database(sqlite_url(tmp_path / "other.db")))
    run = job.start()
    try:
        broker.send_numbers("lost", range(20))
        assert wait_until(lambda: not run.active or job.counts() == expected(range(20)), 60), run.failure()
        committed, job.maps.lost = run.running.checkpoint.committed(), True
        broker.send_numbers("lost", range(20, 40))
        assert wait_until(lambda: not run.active, 60)
        assert isinstance(run.failure(), FencedError)
        assert (job.counts(), run.running.checkpoint.committed()) == (expected(range(20)), committed)
    finally:
        run.abandon()


def numbers_of(p, servers, topic="numbers"):
    return p.read_from(ps.sources.kafka(servers, topic, schema="n bigint", with_metadata=("key", "timestamp")), name=topic)


def two_keyed(p, servers):
    once = numbers_of(p, servers).group_by("key").rolling_aggregate("once", seen=ps.count())
    once.group_by("seen").rolling_aggregate("twice", often=ps.count()).write_to(ps.sinks.map("m", key="seen"), name="m")


def windows(p, servers):
    timed = numbers_of(p, servers).with_timestamps("timestamp", allowed_lag="1 second")
    results = timed.group_by("key").window(ps.tumbling("1 second")).aggregate("each", seen=ps.count())
    results.write_to(ps.sinks.map("m", key="key"), name="m")


def merged_behind(p, servers):
    counted = numbers_of(p, servers).group_by("key").rolling_aggregate("counted", seen=ps.count()).select("key", name="keys")
    others = numbers_of(p, servers, "others").select("key", name="others-keys")
    counted.merge(others, name="both").write_to(ps.sinks.map("m", key="key"), name="m")


def python_rows(p, servers):
    tripled = numbers_of(p, servers).map(lambda batch: {"n": batch["n"]}, "n bigint", name="tripled")
    tripled.write_to(ps.sinks.map("m", key="n"), name="m")


def python_columns(p, servers):
    @F.udf("bigint")
    def tripled(number):
        return number * 3

    rows = numbers_of(p, servers).with_columns(n=tripled("n"))
    rows.write_to(ps.sinks.map("m", key="n"), name="m")


def another_source(p, servers):
    p.read_from(ps.sources.rate(5), name="ticks").write_to(ps.sinks.map("m", key="sequence"), name="m")


def files(p, servers):
    numbers_of(p, servers).write_to(ps.sinks.files("/nowhere", format="json"), name="rows")


def merged_entries(p, servers):
    sink = ps.sinks.map("m", key="key", value="n", merge=lambda old, new: (old or 0) + new)
    numbers_of(p, servers).write_to(sink, name="m")


def ordered_by_time(p, servers):
    timed = numbers_of(p, servers).with_timestamps("timestamp", allowed_lag="1 second")
    counted = timed.group_by("key").rolling_aggregate("counted", seen=ps.count())
    counted.write_to(ps.sinks.map("m", key="n", value="seen"), name="m")


def two_sinks(p, servers):
    numbers = numbers_of(p, servers)
    numbers.write_to(ps.sinks.map("m", key="key"), name="one")
    numbers.write_to(ps.sinks.map("n", key="key"), name="other")


REFUSED = (
    (two_keyed, r"Stage 'twice' \(.*\) cannot run in real time: it keeps state behind 'once'"),
    (windows, r"Stage 'each' .* it keeps state as window_aggregate, and in real time only a rolling aggregate does"),
    (merged_behind, r"Stage 'both' .* it merges rows behind 'counted', which keeps state"),
    (python_rows, r"Stage 'tripled' .* it is map, which takes rows together, or runs code of its own"),
    (python_columns, r"Stage 'with_columns n' .* it computes its rows by a Python function"),
    (another_source, r"Source 'ticks' .* it is not one of Kafka"),
    (files, r"Sink 'rows' .* it writes whole epochs alone"),
    (merged_entries, r"Sink 'm' .* it computes entries from the ones before \(merge\)"),
    (ordered_by_time, r"Sink 'm' .* it keeps the row of a key with the highest timestamp, .* order_by=\(\)\. Leave"),
    (two_sinks, r"Sink 'other' .* it is a second sink, and a job in real time writes into one"),
)


@pytest.mark.parametrize(("build", "sentence"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_job_that_cannot_run_in_real_time_is_refused_with_its_stage_and_the_way_out(spark, broker, build, sentence):
    p = ps.Pipeline()
    build(p, broker.servers)
    compile_job(spark, p, JobConfig(), SourceSettings())
    with pytest.raises(PipelineError, match=f"^{sentence}.*-O execution=epochs"):
        compile_job(spark, p, CONFIG, SourceSettings())
