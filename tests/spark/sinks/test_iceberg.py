"""Iceberg tables as sinks: each row is there once, with the values that it had, in files as the table wants them."""

import dataclasses
import os
import re
import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, TimestamptzType
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import EngineError, FencedError, OtherEpochError
from pitstop.kit.waiting import wait_until
from pitstop.maps.ports import Fence
from pitstop.model.config import ProcessingGuarantee
from pitstop.outputs.iceberg_commits import noted_iceberg_commits
from pitstop.spark.base.environment import Environment
from pitstop.spark.sinks import EpochContext
from pitstop.spark.sinks.iceberg import KIND, check_columns, write_iceberg

pytestmark = [pytest.mark.spark]
DIGEST, OTHER = "a1" * 32, "b2" * 32
NAME = "shop.words"
EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def properties(tmp_path):
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}


@pytest.fixture
def catalog(properties):
    return load_catalog("default", **properties)


@pytest.fixture
def write(spark, tmp_path, properties):
    """Write rows as an epoch of a run, as the engine does. Rows: a DataFrame, or numbers."""

    def written(rows, epoch=0, lineage="l", token=1, digest=DIGEST, known_as=(), guarantee="EXACTLY_ONCE", run=None, **sink):
        frame = rows if hasattr(rows, "schema") else spark.createDataFrame([(n, f"w{n}") for n in rows], "n bigint, word string")
        usual = Environment("job-1", "job", lineage, ProcessingGuarantee[guarantee], tmp_path, lambda *_: None)
        usual = dataclasses.replace(usual, fence=Fence("job-1", token), known_as=known_as)
        context = EpochContext("job", "sink", lineage, epoch, guarantee.lower(), run or usual, digest)
        described = ps.sinks.iceberg(NAME, catalog=properties, **sink)
        wrong = check_columns(described, frame)
        assert wrong is None, wrong
        return write_iceberg(described, frame, context)

    return written


@pytest.fixture
def files(catalog):
    """The data files of the table as Parquet files, by their paths, read without PyIceberg."""
    return lambda: [path.removeprefix("file://") for path in catalog.load_table(NAME).inspect.files()["file_path"].to_pylist()]


@pytest.fixture
def numbers(files):
    return lambda: sorted(n for path in files() for n in pq.ParquetFile(path).read(columns=["n"])["n"].to_pylist())


def all_files(tmp_path):
    return sorted(str(path) for path in (tmp_path / "warehouse").rglob("*") if path.is_file())


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
    "binary": [b"\x00\xff", b""],
    "date": [date(1, 1, 1), date(9999, 12, 31)],
    "timestamp": [datetime(2026, 10, 25, 0, 30, 0, 1, UTC), datetime(1900, 1, 1, 12, tzinfo=UTC)],
    "timestamp_ntz": [datetime(2026, 3, 29, 2, 30), datetime(2026, 1, 1, 0, 0, 0, 999_999)],
    "struct<at: date, deep: array<bigint>>": [{"at": date(2026, 11, 1), "deep": [1, None]}, {"at": None, "deep": None}],
    "map<string, double>": [[("k", 1.25), ("none", None)], []],
}


def test_values_of_each_type_are_read_as_they_were(spark, catalog, files, write):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    expected = {kind: [*values, None] for kind, values in VALUES.items()}
    given = expected | {
        kind: [None if v is None else dict(v) for v in expected[kind]] for kind in expected if kind.startswith("map")
    }
    # Moments are given as numbers, for a datetime of Python's goes by the zone of the process.
    moments = [None if at is None else (at - EPOCH_START) // timedelta(microseconds=1) for at in expected["timestamp"]]
    given |= {"timestamp": moments}
    kinds = ["bigint" if kind == "timestamp" else kind for kind in given]
    rows = spark.createDataFrame(
        list(zip(range(3), *given.values(), strict=True)),
        ", ".join(["n bigint", *(f"c{at} {kind}" for at, kind in enumerate(kinds))]),
    )
    at = list(given).index("timestamp")
    assert write(rows.withColumn(f"c{at}", F.timestamp_micros(f"c{at}"))) == 3
    read_by_scan = catalog.load_table(NAME).scan().to_arrow().to_pylist()
    read_from_files = [row for path in files() for row in pq.ParquetFile(path).read().to_pylist()]
    for read in (read_by_scan, read_from_files):
        ordered = sorted(read, key=lambda row: row["n"])
        values = {kind: [_sorted_maps(row[f"c{place}"]) for row in ordered] for place, kind in enumerate(expected)}
        assert values == expected


def _sorted_maps(value):
    return sorted(value) if isinstance(value, list) else value


MORNING, EVENING = datetime(2026, 11, 1, 8, tzinfo=UTC), datetime(2026, 11, 1, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("partition_by", "folders"),
    [
        ("word", {"word=a", "word=b"}),
        ("day(at)", {"at_day=2026-11-01", "at_day=2026-11-02"}),
        ("hours(at)", {"at_hour=2026-11-01-08", "at_hour=2026-11-01-20", "at_hour=2026-11-02-08"}),
        (("truncate(1, word)", "year(at)"), {"word_trunc_1=a/at_year=2026", "word_trunc_1=b/at_year=2026"}),
    ],
)
def test_a_table_is_partitioned_by_columns_and_transforms(spark, catalog, files, write, partition_by, folders):
    micros = [(at - EPOCH_START) // timedelta(microseconds=1) for at in (MORNING, EVENING, MORNING + timedelta(days=1))]
    rows = spark.createDataFrame([(n, "ab"[n % 2], at) for n, at in enumerate(micros)], "n bigint, word string, at bigint")
    rows = rows.repartition(1).selectExpr("n", "word", "timestamp_micros(at) AS at")
    write(rows, partition_by=partition_by)
    assert {os.path.dirname(path.partition("/data/")[2]) for path in files()} == folders
    # A second epoch follows the table, whatever the sink says of it.
    write(rows, epoch=1)
    assert {os.path.dirname(path.partition("/data/")[2]) for path in files()} == folders
    assert sorted(catalog.load_table(NAME).scan("word = 'a'").to_arrow()["n"].to_pylist()) == [0, 0, 2, 2]


def test_each_file_has_the_bounds_by_which_readers_pass_over_it(spark, catalog, write):
    for epoch in range(3):
        write(spark.range(epoch * 100, epoch * 100 + 100).selectExpr("id AS n", "'w' AS word").repartition(1), epoch=epoch)
    scan = catalog.load_table(NAME).scan("n = 150")
    assert (len(list(scan.plan_files())), scan.to_arrow()["n"].to_pylist()) == (1, [150])


def test_an_epoch_that_is_written_again_adds_nothing_also_under_an_earlier_name(numbers, write):
    assert write(range(40)) == 40
    assert write(range(40)) == 0
    assert write(range(40), epoch=7, lineage="next", known_as=(("l", 0),), token=2) == 0
    assert write(range(40, 50), epoch=8, lineage="next", token=2, digest=OTHER) == 10
    assert numbers() == list(range(50))


def test_the_snapshot_says_whose_it_is_and_the_table_has_the_mark_also_when_the_snapshot_is_expired(catalog, numbers, write):
    write([1], epoch=3, token=9)
    table = catalog.load_table(NAME)
    summary = table.metadata.current_snapshot().summary.additional_properties
    assert {name: text for name, text in summary.items() if name.startswith("pitstop.")} == {
        "pitstop.job": "job",
        "pitstop.stage": "sink",
        "pitstop.lineage": "l",
        "pitstop.epoch": "3",
    }
    expired = table.metadata.current_snapshot().snapshot_id
    table.append(pa.table({"n": pa.array([-1], pa.int64()), "word": ["theirs"]}))
    catalog.load_table(NAME).maintenance.expire_snapshots().by_id(expired).commit()
    assert [each.snapshot_id for each in catalog.load_table(NAME).metadata.snapshots] != [expired]
    assert write([1], epoch=3, token=9) == 0
    assert numbers() == [-1, 1]


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
def test_an_epoch_of_a_state_that_was_put_back_is_refused_and_leaves_nothing(tmp_path, numbers, write, of_before):
    write([1], epoch=2, token=4)
    before = all_files(tmp_path)
    with pytest.raises(OtherEpochError, match=f"Sink 'sink': the table {NAME} has another epoch"):
        write([2], **({"epoch": 2, "token": 4} | of_before))
    assert (all_files(tmp_path), numbers()) == (before, [1])


@pytest.mark.parametrize("moment", ["check", "held"])
def test_a_run_that_has_lost_its_job_commits_nothing(tmp_path, numbers, write, moment):
    class Lost:
        def check(self):
            if moment == "check":
                raise FencedError("lost")

        def held(self):
            raise FencedError("lost")

    write([1])
    run = Environment("job-1", "job", "l", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None, ownership=Lost())
    with pytest.raises(FencedError):
        write([2], epoch=1, run=run)
    assert numbers() == [1]


def test_at_least_once_keeps_no_marks(catalog, numbers, write):
    assert [write([1], guarantee="AT_LEAST_ONCE") for _ in range(2)] == [1, 1]
    assert numbers() == [1, 1]
    assert [name for name in catalog.load_table(NAME).properties if name.startswith("pitstop.")] == []


def test_an_epoch_without_rows_makes_the_table_and_commits_nothing_to_it(spark, catalog, write):
    empty = spark.range(0).selectExpr("id AS n", "'x' AS word")
    assert [write(empty), write(empty, epoch=1)] == [0, 0]
    assert catalog.load_table(NAME).metadata.snapshots == []


def test_writers_beside_one_another_lose_nothing(catalog, numbers, properties, write):
    """Other writers append between the time when an epoch is read and its commit."""
    write([0])
    ended, count = threading.Event(), 0

    def append():
        nonlocal count
        theirs = load_catalog("default", **properties)
        while not ended.is_set():
            theirs.load_table(NAME).append(pa.table({"n": pa.array([-1], pa.int64()), "word": ["theirs"]}))
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
    assert numbers() == [*[-1] * count, *range(6)]


def test_of_two_writers_of_one_epoch_one_writes_it(numbers, write, monkeypatch):
    """A run that lost its job, and does not know it, commits the epoch while this one writes its files."""
    write([0])
    commit, rivals = Transaction.commit_transaction, []

    def late(transaction):
        if not rivals:
            rivals.append("was here")
            write([1], epoch=1, digest=OTHER)
        return commit(transaction)

    monkeypatch.setattr(Transaction, "commit_transaction", late)
    write([1], epoch=1, digest=OTHER)
    assert (rivals, numbers()) == (["was here"], [0, 1])


@pytest.mark.parametrize("error", [CommitFailedException, CommitStateUnknownException])
def test_a_commit_whose_answer_is_lost_keeps_its_files(numbers, write, monkeypatch, error):
    commit = Transaction.commit_transaction
    write([0])

    def answer_is_lost(transaction):
        commit(transaction)
        raise error("lost")

    monkeypatch.setattr(Transaction, "commit_transaction", answer_is_lost)
    assert write([1, 2], epoch=1) == 2
    assert numbers() == [0, 1, 2]


def test_the_settings_of_a_table_for_other_writers_stay_as_they_are(catalog, write):
    write([1])
    catalog.load_table(NAME).transaction().set_properties({"commit.retry.num-retries": "7"}).commit_transaction()
    write([2], epoch=1)
    properties = catalog.load_table(NAME).properties
    assert (properties["commit.retry.num-retries"], properties["write.metadata.delete-after-commit.enabled"]) == ("7", "true")


def test_columns_of_a_table_that_is_there(spark, catalog, write):
    write([1])
    wider = spark.createDataFrame([(2, "w", 0.5)], "n bigint, word string, more double")
    with pytest.raises(EngineError, match=re.escape("the table has no column 'more'. It has: n, word. Drop the column, or let")):
        write(wider, epoch=1)
    assert write(wider, epoch=1, schema_mode="merge") == 1
    assert write(spark.createDataFrame([("v", 3)], "word string, n int"), epoch=2) == 1
    rows = catalog.load_table(NAME).scan().to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["n"]) == [
        {"n": 1, "word": "w1", "more": None},
        {"n": 2, "word": "w", "more": 0.5},
        {"n": 3, "word": "v", "more": None},
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("id AS n, 5 AS word", "column 'word' is int in the rows and string in the table: cast it, or write into another table."),
        ("id AS N, 'x' AS word", "column 'N' is 'n' in the table: give it that name."),
        ("id + 0.5D AS n, 'x' AS word", "column 'n' is double in the rows and long in the table: cast it"),
        ("id AS n, array(named_struct('a', 1)) AS word", "column 'word' is list<struct<"),
    ],
)
def test_rows_that_do_not_fit_the_table_fail_with_the_difference(spark, numbers, write, columns, message):
    write([1])
    rows = spark.range(1).selectExpr(*columns.split(", ", 1))
    with pytest.raises(EngineError, match=re.escape(f"Sink 'sink' ({NAME}): {message}")):
        write(rows, epoch=1, schema_mode="merge")
    assert numbers() == [1]


@pytest.mark.parametrize(
    ("columns", "partition_by", "message"),
    [
        (("id", "NULL AS none"), (), "column 'none' has values of type void, and an Iceberg table has no such values"),
        (("id", "INTERVAL '1' DAY AS i"), (), "column 'i' has values of type interval day"),
        (("id", "id AS ID"), (), "columns 'id' and 'ID' are one column to Spark: rename one."),
        (("id",), "day(at)", "there is no column 'at' to partition by. There are: id."),
        (("id",), "day(id)", "day is not made of column 'id', which is long."),
    ],
)
def test_what_no_table_can_hold_is_refused(spark, properties, columns, partition_by, message):
    spark.conf.set("spark.sql.caseSensitive", "true")
    sink = ps.sinks.iceberg(NAME, catalog=properties, partition_by=partition_by)
    assert check_columns(sink, spark.range(1).selectExpr(*columns)).startswith(message)


def test_a_table_with_other_partitions_is_refused(write):
    write([1], partition_by="bucket(4, n)")
    with pytest.raises(
        EngineError, match=re.escape("the table is partitioned by bucket[4] of n: write partition_by as the table")
    ):
        write([2], epoch=1, partition_by="word")
    assert write([2], epoch=1, partition_by="bucket(4, n)") == 1


def test_a_null_in_a_column_that_is_never_null_fails_the_epoch_and_leaves_nothing(spark, tmp_path, catalog, numbers, write):
    catalog.create_namespace("shop")
    columns = Schema(NestedField(1, "n", LongType(), required=True), NestedField(2, "word", StringType(), required=False))
    catalog.create_table(NAME, columns)
    assert write([1]) == 1
    before = all_files(tmp_path)
    with pytest.raises(EngineError, match="column 'n' of the table is never null, and it is null in rows"):
        write([2, None], epoch=1)
    with pytest.raises(EngineError, match="column 'n' of the table is never null, and the rows do not have it"):
        write(spark.createDataFrame([("w",)], "word string"), epoch=1)
    assert (numbers(), all_files(tmp_path)) == ([1], before)


def test_values_that_a_wider_column_holds_are_written(spark, catalog, write):
    catalog.create_namespace("shop")
    columns = Schema(NestedField(1, "n", LongType(), required=False), NestedField(2, "at", TimestamptzType(), required=False))
    catalog.create_table(NAME, Schema(*columns.fields, NestedField(3, "v", DoubleType(), required=False)))
    write(spark.range(1).selectExpr("CAST(7 AS SMALLINT) AS n", "float(0.5) AS v"))
    assert catalog.load_table(NAME).scan().to_arrow().to_pylist() == [{"n": 7, "at": None, "v": 0.5}]


def test_rows_that_fail_are_in_no_table_and_are_written_again(spark, catalog, numbers, write):
    rows = "id AS n", "if(id = 19999 AND {}, raise_error('bad'), 'w') AS word"
    for fails in ("true", "false"):
        epoch = spark.range(0, 20000, numPartitions=1).selectExpr(*(column.format(fails) for column in rows))
        if fails == "true":
            with pytest.raises(Exception, match="bad"):
                write(epoch)
            assert catalog.load_table(NAME).metadata.snapshots == []
        else:
            assert write(epoch) == 20_000
    assert numbers() == list(range(20_000))


def test_others_may_read_the_table_of_a_private_run(tmp_path, write, monkeypatch):
    monkeypatch.setenv("PITSTOP_USUAL_UMASK", "22")
    before = os.umask(0o077)
    try:
        write([1], partition_by="word")
        write([2], epoch=1, partition_by="word")
    finally:
        os.umask(before)
    # Parts of a warehouse that the run's process makes are its user's: namespace and table, once.
    modes = {path: oct(os.stat(path).st_mode & 0o777) for path in all_files(tmp_path)}
    assert {path: mode for path, mode in modes.items() if mode != "0o644"} == {}


@pytest.mark.parametrize(("table_format", "after"), [("2", 1), ("1", 0)])
def test_what_a_version_wrote_is_taken_out_when_its_job_goes_back(
    tmp_path, catalog, numbers, write, properties, table_format, after
):
    class Updating:
        def check(self):
            pass

        def held(self):
            from contextlib import nullcontext

            return nullcontext(7)

    run = Environment("job-1", "job", "new", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None, ownership=Updating())
    run = dataclasses.replace(run, notes=tmp_path / "notes", fence=Fence("job-1", 2))
    catalog.create_namespace("shop")
    columns = pa.schema([("n", pa.int64()), ("word", pa.string())])
    catalog.create_table(NAME, columns, properties={"format-version": table_format})
    write([1])
    for epoch in range(3):
        write([10 + epoch], epoch=epoch, lineage="new", digest=OTHER, run=run, guarantee="EXACTLY_ONCE")
        catalog.load_table(NAME).append(pa.table({"n": pa.array([-1], pa.int64()), "word": ["theirs"]}))
    [commits] = noted_iceberg_commits(tmp_path / "notes" / "7")
    assert (commits.catalog, commits.after) == (properties, after)
    assert [commits.withdraw(), commits.withdraw()] == [3, 0]
    assert numbers() == [-1, -1, -1, 1]
    assert write([2], epoch=1, token=3, digest=OTHER) == 1
    assert numbers() == [-1, -1, -1, 1, 2]


def test_a_table_that_is_gone_has_nothing_to_withdraw(tmp_path, properties):
    from pitstop.outputs.iceberg_commits import IcebergCommits

    assert IcebergCommits("shop.none", properties, "l", "sink", 0).withdraw() == 0


def test_the_place_has_no_password(properties):
    sink = ps.sinks.iceberg(NAME, catalog={"type": "sql", "uri": "postgresql://me:${secret:DB}@db:5432/catalog"})
    assert KIND.place(sink) == "the Iceberg table 'shop.words' of postgresql://db:5432/catalog"


@pytest.mark.long
def test_the_example_of_the_documentation_runs(spark, tmp_path, properties, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[3] / "docs" / "iceberg.md").read_text(), re.DOTALL)
    names = {}
    exec(blocks[0].replace("/data/lake", str(tmp_path)), names)
    folder = tmp_path / "cars"
    folder.mkdir()
    (folder / "1.csv").write_text("a,1.5,2026-11-01T10:00:00Z\nb,2.5,2026-11-02T10:00:00Z\n")
    job = ps.run(names["readings"](str(folder)), spark, data_dir=tmp_path / "data")
    here = load_catalog("default", **names["CATALOG"])
    assert wait_until(lambda: here.table_exists("fleet.readings") and here.load_table("fleet.readings").scan().count() == 2, 100)
    job.stop()
    for block in blocks[1:]:
        exec(block, names)
    assert "2026-11-02" in capsys.readouterr().out
