"""Delta tables as sinks: another library reads each row once, with the values that it had."""

import dataclasses
import json
import os
import re
import threading
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Field, QueryBuilder, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType

import pitstop as ps
from pitstop.errors import EngineError, FencedError, OtherEpochError, UsageError
from pitstop.kit.waiting import wait_until
from pitstop.maps.ports import Fence
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.sinks import EpochContext
from pitstop.spark.sinks.delta import KIND, check_columns, write_delta

pytestmark = [pytest.mark.spark]
DIGEST, OTHER = "a1" * 32, "b2" * 32
BERLIN = "Europe/Berlin"


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "tables" / "t")


@pytest.fixture
def write(spark, tmp_path, path):
    """Write rows as an epoch of a run, as the engine does. Rows: a DataFrame, or numbers."""

    def written(rows, epoch=0, lineage="l", token=1, digest=DIGEST, known_as=(), guarantee="EXACTLY_ONCE", **sink):
        frame = rows if hasattr(rows, "schema") else spark.createDataFrame([(n, f"w{n}") for n in rows], "n bigint, word string")
        run = Environment("job-1", "job", lineage, ProcessingGuarantee[guarantee], tmp_path, lambda *_: None)
        run = dataclasses.replace(run, fence=Fence("job-1", token), known_as=known_as)
        context = EpochContext("job", "sink", lineage, epoch, guarantee.lower(), run, digest)
        described = ps.sinks.delta(path, **sink)
        wrong = check_columns(described, frame)
        assert wrong is None, wrong
        return write_delta(described, frame, context)

    return written


def rows_in(path):
    return DeltaTable(path).to_pyarrow_table().to_pylist()


def numbers_in(path):
    return sorted(row["n"] for row in rows_in(path))


def files_below(path):
    return sorted(os.path.relpath(os.path.join(folder, name), path) for folder, _, names in os.walk(path) for name in names)


def data_files(path):
    return [name for name in files_below(path) if name.endswith(".parquet") and "_delta_log" not in name]


def log_of(path, version):
    return [json.loads(line) for line in open(f"{path}/_delta_log/{version:020}.json")]


VALUES = {
    "boolean": [True, False],
    "tinyint": [-128, 5],
    "smallint": [-32768, 7],
    "int": [-(2**31), 12],
    "bigint": [-(2**63), 2**53 + 1],
    "float": [1.5, -0.25],
    "double": [0.1, -1e300],
    "decimal(20,3)": [Decimal("12345678901234567.891"), Decimal("-0.100")],
    "string": ["a b/ü%=:\n'\"", "x" * 300],
    "date": [date(1, 1, 1), date(9999, 12, 31)],
    "timestamp": [datetime(2026, 10, 25, 0, 30, 0, 1, UTC), datetime(1900, 1, 1, 12, tzinfo=UTC)],
    "timestamp_ntz": [datetime(2026, 3, 29, 2, 30), datetime(2026, 1, 1, 0, 0, 0, 999_999)],
}


@pytest.fixture
def in_berlin(spark):
    """A session and a process with clocks that are changed, twice a year."""
    spark.conf.set("spark.sql.session.timeZone", BERLIN)


def frame_of(spark, kind, values):
    """Rows n, v: moments are given as numbers, for a datetime of Python's goes by the zone of the process."""
    if kind == "timestamp":
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        micros = [None if value is None else (value - epoch) // timedelta(microseconds=1) for value in values]
        return spark.createDataFrame(list(enumerate(micros)), "n bigint, v bigint").selectExpr("n", "timestamp_micros(v) AS v")
    return spark.createDataFrame(list(enumerate(values)), f"n bigint, v {kind}")


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_each_type_are_read_as_they_were(spark, in_berlin, path, write, kind):
    values = [*VALUES[kind], None]
    assert write(frame_of(spark, kind, values)) == 3
    assert {row["n"]: row["v"] for row in rows_in(path)} == dict(enumerate(values))


@pytest.mark.parametrize("kind", [kind for kind in VALUES if not kind.startswith("decimal")])
def test_partitions_have_values_of_each_type(spark, in_berlin, path, write, kind):
    values = [*VALUES[kind], None, VALUES[kind][0]]
    assert write(frame_of(spark, kind, values), partition_by="v") == 4
    assert DeltaTable(path).metadata().partition_columns == ["v"]
    assert {row["n"]: row["v"] for row in rows_in(path)} == dict(enumerate(values))
    for file in data_files(path):
        assert pq.ParquetFile(f"{path}/{file}").schema_arrow.names == ["n"]


def test_partitions_of_numbers_that_are_none_and_without_end_and_of_empty_texts(spark, path, write):
    odd = [float("nan"), float("inf"), float("-inf"), 1.0]
    rows = spark.createDataFrame([(n, v, "" if n % 2 else "full") for n, v in enumerate(odd)], "n bigint, v double, word string")
    write(rows, partition_by=("v", "word"))
    read = {row["n"]: (repr(row["v"]), row["word"]) for row in rows_in(path)}
    assert read == {0: ("nan", "full"), 1: ("inf", None), 2: ("-inf", "full"), 3: ("1.0", None)}


def test_nested_values_and_bytes_are_read_as_they_were(spark, in_berlin, path, write):
    rows = spark.range(1).selectExpr(
        "id AS n",
        "array(named_struct('at', timestamp_micros(5), 'deep', array(1L, NULL)), NULL) AS list",
        "map('k', named_struct('x', 1.25D), 'none', NULL) AS map",
        "X'00FF' AS raw",
        "named_struct('day', DATE'2026-11-01', 'price', 1.10BD) AS struct",
    )
    write(rows)
    [row] = rows_in(path)
    at = datetime(1970, 1, 1, 0, 0, 0, 5, UTC)
    assert row["list"] == [{"at": at, "deep": [1, None]}, None]
    assert dict(row["map"]) == {"k": {"x": 1.25}, "none": None}
    assert (row["raw"], row["struct"]) == (b"\x00\xff", {"day": date(2026, 11, 1), "price": Decimal("1.10")})


def columns_of_all_types(spark):
    return spark.range(0, 1000, numPartitions=1).selectExpr(
        "id AS n",
        "if(id % 2 = 0, NULL, concat('word-', id)) AS word",
        "repeat('x', 20 + id % 40) AS long_text",
        "timestamp_micros(1000000 + id * 1001) AS at",
        "TIMESTAMP_NTZ'2026-03-29 02:30:00' + make_dt_interval(0, 0, 0, id) AS clock",
        "double(id) AS number",
        "date_add(DATE'2026-01-01', int(id % 9)) AS day",
        "id % 3 = 0 AS third",
        "CAST(id - 0.25 AS DECIMAL(9, 2)) AS price",
        "CAST(NULL AS INT) AS none",
        "array(id) AS list",
        "binary(string(id)) AS raw",
    )


def test_the_log_keeps_bounds_by_which_readers_pass_over_files(spark, path, write):
    write(columns_of_all_types(spark))
    [add] = [line["add"] for line in log_of(path, 1) if "add" in line]
    stats = json.loads(add["stats"])
    assert stats["numRecords"] == 1000
    zeros = ("n", "long_text", "at", "clock", "number", "day", "third", "price")
    assert stats["nullCount"] == dict.fromkeys(zeros, 0) | {"word": 500, "none": 1000}
    assert stats["minValues"] == {
        **{"n": 0, "word": "word-1", "long_text": "x" * 20, "number": 0.0, "day": "2026-01-01", "third": False, "price": -0.25},
        **{"at": "1970-01-01T00:00:01.000Z", "clock": "2026-03-29T02:30:00.000"},
    }
    # 999 * 1001 us and one second are 1,999,999 us: the highest moment is before that millisecond ends.
    assert stats["maxValues"] == {
        **{"n": 999, "word": "word-999", "number": 999.0, "day": "2026-01-09", "third": True, "price": 998.75},
        **{"long_text": "x" * 32 + "\U0010ffff", "at": "1970-01-01T00:00:02.000Z", "clock": "2026-03-29T02:46:39.000"},
    }


CONDITIONS = {
    "n = 5": 1,
    "word IS NULL": 500,
    "word = 'word-999'": 1,
    f"long_text = '{'x' * 59}'": 25,
    "at >= TIMESTAMP'1970-01-01T00:00:01.999999Z'": 1,
    "clock = TIMESTAMP'2026-03-29T02:46:39'": 1,
    "number = 8.0": 1,
    "day = DATE'2026-01-09'": 111,
    "third": 334,
    "price = 4.75": 1,
    "none IS NULL": 1000,
    "raw = X'37'": 1,
}
"""Condition -> the number of rows among those of ``columns_of_all_types``, counted by hand."""


def counts(path, conditions):
    query = QueryBuilder().register("t", DeltaTable(path))
    return {
        each: pa.table(query.execute(f"SELECT count(*) AS c FROM t WHERE {each}").read_all())["c"][0].as_py()
        for each in conditions
    }


@pytest.mark.parametrize("odd", [None, "NaN", "Infinity"])
def test_no_reader_passes_over_a_row_that_it_looks_for(spark, path, write, odd):
    rows = columns_of_all_types(spark)
    write(rows if odd is None else rows.selectExpr("* EXCEPT (number)", f"if(n = 7, double('{odd}'), number) AS number"))
    assert counts(path, CONDITIONS) == CONDITIONS
    data, field = DeltaTable(path).to_pyarrow_dataset(), pa.compute.field
    last = datetime(1970, 1, 1, 0, 0, 1, 999_999, UTC)
    expressions = {
        "n = 5": field("n") == 5,
        "word IS NULL": field("word").is_null(),
        f"long_text = '{'x' * 59}'": field("long_text") == "x" * 59,
        "at >= TIMESTAMP'1970-01-01T00:00:01.999999Z'": field("at") >= pa.scalar(last, pa.timestamp("us", "UTC")),
        "clock = TIMESTAMP'2026-03-29T02:46:39'": field("clock") == datetime(2026, 3, 29, 2, 46, 39),
        "number = 8.0": field("number") == 8.0,
        "third": field("third"),
        "price = 4.75": field("price") == Decimal("4.75"),
        "none IS NULL": field("none").is_null(),
        "raw = X'37'": field("raw") == b"7",
    }
    assert {text: data.count_rows(each) for text, each in expressions.items()} == {text: CONDITIONS[text] for text in expressions}


def test_columns_that_the_rows_do_not_have_are_found_to_be_null(spark, path, write):
    write(spark.range(1).selectExpr("id AS n", "'w' AS word"))
    write(spark.range(5).selectExpr("id AS n"), epoch=1)
    assert counts(path, ["word IS NULL", "word = 'w'"]) == {"word IS NULL": 5, "word = 'w'": 1}
    assert DeltaTable(path).to_pyarrow_dataset().count_rows(pa.compute.field("word").is_null()) == 5


def test_tables_of_many_columns_are_read_by_any_of_them(spark, path, write):
    write(spark.range(3).selectExpr("id AS n", *(f"id + {at} AS c{at}" for at in range(60))))
    assert counts(path, ["n = 1", "c5 = 6", "c59 = 60"]) == {"n = 1": 1, "c5 = 6": 1, "c59 = 60": 1}
    assert DeltaTable(path).to_pyarrow_dataset().count_rows(pa.compute.field("c59") == 60) == 1


def test_an_epoch_that_is_written_again_adds_nothing_also_under_an_earlier_name(path, write):
    assert write(range(40)) == 40
    assert write(range(40)) == 0
    assert write(range(40), epoch=7, lineage="next", known_as=(("l", 0),), token=2) == 0
    assert write(range(40, 50), epoch=8, lineage="next", token=2, digest=OTHER) == 10
    assert numbers_in(path) == list(range(50))


def test_marks_are_in_the_log_as_delta_has_them(path, write):
    write([1], epoch=3, token=9)
    table = DeltaTable(path)
    marks = [
        table.transaction_version(name) for name in ("pitstop:epoch/l/sink", "pitstop:digest/l/sink", "pitstop:run/job-1/sink")
    ]
    assert marks == [3, int(DIGEST[:15], 16), 9]
    assert table.history(1)[0]["pitstop"] == {"job": "job", "stage": "sink", "lineage": "l", "epoch": 3}


def test_marks_are_found_in_a_checkpoint_of_the_log(path, write):
    write([1])
    DeltaTable(path).create_checkpoint()
    os.unlink(f"{path}/_delta_log/{0:020}.json")
    assert write([1]) == 0
    assert write([2], epoch=1) == 1
    assert numbers_in(path) == [1, 2]


@pytest.mark.parametrize(
    "of_before",
    [
        {"digest": OTHER},
        {"epoch": 1},
        {"lineage": "older", "epoch": 5},
        {"lineage": "older", "epoch": 5, "token": 3},
        {"lineage": "older", "epoch": 5, "known_as": (("l", 1),)},
    ],
    ids=["other rows", "earlier epoch", "same run", "earlier run", "earlier epoch by an older name"],
)
def test_an_epoch_of_a_state_that_was_put_back_is_refused_and_leaves_nothing(path, write, of_before):
    write([1], epoch=2, token=4)
    before = files_below(path)
    with pytest.raises(OtherEpochError, match=f"Sink 'sink': the table {path} has another epoch"):
        write([2], **({"epoch": 2, "token": 4} | of_before))
    assert files_below(path) == before
    assert numbers_in(path) == [1]


def test_a_run_that_has_lost_its_job_writes_nothing(spark, path, write, tmp_path):
    class Lost:
        def check(self):
            raise FencedError("lost")

    write([1])
    run = Environment("job-1", "job", "l", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None, ownership=Lost())
    with pytest.raises(FencedError):
        write_delta(
            ps.sinks.delta(path), spark.range(3).toDF("n"), EpochContext("job", "sink", "l", 1, "exactly_once", run, OTHER)
        )
    assert (numbers_in(path), len(data_files(path))) == ([1], 1)


def test_a_run_that_loses_its_job_while_it_writes_commits_nothing(spark, path, write, tmp_path):
    class Losing:
        def check(self):
            pass

        def held(self):
            raise FencedError("lost")

    write([1])
    run = Environment("job-1", "job", "l", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None, ownership=Losing())
    context = EpochContext("job", "sink", "l", 1, "exactly_once", run, OTHER)
    with pytest.raises(FencedError):
        write_delta(ps.sinks.delta(path), spark.createDataFrame([(2, "w")], "n bigint, word string"), context)
    assert numbers_in(path) == [1]


def test_at_least_once_keeps_no_marks(path, write):
    assert [write([1], guarantee="AT_LEAST_ONCE") for _ in range(2)] == [1, 1]
    assert numbers_in(path) == [1, 1]
    assert DeltaTable(path).transaction_version("pitstop:epoch/l/sink") is None


def test_an_epoch_without_rows_makes_the_table_and_commits_nothing_to_it(spark, path, write):
    empty = spark.range(0).selectExpr("id AS n", "'x' AS word")
    assert [write(empty), write(empty, epoch=1)] == [0, 0]
    assert (DeltaTable(path).version(), rows_in(path)) == (0, [])
    assert data_files(path) == []


def test_writers_beside_one_another_lose_nothing(path, write):
    """Other writers append, and one takes the epoch's name, between the time when an epoch is read and its commit."""
    write([0])
    ended, count = threading.Event(), 0

    def append():
        nonlocal count
        while not ended.is_set():
            write_deltalake(path, pa.table({"n": pa.array([-1], pa.int64()), "word": ["theirs"]}), mode="append")
            count += 1

    other = threading.Thread(target=append)
    other.start()
    try:
        assert wait_until(lambda: count > 2, 30)
        for epoch in range(1, 6):
            assert write([epoch], epoch=epoch) == 1
    finally:
        ended.set()
        other.join()
    assert numbers_in(path) == [*[-1] * count, *range(6)]


def test_of_two_writers_of_one_epoch_one_writes_it(path, write, monkeypatch):
    """A run that lost its job, and does not know it, commits the epoch while this one writes its files."""
    write([0])
    create, rivals = DeltaTable.create_write_transaction, []

    def late(table, *arguments, **options):
        if not rivals:
            rivals.append("was here")
            rival = pa.table({"n": pa.array([1], pa.int64()), "word": ["w1"]})
            marks = [Transaction("pitstop:epoch/l/sink", 1), Transaction("pitstop:digest/l/sink", int(OTHER[:15], 16))]
            write_deltalake(path, rival, mode="append", commit_properties=CommitProperties(app_transactions=marks))
        return create(table, *arguments, **options)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", late)
    write([1], epoch=1, digest=OTHER)
    assert numbers_in(path) == [0, 1]


def test_a_commit_whose_answer_is_lost_keeps_its_files(path, write, monkeypatch):
    create = DeltaTable.create_write_transaction

    def answer_is_lost(table, *arguments, **options):
        create(table, *arguments, **options)
        raise CommitFailedError("lost")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", answer_is_lost)
    assert write([1, 2]) == 2
    assert numbers_in(path) == [1, 2]


def test_schemas(spark, path, write):
    write([1])
    wider = spark.createDataFrame([(2, "w", 0.5)], "n bigint, word string, more double")
    assert check_columns(ps.sinks.delta(path), wider) == (
        "the table has no column 'more'. It has: n, word. Drop the column, or let the sink add it with schema_mode=\"merge\"."
    )
    assert write(wider, epoch=1, schema_mode="merge") == 1
    assert write(spark.createDataFrame([("v", 3)], "word string, n bigint"), epoch=2) == 1
    assert sorted(rows_in(path), key=lambda row: row["n"]) == [
        {"n": 1, "word": "w1", "more": None},
        {"n": 2, "word": "w", "more": 0.5},
        {"n": 3, "word": "v", "more": None},
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("id AS n, 5 AS word", "column 'word' is int in the rows and string in the table: cast it, or write into another table."),
        ("id AS N, 'x' AS word", "column 'N' is 'n' in the table: give it that name."),
        (
            "id AS n, array(named_struct('a', 1)) AS word",
            "column 'word' is array<struct<a:int>> in the rows and string in the table: ",
        ),
    ],
)
def test_rows_that_do_not_fit_the_table_are_refused_with_the_difference(spark, path, write, columns, message):
    write([1])
    rows = spark.range(1).selectExpr(*columns.split(", ", 1))
    assert check_columns(ps.sinks.delta(path, schema_mode="merge"), rows).startswith(message)


@pytest.mark.parametrize(
    ("columns", "partition_by", "message"),
    [
        (("id", "NULL AS none"), (), "column 'none' has values of type void, and a Delta table has no place for them"),
        (("id", "INTERVAL '1' DAY AS i"), (), "column 'i' has values of type interval day, and a Delta table has no place"),
        (("id AS `a b`",), (), "a Delta table has no column 'a b'"),
        (("id", "named_struct('x=', 1) AS s"), (), "a Delta table has no column 'x='"),
        (("id", "id AS ID"), (), "columns 'id' and 'ID' are one column of a Delta table: rename one."),
        (("id",), "day", "there is no column 'day' to partition by. There are: id."),
        (("id",), "id", "all columns are to partition by, so its files would hold nothing: leave one out."),
        (
            ("id", "X'00' AS raw"),
            "raw",
            "column 'raw' is binary: partition by a text, a whole number, a boolean, a date or a time.",
        ),
        (("id", "1.5BD AS d"), "d", "column 'd' is decimal(2,1): partition by a text"),
    ],
)
def test_what_no_table_can_hold_is_refused(spark, path, columns, partition_by, message):
    spark.conf.set("spark.sql.caseSensitive", "true")
    wrong = check_columns(ps.sinks.delta(path, partition_by=partition_by), spark.range(1).selectExpr(*columns))
    assert wrong.startswith(message)


def test_a_table_with_other_partitions_or_rules_is_refused(spark, path, tmp_path):
    rows = spark.createDataFrame([(1, "w")], "n bigint, word string")
    write_deltalake(path, pa.table({"n": [1], "word": ["w"]}), partition_by=["word"])
    assert check_columns(ps.sinks.delta(path, partition_by="n"), rows) == (
        "it partitions by n, and the table is by word: write partition_by as the table has it."
    )
    assert check_columns(ps.sinks.delta(path), rows) is None
    assert check_columns(ps.sinks.delta(path), rows.select("n")) == (
        "the table is partitioned by 'word', and the rows do not have it: add it to the rows."
    )
    DeltaTable(path).alter.add_constraint({"positive": "n > 0"})
    assert check_columns(ps.sinks.delta(path), rows) == (
        "the table has a rule for its rows (delta.constraints.positive), which this sink does not check."
    )


def test_a_null_in_a_column_that_is_never_null_fails_the_epoch_and_leaves_nothing(spark, path, write):
    DeltaTable.create(path, Schema([Field("n", PrimitiveType("long"), nullable=False), Field("word", PrimitiveType("string"))]))
    assert check_columns(ps.sinks.delta(path), spark.createDataFrame([("w",)], "word string")) == (
        "column 'n' of the table is never null, and the rows do not have it: add it to the rows."
    )
    assert write([1]) == 1
    with pytest.raises(EngineError, match="column 'n' of the table is never null, and it is null in rows"):
        write([2, None], epoch=1)
    assert (numbers_in(path), len(data_files(path))) == ([1], 1)


def test_rows_that_fail_are_in_no_table_and_are_written_again(spark, path, write):
    rows = "id AS n", "if(id = 19999 AND {}, raise_error('bad'), 'w') AS word"
    for fails in ("true", "false"):
        epoch = spark.range(0, 20000, numPartitions=1).selectExpr(*(column.format(fails) for column in rows))
        if fails == "true":
            with pytest.raises(Exception, match="bad"):
                write(epoch)
            assert DeltaTable(path).version() == 0
        else:
            assert write(epoch) == 20_000
    assert numbers_in(path) == list(range(20_000))


def test_an_epoch_of_many_rows_has_a_file_of_each_task_with_large_groups_of_rows(spark, path, write):
    write(spark.range(0, 300_000, numPartitions=2).selectExpr("id AS n", "uuid() AS word"))
    files = [pq.ParquetFile(f"{path}/{name}") for name in data_files(path)]
    assert [(file.metadata.num_rows, file.num_row_groups) for file in files] == [(150_000, 1)] * 2
    assert sum(row["n"] for row in DeltaTable(path).to_pyarrow_table(columns=["n"]).to_pylist()) == 300_000 * 299_999 // 2


def test_others_may_read_the_table_of_a_private_run(path, write, monkeypatch):
    monkeypatch.setenv("PITSTOP_USUAL_UMASK", "22")
    before = os.umask(0o077)
    try:
        write([1], partition_by="word")
        write([2], epoch=1, partition_by="word")
    finally:
        os.umask(before)
    modes = {name: oct(os.stat(f"{path}/{name}").st_mode & 0o777) for name in [*files_below(path), ".", "_delta_log", "word=w1"]}
    assert {name: mode for name, mode in modes.items() if mode not in ("0o644", "0o755")} == {}


def test_a_job_that_reads_the_files_of_its_own_table_is_known(path):
    assert KIND.example(ps.sinks.delta(path, partition_by="day"), "sink").startswith(f"{path}/day=value/part-")
    assert KIND.place(ps.sinks.delta(path)) == f"the folder {path}"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"path": "hdfs://b/t"}, "A Delta table must lie in a folder"), ({"schema_mode": "overwrite"}, 'schema_mode is "merge"')],
)
def test_what_cannot_be_a_sink_is_told_when_it_is_written(wrong, message):
    with pytest.raises(UsageError, match=message):
        ps.sinks.delta(**({"path": "t"} | wrong))


@pytest.mark.long
def test_the_example_of_the_documentation_runs(spark, tmp_path, path, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[3] / "docs" / "delta.md").read_text(), re.DOTALL)
    names = {}
    exec(blocks[0], names)
    folder = tmp_path / "cars"
    folder.mkdir()
    (folder / "1.csv").write_text("a,1.5,2026-11-01\nb,2.5,2026-11-02\n")
    job = ps.run(names["readings"](str(folder), path), spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: DeltaTable.is_deltatable(path) and len(rows_in(path)) == 2, 100)
    job.stop()
    assert sorted((row["vin"], row["speed"], row["day"]) for row in rows_in(path)) == [
        ("a", 1.5, date(2026, 11, 1)),
        ("b", 2.5, date(2026, 11, 2)),
    ]
    for block in blocks[1:]:
        exec(block.replace("/data/readings", path), {})
    assert len(rows_in(path)) == 2
    assert "2026-11-02" in capsys.readouterr().out


def test_the_last_moment_that_a_time_can_be_is_written(spark, path, write):
    end = datetime(9999, 12, 31, 23, 59, 59, 999999)
    assert write(frame_of(spark, "timestamp_ntz", [end])) == 1
    assert [row["v"] for row in rows_in(path)] == [end]


def test_an_empty_text_is_no_value_of_a_partition_that_is_never_null(spark, path, write):
    DeltaTable.create(path, Schema([Field("n", "long"), Field("word", "string", nullable=False)]), partition_by=["word"])
    with pytest.raises(EngineError, match="column 'word' of the table is never null, and an empty text to partition by is null"):
        write(spark.createDataFrame([(1, "")], "n bigint, word string"))
    assert DeltaTable(path).version() == 0


def test_small_files_become_one_after_so_many_epochs_and_no_row_is_new(write, path):
    for epoch in range(5):
        write([2 * epoch, 2 * epoch + 1], epoch, target_file_size="1 MB", compact_every=4)
    table = DeltaTable(path)
    assert numbers_in(path) == list(range(10))
    sizes = [len(DeltaTable(path, version=version).file_uris()) for version in range(table.version() + 1)]
    operations = [entry["operation"] for entry in reversed(table.history())]
    at = operations.index("OPTIMIZE")
    assert (operations.count("OPTIMIZE"), sizes[at], sizes[at - 1] > 1) == (1, 1, True)
    assert at == len(operations) - 2, "after the fourth of five epochs"
    changes = [action for action in log_of(path, at) if "add" in action or "remove" in action]
    assert not any((action.get("add") or action["remove"])["dataChange"] for action in changes)


def test_files_stay_small_without_a_target_and_while_an_update_is_on_trial(write, path, monkeypatch):
    for epoch in range(2):
        write([epoch], epoch)
    monkeypatch.setattr("pitstop.control.ports.ownership.NoOtherRun.held", lambda self: nullcontext(3))
    write([2], 2, target_file_size="1 MB", compact_every=1)
    assert "OPTIMIZE" not in {entry["operation"] for entry in DeltaTable(path).history()}


def test_a_compaction_that_fails_is_a_warning_and_its_epoch_is_written(write, path, monkeypatch):
    def fails(*_, **__):
        raise CommitFailedError("another writer was first")

    monkeypatch.setattr("deltalake.table.TableOptimizer.compact", fails)
    assert write([1, 2], target_file_size="1 MB", compact_every=1) == 2
    assert numbers_in(path) == [1, 2]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target_file_size": "big"}, 'target_file_size is a size above 0, such as "128 MB" or "1 GiB", not \'big\''),
        ({"target_file_size": "1 MB", "compact_every": 0}, "compact_every is a number of epochs from 1 on, not 0"),
        ({"compact_every": 7}, "compact_every needs a target_file_size"),
    ],
)
def test_a_wrong_compaction_is_refused(options, sentence):
    with pytest.raises(UsageError, match=re.escape(sentence)):
        ps.sinks.delta("/t", **options)
