"""Tables of hash joins: read whole, at one moment, and kept until the next reading has succeeded, also over a restart."""

import os
import re
import shutil
import threading
import time

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import EngineError, PipelineError, PitstopError
from pitstop.kit.waiting import wait_until
from pitstop.model.config import ProcessingGuarantee
from pitstop.model.job import JobSource
from pitstop.runner.prepared import KeptVersion, prepare
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.lowering import tables as lowered
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.tables import HashJoinTables, has_copies
from tests.spark.harness import Collected

pytestmark = pytest.mark.spark
SCHEMA = "one bigint, name string"
LONG_AGO = 1_700_000_000


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(lowered, "QUIET_SECONDS", 0.3)


def joined(table, sink=None, **options):
    p = ps.Pipeline()
    side = table if callable(table) else p.read_from(table, name="side")
    ticks = p.read_from(ps.sources.rate(20), name="ticks").with_columns(one="cast(1 as bigint)")
    ticks.hash_join(side, on="one", name="join", **options).write_to(ps.sinks.custom(sink or Collected()), name="out")
    return p


def csv(folder):
    return ps.sources.files(folder, format="csv", schema=SCHEMA)


class Tables:
    """The tables of one run after the other over the same checkpoint."""

    def __init__(self, spark, folder, pipeline):
        self.spark, self.pipeline, self.lines = spark, pipeline, []
        self.checkpoint = folder / "checkpoint"
        log = lambda level, _, message: self.lines.append((level, message))  # noqa: E731
        self.environment = Environment("id", "job", "one", ProcessingGuarantee.EXACTLY_ONCE, folder, log)
        self.begin()

    def begin(self, away=()):
        self.tables = HashJoinTables(self.spark, self.pipeline, self.environment, self.checkpoint, away)

    def start(self):
        """Begin another run, which fails if it has no table; the names in it."""
        self.begin()
        frames = self.tables.at_start()
        with self.tables.used():
            return self.names(frames)

    def names(self, frames):
        return sorted(row.name for row in frames["join"].collect())

    def warnings(self):
        return [message for level, message in self.lines if level == "WARN"]

    def kept(self):
        return sorted(path.name for path in (self.checkpoint / "tables").glob("*/*"))

    def plan(self, epoch):
        Checkpoint(self.checkpoint).write_offsets(epoch, OffsetLog({"batchTimestampMs": 0}, ()))


def write(path, text):
    """A file as if it had been there for long."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    for one in (path, path.parent):
        os.utime(one, (LONG_AGO, LONG_AGO + len(text)))


@pytest.fixture
def job(spark, tmp_path):
    write(tmp_path / "dim" / "a.csv", "1,first\n")
    return Tables(spark, tmp_path, joined(csv(tmp_path / "dim")))


@pytest.mark.long
def test_what_was_read_stays_however_its_files_change(job, tmp_path):
    frames = job.tables.at_start()
    write(tmp_path / "dim" / "a.csv", "1,second\n")
    write(tmp_path / "dim" / "b.csv", "1,third\n")
    frames["join"].unpersist(blocking=True)  # as where an executor is lost with its rows
    assert job.names(frames) == ["first"]
    assert job.names(job.tables.read()) == ["second", "third"]


@pytest.mark.long
@pytest.mark.parametrize("how", ["the folder is away", "its files are away", "a file is broken"])
def test_a_run_that_cannot_read_a_table_goes_on_with_what_was_read_last(job, tmp_path, how):
    assert job.start() == ["first"]
    if how == "a file is broken":
        (tmp_path / "dim" / "a.csv").rename(tmp_path / "dim" / "a.csv.gz")
    elif how == "its files are away":
        (tmp_path / "dim" / "a.csv").unlink()
    else:
        shutil.rmtree(tmp_path / "dim")
    with pytest.raises(EngineError, match=r"^The table of stage 'join' \(test_tables.py:\d+\) cannot be read: ") as raised:
        job.tables.read()
    assert raised.value.details["passing"] is True
    assert job.start() == ["first"]
    assert job.tables.due == lowered.BEHIND_SECONDS
    (told,) = job.warnings()
    assert told.startswith("the table of stage 'join' is what was read last, at 20")
    shutil.rmtree(tmp_path / "dim", ignore_errors=True)
    write(tmp_path / "dim" / "a.csv", "1,back\n")
    assert job.names(job.tables.read()) == ["back"]
    assert job.tables.due is None


@pytest.mark.long
def test_a_table_that_is_away_is_told_with_its_reading_until_it_is_read_again_also_by_a_later_run(job, tmp_path):
    before = time.time()
    job.start()
    read_at = time.time()
    shutil.rmtree(tmp_path / "dim")
    for _ in range(2):
        with pytest.raises(EngineError):
            job.tables.read()
    (away,) = job.tables.away
    assert away.stage == "join"
    assert before <= away.read_at <= read_at <= away.since <= time.time()
    assert re.fullmatch(
        r"The table of stage 'join' \(\S+\) cannot be read: Stage 'side' \(\S+\): Path does not exist: \S+\.", away.why
    )
    job.begin(away=[away])
    job.tables.at_start()
    (later,) = job.tables.away
    assert (later.since, later.read_at) == (away.since, away.read_at)
    write(tmp_path / "dim" / "a.csv", "1,back\n")
    job.begin(away=[away])
    job.tables.at_start()
    assert job.tables.away == ()
    job.begin(away=[away])
    job.tables.read()
    assert job.tables.away == ()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_run_tells_of_a_table_that_goes_away_and_no_longer_once_it_is_back(spark, tmp_path):
    folder, sink = tmp_path / "dim", Collected()
    write(folder / "a.csv", "1,first\n")
    job = ps.run(joined(csv(folder), sink, refresh="0.2 seconds"), spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: sink.rows, 120)
    assert job.progress.tables_away == ()
    folder.rename(tmp_path / "elsewhere")
    assert wait_until(lambda: job.progress.tables_away, 60)
    assert [away.stage for away in job.progress.tables_away] == ["join"]
    (tmp_path / "elsewhere").rename(folder)
    assert wait_until(lambda: job.progress.tables_away == (), 60)
    assert job.active
    job.stop()


def test_a_table_that_was_never_read_is_an_error_that_names_stage_and_path_and_may_pass(job, tmp_path, spark):
    shutil.rmtree(tmp_path / "dim")
    with pytest.raises(EngineError) as raised:
        job.tables.at_start()
    assert raised.value.details == {"restartable": True, "passing": True}
    assert "The table of stage 'join' (test_tables.py:" in raised.value.message
    assert f"Path does not exist: file:{tmp_path}/dim." in raised.value.message
    assert "\n" not in raised.value.message
    with pytest.raises(PitstopError) as raised:
        compile_pipeline(spark, job.pipeline)
    assert raised.value.details == {"restartable": True, "passing": True}
    assert f"Path does not exist: file:{tmp_path}/dim." in raised.value.message


@pytest.mark.long
def test_one_copy_of_each_table_is_kept_and_none_of_a_reading_that_failed(job, tmp_path):
    job.start()
    assert job.kept() == ["1"]
    write(tmp_path / "dim" / "a.csv", "1,second\n")
    job.tables.read()
    assert job.kept() == ["1", "2"], "the query still has the one before"
    with job.tables.used():
        pass
    assert job.kept() == ["2"]
    write(tmp_path / "dim" / "a.csv", "1,the third\n")
    job.tables.read()
    job.tables.discard()
    assert job.kept() == ["2"]
    job.tables.read()
    with pytest.raises(RuntimeError), job.tables.used():
        raise RuntimeError("the query does not start")
    assert job.kept() == ["2"]
    (tmp_path / "dim" / "a.csv").unlink()
    with pytest.raises(EngineError):
        job.tables.read()
    assert job.kept() == ["2"]


@pytest.mark.always
def test_a_table_that_is_as_it_was_leaves_the_query_as_it_is_and_counts_as_read_now(job, tmp_path):
    assert job.start() == ["first"]
    (copy,) = job.checkpoint.glob("tables/*/1")
    for file in copy.iterdir():
        os.utime(file, (LONG_AGO, LONG_AGO))
    assert job.tables.read() is None
    assert job.kept() == ["1"]
    job.begin()
    (tmp_path / "dim" / "a.csv").unlink()
    job.tables.at_start()
    (away,) = job.tables.away
    assert away.read_at > time.time() - 600, "what was read last is as it was just now"
    write(tmp_path / "dim" / "a.csv", "1,after\n")
    assert job.names(job.tables.read()) == ["after"]


@pytest.mark.long
def test_an_epoch_that_is_done_again_is_joined_with_the_table_that_it_had_first(job, tmp_path):
    assert job.start() == ["first"]
    job.plan(0)
    write(tmp_path / "dim" / "a.csv", "1,second\n")
    job.tables.read()  # and the run dies before a query has got it
    assert job.start() == ["first"]
    assert (job.tables.due, job.tables.epoch_of_before) == (lowered.SOON_SECONDS, 0)
    assert job.names(job.tables.read()) == ["second"]
    with job.tables.used():
        pass
    assert job.start() == ["second"]
    Checkpoint(job.checkpoint).write_commit(0, 0)
    write(tmp_path / "dim" / "a.csv", "1,third\n")
    assert job.start() == ["third"]
    assert job.tables.due is None


@pytest.mark.long
@pytest.mark.parametrize("how", ["a file is written again", "a file goes away", "a file comes", "files are being written"])
def test_files_that_change_while_they_are_read_are_no_table(job, tmp_path, monkeypatch, how):
    job.start()
    copied = []

    def copy(self, node, frame, files, check, original=HashJoinTables._copy):
        copied.append(files)
        if how == "a file is written again":
            (tmp_path / "dim" / "a.csv").write_text(f"1,second {len(copied)}\n1,half\n")
        elif how == "a file goes away":
            (only,) = (tmp_path / "dim").glob("*.csv")
            only.rename(tmp_path / "dim" / f"{len(copied)}.csv")
        elif how == "a file comes":
            (tmp_path / "dim" / f"{len(copied)}.csv").write_text("1,more\n")
        else:
            (tmp_path / "dim" / "_temporary").mkdir(exist_ok=True)
        return original(self, node, frame, files, check)

    with monkeypatch.context() as patched:
        patched.setattr(HashJoinTables, "_copy", copy)
        if how == "a file comes":
            assert job.names(job.tables.read()) == ["first", "more", "more"], "those of the moment at which it was listed last"
            return
        with pytest.raises(EngineError, match=r"changed while they were read|are being written|is not there any more"):
            job.tables.read()
    assert len(copied) == 3
    assert job.kept() == ["1"]


def test_between_the_removal_of_the_old_files_and_the_first_new_one_a_table_is_waited_for(job, tmp_path, monkeypatch):
    """A fresh job, that has nothing to go on with."""
    (tmp_path / "dim" / "a.csv").unlink()
    asked = []

    def look(urls, roots, original=lowered.look):
        asked.append(None)
        if len(asked) == 2:
            (tmp_path / "dim" / "b.csv").write_text("1,new\n")
        return original(urls, roots)

    monkeypatch.setattr(lowered, "look", look)
    assert job.start() == ["new"]


@pytest.mark.long
def test_columns_that_are_gone_or_of_another_type_are_no_table_and_more_are_left_out(spark, tmp_path):
    def put(query):
        spark.sql(query).coalesce(1).write.mode("overwrite").parquet(str(tmp_path / "dim"))

    put("SELECT 1L one, 'a' name, 2 n")
    job = Tables(spark, tmp_path, joined(ps.sources.files(tmp_path / "dim", format="parquet")))
    job.start()
    put("SELECT 1L one, 'b' other, '2' n")
    with pytest.raises(EngineError, match="its column 'name' is not there any more, 'n' is string and was int"):
        job.tables.read()
    assert job.start() == ["a"]
    put("SELECT true more, 3 n, 'c' name, 1L one")
    frames = job.tables.read()
    assert frames["join"].columns == ["one", "name", "n"]
    assert job.names(frames) == ["c"]
    assert any("has more besides" in message for _, message in job.lines)


def test_nulls_types_and_names_come_back_from_a_copy(spark, tmp_path):
    def table(session):
        row = "cast(1 as bigint) one, 'a' as `odd, name`, timestamp'0001-01-01 00:00:00.123456' at, map('k', array(1.5d)) deep"
        more = "date'1500-02-03' day, interval '1' day span, timestamp'9999-12-31 23:59:59.999999' last"
        return session.sql(
            f"SELECT {row}, {more}, cast(1.25 as decimal(38, 10)) amount, cast(null as string) nothing, x'00ff' raw"
        )

    def texts(frame):
        return frame.selectExpr("to_json(struct(*))", "cast(at as string)", "cast(last as string)").collect()

    job = Tables(spark, tmp_path, joined(table))
    frames = job.tables.at_start()
    assert texts(frames["join"]) == texts(table(spark))
    assert frames["join"].schema == table(spark).schema
    with job.tables.used():
        assert has_copies(job.pipeline, job.checkpoint)


def test_a_type_that_no_file_has_a_place_for_is_kept_in_memory(spark, tmp_path):
    def table(session):
        return session.range(3).select(F.col("id").alias("one"), F.expr("make_interval(1)").alias("x"))

    job = Tables(spark, tmp_path, joined(table))
    assert sorted(row.one for row in job.tables.at_start()["join"].select("one").collect()) == [0, 1, 2]
    assert not has_copies(job.pipeline, job.checkpoint)
    assert job.kept() == []
    assert any("is kept in memory, and for no later run" in message for _, message in job.lines)


CODE = """
import pitstop as ps

@ps.job(partitions=1)
def joining(folder):
    p = ps.Pipeline()
    side = p.read_from(ps.sources.files(folder, format="csv", schema="one bigint, name string"), name="side")
    ticks = p.read_from(ps.sources.rate(20), name="ticks").with_columns(one="cast(1 as bigint)")
    ticks.hash_join(side, on="one", name="join").write_to(ps.sinks.noop(), name="out")
    return p
"""


@pytest.mark.long
def test_a_version_that_has_run_is_prepared_while_its_table_is_away(spark, tmp_path):
    folder, code = tmp_path / "dim", tmp_path / "joining.py"
    write(folder / "a.csv", "1,first\n")
    code.write_text(CODE)
    source = JobSource(str(code), args=(str(folder),))
    first = prepare(spark, source, {}, SourceSettings()).compiled
    plan = first.plan.to_dict()
    assert Tables(spark, tmp_path, first.pipeline).start() == ["first"]
    shutil.rmtree(folder)
    for kept in (None, KeptVersion(plan, tmp_path / "no checkpoint"), KeptVersion(None, tmp_path / "checkpoint")):
        with pytest.raises(PipelineError, match=r"Stage 'side' .*Path does not exist") as raised:
            prepare(spark, source, {}, SourceSettings(), kept)
        assert raised.value.details == {"restartable": True, "passing": True}
    again = prepare(spark, source, {}, SourceSettings(), KeptVersion(plan, tmp_path / "checkpoint")).compiled
    assert again.plan.to_dict() == plan
    assert Tables(spark, tmp_path, again.pipeline).start() == ["first"]


def test_a_database_that_is_away_is_tried_again_and_a_mistake_is_not(spark, tmp_path):
    def fails(error):
        asked = []

        def table(session):
            asked.append(None)
            raise error

        with pytest.raises(PitstopError) as raised:
            Tables(spark, tmp_path, joined(table)).tables.at_start()
        return raised.value.details, len(asked)

    assert fails(ConnectionError("db is down")) == ({"restartable": True, "passing": True}, 3)
    assert fails(KeyError("dsn")) == ({}, 1)


@pytest.mark.parametrize("how", ["left", "inner"])
def test_a_batch_is_joined_with_a_table_that_has_no_rows(spark, tmp_path, how):
    (tmp_path / "dim").mkdir()
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([(1,), (2,)], "one bigint"), name="rows")
    joined, sink = rows.hash_join(p.read_from(csv(tmp_path / "dim"), name="side"), on="one", name="join", how=how), Collected()
    joined.write_to(ps.sinks.custom(sink), name="out")
    ps.run(p, spark, data_dir=tmp_path / "data")
    assert sorted(row.one for row in sink.rows) == ([1, 2] if how == "left" else [])


@pytest.mark.parametrize("how", ["is away", "is half-written", "is half-written and has no schema"])
def test_a_batch_whose_table_cannot_be_read_says_so_in_a_sentence_with_stage_and_remedy(spark, tmp_path, how):
    folder, schema = tmp_path / "dim", None if how.endswith("no schema") else SCHEMA
    if how != "is away":
        folder.mkdir()
        (folder / "a.parquet").write_bytes(b"PAR1")
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([(1,)], "one bigint"), name="rows")
    side = p.read_from(ps.sources.files(folder, format="parquet", **({"schema": schema} if schema else {})), name="side")
    rows.hash_join(side, on="one", name="join").write_to(ps.sinks.custom(Collected()), name="out")
    with pytest.raises(PitstopError) as raised:
        ps.run(p, spark, data_dir=tmp_path / "data")
    message = raised.value.message
    assert "\n" not in message
    assert "Java" not in message
    assert re.search(r"[Ss]tage 'side' \(test_tables.py:\d+\)", message)
    assert str(folder) in message
    assert ("restore the complete table" if how == "is away" else "put it back") in message
    assert raised.value.details["passing"] is True


@pytest.mark.long
@pytest.mark.timeout(500)
def test_a_folder_that_is_overwritten_all_the_time_never_ends_a_job_and_its_values_are_right(spark, tmp_path):
    """A version has two files, and three rows in all; those of other versions are gone when its first one comes."""
    folder, sink, stop = tmp_path / "dim", Collected(), threading.Event()
    write(folder / "0a.csv", "1,0a\n1,0b\n")
    write(folder / "0b.csv", "1,0c\n")

    def overwrite():
        number = 0
        while not stop.is_set():
            number += 1
            for path in folder.iterdir():
                path.unlink()
            stop.wait(0.15)
            (folder / f"{number}a.csv").write_text(f"1,{number}a\n1,{number}b\n")
            (folder / f"{number}b.csv").write_text(f"1,{number}c\n")
            stop.wait(0.9)

    writer = threading.Thread(target=overwrite, daemon=True)
    job = ps.run(joined(csv(folder), sink, refresh="0.5 seconds"), spark, data_dir=tmp_path / "data")
    try:
        assert wait_until(lambda: sink.rows, 120)
        writer.start()
        assert wait_until(lambda: len({row.name for row in sink.rows}) >= 6 or not job.active, 120), "two versions"
    finally:
        stop.set()
    writer.join()
    last = min(folder.iterdir()).stem.rstrip("ab")
    assert wait_until(lambda: any(row.name == f"{last}a" for row in sink.rows) or not job.active, 120)
    assert job._run.failure() is None
    job.stop()
    names = {}
    for row in sink.rows:
        names.setdefault(row.sequence, []).append(row.name)
    assert list(names) == list(range(len(names))), "an inner join with an empty table would lose rows"
    versions = [int(each[0][:-1]) for each in names.values()]
    assert versions == sorted(versions)
    assert all(sorted(names[n]) == [f"{version}{part}" for part in "abc"] for n, version in enumerate(versions))


def test_dead_letters_of_a_table_are_refused_by_what_they_are(spark, tmp_path):
    p = ps.Pipeline()
    registry = ps.sources.files(tmp_path, "json", "k bigint, name string", streaming=False)
    names = p.read_from(registry, name="registry", dead_letters=ps.sinks.files(tmp_path / "letters", "json"))
    rows = p.read_from(ps.sources.rate(), name="rows").select("value AS k")
    rows.hash_join(names, on="k").write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match=r"is the table of a hash join, which is read whole\..* leave out its dead_letters"):
        compile_pipeline(spark, p)
