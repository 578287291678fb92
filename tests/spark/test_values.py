"""Values of every type come through sinks, state and snapshots as Spark's own batch result has them."""

import math
import os
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.spark.base.columns import struct_of
from pitstop.spark.internals.arrow import arrow_schema

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1000)]

FIRST = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALL_YEARS = datetime(1, 1, 2), datetime(9999, 12, 30)
NANOSECONDS = datetime(1700, 1, 1), datetime(2260, 1, 1)
"""What fits into 64 bits of nanoseconds."""
ROWS = 12
"""In each of two files; the second is read by the second version of the job."""

TO_THE_MICROSECOND = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Of values in maps and files, from which nothing is to be lost."""

CLOSING = 100_000
"""The number of a row whose time closes the windows of all others."""

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
DECIMAL = st.integers(-(10**36), 10**36).map(lambda n: Decimal(f"{n}E-10"))


def moments(span, zone=UTC):
    return st.datetimes(*span).map(lambda moment: moment.replace(tzinfo=zone))


def integers(bits):
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def times(span, prefix):
    return {
        f"{prefix}_day": ("date", st.dates(span[0].date(), span[1].date())),
        f"{prefix}_moment": ("timestamp", moments(span)),
        f"{prefix}_local": ("timestamp_ntz", moments(span, None)),
    }


FLAT = {
    "truth": ("boolean", st.booleans()),
    "tiny": ("tinyint", integers(8)),
    "small": ("smallint", integers(16)),
    "whole": ("int", integers(32)),
    "big": ("bigint", integers(64)),
    "single": ("float", st.floats(width=32)),
    "twice": ("double", st.floats()),
    "exact": ("decimal(38,10)", DECIMAL),
    "words": ("string", TEXT),
    "bytes": ("binary", st.binary(max_size=6)),
}
FAR, NEAR = times(ALL_YEARS, "far"), times(NANOSECONDS, "near")
NESTED = {
    "items": ("array<decimal(38,10)>", st.lists(st.none() | DECIMAL, max_size=3)),
    "pairs": ("map<string,bigint>", st.dictionaries(TEXT, integers(64), max_size=3).map(lambda d: list(d.items()))),
    "parts": (
        "struct<a:timestamp,b:array<string>>",
        st.fixed_dictionaries({"a": moments(NANOSECONDS), "b": st.lists(TEXT, max_size=2)}),
    ),
}
COLUMNS = FLAT | FAR | NEAR | NESTED
KEPT = COLUMNS
"""What a Python function keeps in its state."""
LAST = ", ".join(f"last_{name} {kind}" for name, (kind, _) in KEPT.items())
SCHEMA = "seq bigint, key string, at timestamp, " + ", ".join(f"`{name}` {kind}" for name, (kind, _) in COLUMNS.items())
TABLES = st.lists(
    st.fixed_dictionaries({name: st.none() | values for name, (_, values) in COLUMNS.items()}),
    min_size=2 * ROWS,
    max_size=2 * ROWS,
)
AGGREGATES = {
    name: aggregate
    for column in (*FLAT, *FAR)
    for name, aggregate in (
        (f"low_{column}", ps.min(column)),
        (f"high_{column}", ps.max(column)),
        (f"last_{column}", ps.last(column)),
    )
}

STAGES = ("rows", "windows", "rolled", "kept", "sessions", "distinct", "joined")
SPAN = "at - near_moment"
"""An interval, which no file and no state of a function of one's own can hold."""
SESSION_AGGREGATES = {"low_span": ps.min("span"), "high_span": ps.max("span"), "last_span": ps.last("span")} | AGGREGATES
KEYS = [name for name in COLUMNS if name != "pairs"]
"""Those that rows can be grouped by."""
IN_CSV = [name for name in (*FLAT, *FAR, *NEAR) if name != "bytes"]
JOINED = ["seq", *COLUMNS, *[f"right_{name}" for name in COLUMNS]]


class Tables:
    """A sink that keeps what it gets, by epoch, as Arrow has it."""

    def __init__(self):
        self.epochs = {}

    def write(self, rows, info):
        self.epochs[info.epoch] = rows.toArrow()

    @property
    def rows(self):
        return [row for _, table in sorted(self.epochs.items()) for row in table.to_pylist()]


def write(folder, rows, first):
    """A parquet file of rows, a second apart; every third has the same key."""
    folder.mkdir(exist_ok=True)
    shown = [{"seq": n, "key": f"k{n % 3}", "at": FIRST + timedelta(seconds=n), **row} for n, row in enumerate(rows, first)]
    path = folder / f"{first:05d}.parquet"
    pq.write_table(pa.Table.from_pylist(shown, schema=arrow_schema(struct_of(SCHEMA))), path.with_name(f".{path.name}"))
    path.with_name(f".{path.name}").rename(path)


def keep_last(state, row):
    before = {f"last_{name}": getattr(state, f"last_{name}") for name in KEPT}
    for name in KEPT:
        setattr(state, f"last_{name}", row[name])
    return {"seq": row["seq"], **before}


def pipeline(folder, out):
    """The job, and its sinks that keep what they get."""
    p, sinks = ps.Pipeline(), {name: Tables() for name in STAGES}
    rows = p.read_from(ps.sources.files(folder, "parquet", schema=SCHEMA, streaming=True), name="table")
    by_key = rows.with_timestamps("at").group_by("key")
    windows = by_key.window(ps.tumbling("1 hour")).aggregate("windows", total=ps.sum("exact"), **AGGREGATES)
    few = rows.select("seq", "key", "exact").group_by("key")
    rolled = few.rolling_aggregate("rolled", total=ps.sum("exact"), high=ps.max("exact"))
    kept = rows.select("seq", "key", *KEPT).group_by("key").map_stateful("kept", keep_last, LAST, f"seq bigint, {LAST}")
    timed = rows.with_columns(span=SPAN).with_timestamps("at", name="for sessions")
    sessions = timed.group_by("key").window(ps.session("1 hour")).aggregate("sessions", **SESSION_AGGREGATES)
    twins = rows.select("seq", *KEYS, "explode(array(1, 2)) as twin").group_by("seq", *KEYS).distinct("distinct")
    distinct = twins.select("seq", *KEYS)
    left = rows.select("seq", "at", *COLUMNS).with_timestamps("at", name="left")
    right = rows.select("seq", "at as right_at", *[f"`{name}` as right_{name}" for name in COLUMNS])
    joined = left.join("joined", right.with_timestamps("right_at", name="right"), on="seq", within="1 second")
    stages = (rows, windows, rolled, kept, sessions, distinct, joined.select(*JOINED))
    for name, stage in zip(STAGES, stages, strict=True):
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"to {name}")
    rows.write_to(ps.sinks.files(out / "parquet", format="parquet"), name="to parquet")
    rows.write_to(ps.sinks.files(out / "json", format="json"), name="to json")
    rows.select("seq", *IN_CSV).write_to(ps.sinks.files(out / "csv", format="csv"), name="to csv")
    rows.write_to(ps.sinks.logger(), name="to log")
    rows.write_to(ps.sinks.map("values", key="seq", value="struct(*)"), name="to map")
    return p, sinks


def plain(value):
    """A value that can be compared: NaN is itself."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def told(rows, by="seq"):
    """Rows as values, in order."""
    table = rows.toArrow().to_pylist() if hasattr(rows, "toArrow") else rows
    return sorted(map(plain, table), key=lambda row: row[by])


def same(got, expected, by="seq"):
    """Equal; what differs is shown by row and column."""
    found, wanted = told(got, by), told(expected, by)
    assert [row[by] for row in found] == [row[by] for row in wanted]
    assert [
        (row[by], name, row[name], value)
        for row, other in zip(found, wanted, strict=True)
        for name, value in other.items()
        if row[name] != value
    ] == []


def lines(folder):
    return sorted(
        line for path in folder.rglob("*.json") if "_pitstop" not in path.parts for line in path.read_text().split("\n") if line
    )


def run(spark, folder, version):
    """Run a version of the job, the second from the snapshot of the first and in another number of partitions."""
    p, sinks = pipeline(folder / "in", folder / "out")
    saved = {"initial_snapshot": "0"} if version else {}
    job = ps.run(p, spark, data_dir=folder / "data", partitions=2 - version, processing_guarantee="exactly_once", **saved)

    def done():
        if not job.active:
            raise job._run.failure()
        return job.progress.input_rows >= ROWS + version and (
            not version or all(len(sinks[name].rows) >= 3 for name in ("windows", "sessions"))
        )

    assert wait_until(done, 400)
    job.cancel_and_export_snapshot(str(version))
    return job, sinks


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return lambda: tmp_path_factory.mktemp("values")


FIRST_SEED = int(os.environ.get("PITSTOP_SEED", "0"))
"""What the first table is made from; ``PITSTOP_SEED`` is another one, such as that of a run that has failed."""
MORE_SEEDS = range(FIRST_SEED + 1, FIRST_SEED + 3)
DEEP_EXAMPLES = int(os.environ.get("PITSTOP_EXAMPLES", "12"))


def has_values(table):
    """False for the simplest of all tables, with which each search begins: nothing but nulls."""
    return any(value is not None for row in table for value in row.values())


def tables(examples, number):
    """The test on so many tables, made from a seed."""

    def of(test):
        chosen = settings(
            max_examples=examples, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None
        )
        return seed(number)(chosen(given(TABLES.filter(has_values))(test)))

    return of


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(FIRST_SEED, marks=[pytest.mark.long, pytest.mark.always]),
        *(pytest.param(number, marks=[pytest.mark.long, pytest.mark.deep]) for number in MORE_SEEDS),
    ],
)
def test_values_of_every_type_are_what_spark_makes_of_them_at_once(spark, folders, capsys, number):
    tables(1, number)(lambda table: compare(spark, folders(), table, capsys))()


@pytest.mark.long
@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_values_of_many_tables_are_what_spark_makes_of_them_at_once(spark, folders, capsys):
    tables(DEEP_EXAMPLES, MORE_SEEDS.stop)(lambda table: compare(spark, folders(), table, capsys))()


def compare(spark, folder, table, capsys):
    """AssertionError unless both versions of the job give what Spark makes of all rows at once."""
    got, job = {}, None
    capsys.readouterr()
    for version in (0, 1):
        write(folder / "in", table[version * ROWS : (version + 1) * ROWS], version * ROWS)
        if version:
            write(folder / "in", [dict.fromkeys(COLUMNS)], CLOSING)
        job, sinks = run(spark, folder, version)
        for name, sink in sinks.items():
            got.setdefault(name, []).extend(row for row in sink.rows if row.get("seq") != CLOSING)
    shown = capsys.readouterr().out.split("\n")
    logged = [line.split("] ", 1)[1] for line in shown if "/to log#" in line]
    batch = spark.read.schema(SCHEMA).parquet(str(folder / "in")).where(f"seq < {CLOSING}")

    same(got["rows"], batch)
    same(spark.read.parquet(str(folder / "out" / "parquet")).where(f"seq < {CLOSING}"), batch)
    batch.write.options(**TO_THE_MICROSECOND | {"ignoreNullFields": "true"}).json(str(folder / "batch"))
    assert [line for line in lines(folder / "out" / "json") if f'"seq":{CLOSING}' not in line] == lines(folder / "batch")
    as_text = {
        str(row.seq): row.text
        for row in batch.select("seq", F.to_json(F.struct("*"), TO_THE_MICROSECOND).alias("text")).collect()
    }
    assert {entry.key: entry.value for entry in job.maps.entries("values") if entry.key != str(CLOSING)} == as_text

    by_time = {f"last_{column}": F.max_by(column, F.struct("at", column)) for column in (*FLAT, *FAR)}
    extremes = {f"{what}_{column}": of(column) for column in (*FLAT, *FAR) for what, of in (("low", F.min), ("high", F.max))}
    summed = batch.groupBy("key").agg(
        F.sum("exact").alias("total"), *[column.alias(name) for name, column in (extremes | by_time).items()]
    )
    same(got["windows"], summed.select("key", "total", *AGGREGATES), "key")

    so_far = "OVER (PARTITION BY key ORDER BY seq ROWS UNBOUNDED PRECEDING)"
    rolled = batch.selectExpr("seq", "key", "exact", f"sum(exact) {so_far} AS total", f"max(exact) {so_far} AS high")
    same(got["rolled"], rolled)
    in_csv = struct_of(", ".join(["seq bigint", *(f"{name} {COLUMNS[name][0]}" for name in IN_CSV)]))
    read = spark.read.schema(in_csv).options(multiLine=True, escape='"').csv(str(folder / "out" / "csv"))
    # Spark's reader itself takes an empty text for null.
    same(read.where(f"seq < {CLOSING}"), batch.select("seq", *IN_CSV).replace("", None, "words"))
    wanted = [row.text for row in batch.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("text")).collect()]
    assert sorted(line for line in logged if f'"seq":{CLOSING}' not in line) == sorted(wanted)

    spans = (
        batch.withColumn("span", F.expr(SPAN))
        .groupBy("key")
        .agg(
            F.min("span").alias("low_span"),
            F.max("span").alias("high_span"),
            F.max_by("span", F.struct("at", "span")).alias("last_span"),
            *[column.alias(name) for name, column in (extremes | by_time).items()],
        )
    )
    same(got["sessions"], spans.select("key", *SESSION_AGGREGATES), "key")
    same(got["distinct"], batch.select("seq", *KEYS))
    same(got["joined"], batch.select("seq", *COLUMNS, *[F.col(name).alias(f"right_{name}") for name in COLUMNS]))

    before = [f"lag({name}) OVER (PARTITION BY key ORDER BY seq) AS last_{name}" for name in KEPT]
    same(got["kept"], batch.selectExpr("seq", *before))
