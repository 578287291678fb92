"""Delta tables as sources of jobs: each row once over versions, kills and branches, and what does not fit is told."""

import json
import shutil
import time

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.looking import findings
from pitstop.spark.sources.delta import KIND
from pitstop.sql.programs import read_program
from tests.spark.harness import Collected, Harness, check

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def table(tmp_path):
    return tmp_path / "tables" / "t"


class DeltaHarness(Harness):
    """Runs a version of a job until ``until()``, or until it has nothing more to read."""

    def wait_for(self, running, until):
        assert wait_until(lambda: not running.active or (until or Settled(running))(), 120, step=0.02)
        check(running)


class Settled:
    """True once the last committed epoch has read all of a table."""

    def __init__(self, running):
        self.running = running

    def __call__(self):
        offset = place(self.running)
        if offset is None or not offset["table"]:
            return False
        newest = DeltaTable(self.running_table(offset)).version()
        return not offset["snapshot"] and offset["version"] == newest + 1

    def running_table(self, offset):
        return TABLES[offset["table"]]


TABLES = {}
"""Id of a table -> its folder."""


def place(running):
    """Return the offset behind the last committed epoch."""
    epoch = running.checkpoint.committed()
    return json.loads(running.checkpoint.offsets(epoch).offsets[0]) if epoch >= 0 else None


@pytest.fixture
def harness(spark, tmp_path):
    return DeltaHarness(spark, tmp_path)


def append(table, numbers, parts=("a",), **more):
    rows = [(n, part) for part in parts for n in numbers]
    data = pa.table({"n": pa.array([n for n, _ in rows], pa.int64()), "part": [part for _, part in rows]})
    write_deltalake(table, data, mode=more.pop("mode", "append"), partition_by=["part"], **more)
    TABLES[str(DeltaTable(table).metadata().id)] = str(table)


def numbers_of(table, sink, schema="n bigint, part string", **options):
    p = ps.Pipeline()
    p.read_from(ps.sources.delta(str(table), schema, **options), name="numbers").write_to(ps.sinks.custom(sink), name="sink")
    return p


class Slow(Collected):
    """A sink that takes its time, so that a job is stopped between two epochs."""

    def write(self, rows, info):
        super().write(rows, info)
        time.sleep(0.3)


@pytest.mark.long
def test_each_row_is_read_once_over_versions_that_stop_in_the_middle_of_a_commit(harness, table):
    append(table, range(5), parts="abcdefgh")
    append(table, range(5, 8), parts="abcdef")
    first, second = Slow(), Collected()
    harness.run(numbers_of(table, first, start=0, max_files=1), until=lambda: len(first.rows) >= 15)
    offset = json.loads(
        (harness.folder / "checkpoint-0" / "offsets").joinpath(str(max(first.epochs))).read_text().splitlines()[2]
    )
    assert 3 <= offset["file"] < 8, "the first version was stopped within the commit"
    assert {len(rows) for rows in first.epochs.values()} <= {0, 5}, "an epoch is a file"
    DeltaTable(table).optimize.compact()
    append(table, [8])
    # Another plan keeps the source's place: other limits, one column alone.
    p = ps.Pipeline()
    source = ps.sources.delta(str(table), "n bigint", max_files=100, start="latest")
    p.read_from(source, name="numbers").with_columns(part="''").write_to(ps.sinks.custom(second), name="sink")
    harness.run(p)
    expected = [*(n for n in range(5) for _ in "abcdefgh"), *(n for n in range(5, 8) for _ in "abcdef"), 8]
    assert sorted(row.n for row in first.rows + second.rows) == expected


@pytest.mark.long
def test_a_stateful_stage_goes_on_from_the_place_of_the_table(harness, table):
    append(table, range(10), parts="ab")
    first, second = Collected(), Collected()

    def counts(sink):
        p = ps.Pipeline()
        rows = p.read_from(ps.sources.delta(str(table)), name="numbers")
        rows.group_by("part").rolling_aggregate("counted", seen=ps.count()).write_to(ps.sinks.custom(sink), name="sink")
        return p

    harness.run(counts(first))
    append(table, range(10, 15), parts="ab")
    harness.run(counts(second))
    assert sorted((row.part, row.seen) for row in second.rows) == [(part, n) for part in "ab" for n in range(11, 16)]


@pytest.mark.long
def test_both_branches_of_a_table_that_is_merged_with_itself_read_the_same(harness, table):
    for n in range(6):
        append(table, [n])
    sink = Collected()
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.delta(str(table), start=0, max_files=1), name="numbers")
    low = rows.filter("n < 3").select("n", "'low' AS branch")
    low.merge(rows.select("n", "'all' AS branch")).write_to(ps.sinks.custom(sink), name="sink")
    harness.run(p)
    assert sorted((row.n, row.branch) for row in sink.rows) == sorted(
        [*((n, "all") for n in range(6)), *((n, "low") for n in range(3))]
    )


@pytest.mark.long
def test_an_epoch_that_failed_is_read_again_as_it_was(harness, table):
    append(table, [1, 2])

    class Broken(Collected):
        broken = True

        def write(self, rows, info):
            if self.broken and rows.count():
                raise RuntimeError("the sink is broken")
            super().write(rows, info)

    sink, checkpoint = Broken(), harness.folder / "checkpoint"
    running = harness.start(numbers_of(table, sink), checkpoint, 2)
    assert wait_until(lambda: not running.active, 60)
    append(table, [3])
    DeltaTable(table).delete("n = 1")
    sink.broken = False
    with pytest.raises(Exception, match="has commits that remove or rewrite rows: version 2, DELETE"):
        harness.wait_for(harness.start(numbers_of(table, sink), checkpoint, 2), lambda: False)
    assert sorted(row.n for row in sink.rows) == [1, 2, 3]
    assert sorted(row.n for row in sink.epochs[1]) == [1, 2], "the snapshot as it was"


def test_the_rows_of_a_change_feed_have_their_kind_version_and_time(harness, table):
    append(table, [1, 2], configuration=FEED)
    sink = Collected()
    running = harness.start(numbers_of(table, sink, changes=True), harness.folder / "checkpoint", 2)
    harness.wait_for(running, lambda: len(sink.rows) == 2)
    DeltaTable(table).update(updates={"n": "n + 10"}, predicate="n = 1")
    DeltaTable(table).delete("n = 2")
    harness.wait_for(running, lambda: len(sink.rows) == 5)
    running.stop(60)
    assert sorted((row["_commit_version"], row["_change_type"], row.n) for row in sink.rows) == [
        (0, "insert", 1),
        (0, "insert", 2),
        (1, "update_postimage", 11),
        (1, "update_preimage", 1),
        (2, "delete", 2),
    ]
    feed = pa.RecordBatchReader.from_stream(DeltaTable(table).load_cdf(0)).read_all().to_pylist()
    times = {row["_commit_version"]: row["_commit_timestamp"] for row in feed}
    assert all(row["_commit_timestamp"].replace(tzinfo=None) == times[row["_commit_version"]] for row in sink.rows)


@pytest.mark.long
def test_a_table_that_was_made_anew_fails_the_job_or_is_read_from_its_beginning(harness, table):
    append(table, range(3))
    first, second = Collected(), Collected()
    harness.run(numbers_of(table, first))
    shutil.rmtree(table)
    for n in (10, 11, 12):
        append(table, [n])
    with pytest.raises(Exception, match="was deleted and created again: its id is"):
        harness.run(numbers_of(table, Collected()), until=lambda: False)
    harness.run(numbers_of(table, second, on_loss="continue"))
    assert sorted(row.n for row in second.rows) == [10, 11, 12]


@pytest.mark.long
def test_an_epoch_brings_no_more_than_its_share(harness, table, tmp_path):
    for n in range(8):
        append(table, [n])
    admission = tmp_path / "admission.json"
    admission.write_text(json.dumps({"share": 0.2}))
    rows = KIND.stream(
        harness.spark, ps.sources.delta(str(table), "n bigint", start=0, max_files=10), {"admission": str(admission)}
    )
    sizes = []
    query = rows.writeStream.foreachBatch(lambda frame, epoch: sizes.append(frame.count())).start()
    try:
        assert wait_until(lambda: sum(sizes) == 8, 60)
    finally:
        query.stop()
    assert max(sizes) == 2


@pytest.mark.long
def test_a_job_of_tables_that_end_reads_what_is_there(spark, table, tmp_path):
    append(table, range(5))
    append(table, range(5, 8))
    DeltaTable(table).delete("n = 3")
    sink = Collected()
    ps.run(numbers_of(table, sink, streaming=False), spark, data_dir=tmp_path / "data")
    assert sorted(row.n for row in sink.rows) == [0, 1, 2, 4, 5, 6, 7]
    p = numbers_of(table, sink, streaming=False)
    p.read_from(ps.sources.rate(1), name="ticks").write_to(ps.sinks.noop(), name="ticks-out")
    with pytest.raises(PipelineError, match=r"ends, but the other sources do not: read the table with streaming=True"):
        compile_pipeline(spark, p)


def test_a_table_is_the_side_of_a_hash_join(spark, table, tmp_path):
    write_deltalake(table, pa.table({"n": pa.array([0, 1], pa.int64()), "word": ["zero", "one"]}))
    sink, p = Collected(), ps.Pipeline()
    side = p.read_from(ps.sources.delta(str(table), streaming=False), name="words")
    rows = p.read_from(ps.sources.items([[0], [1], [2]], "n bigint"), name="numbers")
    rows.hash_join(side, on="n", name="joined").write_to(ps.sinks.custom(sink), name="out")
    ps.run(p, spark, data_dir=tmp_path / "data")
    assert sorted(((row.n, row.word) for row in sink.rows), key=str) == [(0, "zero"), (1, "one"), (2, None)]


@pytest.mark.parametrize(
    ("schema", "options", "sentence"),
    [
        ("n bigint, more int", {}, r"has no column 'more'\. It has: n, part"),
        ("n int", {}, "has column 'n' as bigint, but the schema of the source says int: write bigint there"),
        (None, {"changes": True}, r"keeps no change data feed: set its property delta\.enableChangeDataFeed to true"),
    ],
)
def test_what_does_not_fit_a_table_is_refused_and_told_by_check(spark, table, schema, options, sentence):
    append(table, [1])
    p = numbers_of(table, Collected(), schema, **options)
    with pytest.raises(PipelineError, match=sentence):
        compile_pipeline(spark, p)


def test_check_tells_what_is_in_a_table_and_that_one_is_not_there(spark, table, tmp_path):
    append(table, [1], configuration=FEED)
    append(table, [2])
    p = numbers_of(table, Collected())
    p.read_from(ps.sources.delta(str(tmp_path / "nowhere"), "n bigint"), name="later").write_to(ps.sinks.noop(), name="noop")
    sentences = findings(spark, p, compile_pipeline(spark, p))
    there = f"reads the table {table}: version 1, with a change data feed, with the columns n bigint, part string."
    assert sentences[0].endswith(there)
    assert sentences[1].endswith(f"waits for the Delta table {tmp_path / 'nowhere'}, which is not there now.")
    with pytest.raises(
        PipelineError, match=r"There is no Delta table .*nowhere from which to read the columns: give the source a schema"
    ):
        compile_pipeline(spark, numbers_of(tmp_path / "nowhere", Collected(), None))


def test_a_job_that_would_read_its_own_table_is_known(table):
    example = str(table / "part=a" / "part-00000.c000.snappy.parquet")
    assert KIND.reads(ps.sources.delta(str(table), "n int"), example)
    assert not KIND.reads(ps.sources.delta(str(table.parent / "other"), "n int"), example)


def test_a_job_in_sql_reads_one_table_and_writes_another(spark, harness, table, tmp_path):
    out = tmp_path / "out"
    append(table, range(6), parts="ab", configuration=FEED)
    DeltaTable(table).delete("n = 5 AND part = 'b'")
    text = f"""
        CREATE MAPPING numbers (num BIGINT EXTERNAL NAME n, part VARCHAR, kind VARCHAR EXTERNAL NAME _change_type)
            TYPE Delta OPTIONS ('path' = '{table}', 'changes' = 'true', 'start' = '0');
        CREATE MAPPING copies (word VARCHAR EXTERNAL NAME "part", kind VARCHAR, twice BIGINT)
            TYPE Delta OPTIONS ('path' = '{out}', 'partitionBy' = 'word');
        CREATE JOB copying AS INSERT INTO copies (twice, word, kind) SELECT num * 2, part, kind FROM numbers WHERE num > 3;
    """
    harness.run(read_program(text).definition().build(()))
    copies = DeltaTable(out)
    assert copies.metadata().partition_columns == ["part"]
    assert sorted((row["part"], row["kind"], row["twice"]) for row in copies.to_pyarrow_table().to_pylist()) == [
        ("a", "insert", 8),
        ("a", "insert", 10),
        ("b", "delete", 10),
        ("b", "insert", 8),
        ("b", "insert", 10),
    ]


@pytest.mark.long
def test_the_way_from_table_to_table_keeps_values(spark, table, tmp_path):
    out = tmp_path / "out"
    values = "id bigint, word string, at timestamp, tags array<string>, pairs map<string,int>, price decimal(10,2)"
    rows = [[1, "a", "2026-11-01T10:00:00.123456", ["x"], {"k": 1}, "-1.50"], [2, None, None, None, None, None]]
    p = ps.Pipeline()
    p.read_from(ps.sources.items(rows, values), name="rows").write_to(ps.sinks.delta(str(table)), name="table")
    ps.run(p, spark, data_dir=tmp_path / "one")
    p = ps.Pipeline()
    copies = p.read_from(ps.sources.delta(str(table), streaming=False), name="rows")
    copies.write_to(ps.sinks.delta(str(out), partition_by="word"), name="copy")
    ps.run(p, spark, data_dir=tmp_path / "two")

    def content(path):
        return sorted(DeltaTable(path).to_pyarrow_table().to_pylist(), key=lambda row: row["id"])

    assert content(out) == content(table)
    assert len(content(out)) == 2
