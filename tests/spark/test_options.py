"""What options do to real jobs: guarantees across the end of a run, and the bound on state."""

import json
from collections import Counter

import pytest

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.runner.bounds import Bounds
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.starting.start_point import start_point
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore

pytestmark = pytest.mark.spark

KEYS, STEP = 50, 2_000
SECONDS = 180


def numbers(p, folder):
    """The rows of a folder of files, by Spark's own reader: it starts no Python."""
    return p.read_from(ps.sources.files(folder, "csv", "seq bigint, key bigint", streaming=True), name="numbers")


def add_rows(folder, rows):
    """Rows in one more file, which comes to be as a whole."""
    folder.mkdir(exist_ok=True)
    (folder / ".part").write_text("".join(f"{seq},{seq * 7919 % KEYS}\n" for seq in rows))
    (folder / ".part").rename(folder / f"{rows[0]}.csv")


class Job:
    """A job of one guarantee, run after run as the runner does it: each row with its count goes to files, and counts to a map."""

    def __init__(self, spark, folder, guarantee):
        self.spark, self.folder = spark, folder
        self.config = JobConfig(processing_guarantee=ProcessingGuarantee(guarantee))
        self.maps = SqlMapStore(open_database(sqlite_url(folder / "store.db")))
        self.lineage, self.out, self.rows = None, folder / "out", folder / "rows"

    def start(self):
        environment = Environment(
            "id", "job", "", self.config.processing_guarantee, self.folder / "work", lambda *_: None, maps=self.maps
        )
        p = ps.Pipeline()
        counted = numbers(p, self.rows).group_by("key").rolling_aggregate("counted", n=ps.count())
        counted.write_to(ps.sinks.map("counts", key="key", update=lambda old, row: (old or 0) + 1), name="counts")
        counted.write_to(ps.sinks.files(str(self.out)), name="out")
        job = compile_job(self.spark, p, self.config, environment.sources)
        point = start_point(job, environment, DataFolder(self.folder), self.lineage, lambda: None)
        self.lineage = point.lineage
        return Run.start(job, environment, point, Progress(), lambda: None)

    def run(self, rows):
        """A run until it has read so many rows itself."""
        run = self.start()
        assert wait_until(lambda: run.look().input_rows >= rows or run.failure() is not None, SECONDS)
        assert run.failure() is None
        run.stop(60)

    @property
    def written(self):
        """(key, which of its key it was) of each row in the files."""
        return Counter((row.key, row.n) for row in self.spark.read.parquet(str(self.out)).collect())

    @property
    def counts(self):
        return {int(entry.key): json.loads(entry.value) for entry in self.maps.entries("counts")}


FIRST, SECOND = range(STEP), range(STEP, 2 * STEP)


def counted(rows):
    """What the job makes of the first rows, in plain Python."""
    seen, result = Counter(), Counter()
    for seq in range(rows):
        key = seq * 7919 % KEYS
        seen[key] += 1
        result[key, seen[key]] += 1
    return result


def each(rows):
    """How often each key is among the first rows."""
    return Counter(seq * 7919 % KEYS for seq in range(rows))


@pytest.mark.long
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
def test_a_job_that_is_started_again_goes_on_where_it_was(spark, tmp_path, guarantee):
    job = Job(spark, tmp_path, guarantee)
    add_rows(job.rows, FIRST)
    job.run(STEP)
    before = job.lineage
    add_rows(job.rows, SECOND)
    job.run(STEP)
    assert (job.lineage, job.written, job.counts) == (before, counted(2 * STEP), each(2 * STEP))


@pytest.mark.long
def test_without_a_guarantee_a_job_that_is_started_again_begins_empty(spark, tmp_path):
    job = Job(spark, tmp_path, "none")
    add_rows(job.rows, FIRST)
    job.run(STEP)
    before = job.lineage
    add_rows(job.rows, SECOND)
    job.run(2 * STEP)
    assert job.lineage != before
    assert job.written == counted(STEP) + counted(2 * STEP), "all rows again, counted from the first"
    assert job.counts == each(STEP) + each(2 * STEP)


@pytest.mark.long
@pytest.mark.parametrize(("guarantee", "again"), [("at_least_once", 1), ("exactly_once", 0)])
def test_an_epoch_cut_off_after_its_map_was_written_reaches_the_map_again_unless_exactly_once(spark, tmp_path, guarantee, again):
    job = Job(spark, tmp_path, guarantee)
    add_rows(job.rows, FIRST)
    job.run(STEP)
    add_rows(job.rows, SECOND)
    # Files are written after maps: the second epoch fails between the two.
    aside = job.out.rename(tmp_path / "aside")
    job.out.write_text("no folder")
    cut_off = job.start()
    assert wait_until(lambda: cut_off.failure() is not None, SECONDS)
    assert job.counts == each(2 * STEP)
    job.out.unlink()
    aside.rename(job.out)
    job.run(STEP)
    assert job.written == counted(2 * STEP), "files have each row once"
    the_second_epoch = each(2 * STEP) - each(STEP)
    assert job.counts == each(2 * STEP) + (the_second_epoch if again else Counter())


def compiled(spark, pipeline, config, folder):
    sources = Environment("id", "job", "", config.processing_guarantee, folder, print).sources
    return compile_job(spark, pipeline, config, sources)


@pytest.mark.parametrize("most", [KEYS - 1, KEYS])
def test_a_job_is_told_that_a_stage_holds_more_rows_of_state_than_it_may(spark, tmp_path, most):
    p = ps.Pipeline()
    config = JobConfig(max_accumulated_records=most)
    add_rows(tmp_path / "rows", FIRST)
    stage = numbers(p, tmp_path / "rows").group_by("key").rolling_aggregate("counted", n=ps.count())
    stage.write_to(ps.sinks.noop(), name="out")
    plan = compiled(spark, p, config, tmp_path).plan
    job = ps.run(p, spark, data_dir=tmp_path)
    job.wait_for_epoch(0, SECONDS)
    job.stop()
    found = Bounds(plan.to_dict(), config).exceeded(job.progress)
    assert (found and found.message.split(", and")[0]) == (f"Stage 'counted' holds {KEYS} rows of state" if most < KEYS else None)


def test_a_job_whose_sources_all_end_holds_no_state_that_could_be_bounded(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([("a", 1)], "k string, v bigint"), name="rows")
    rows.write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match="max_accumulated_records counts saved state, and a job whose sources all end keeps"):
        compiled(spark, p, JobConfig(max_accumulated_records=5), tmp_path)
    assert compiled(spark, p, JobConfig(), tmp_path).bounded
