"""Steps of columns, rows and batches give what plain Python gives, on a batch and on a stream."""

import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType, TimestampType

import pitstop as ps
from pitstop.errors import EngineError, PipelineError
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

START = datetime(2026, 1, 1, 12)
SCHEMA = StructType(
    [
        StructField("k", StringType()),
        StructField("n", LongType()),
        StructField("tags", ArrayType(StringType())),
        StructField("ts", TimestampType()),
    ]
)


@pytest.fixture(scope="session")
def pitstop_spark(spark):
    return spark


def events(count=300, seed=48):
    """Rows with nulls, empty arrays and repetitions."""
    draw = random.Random(seed)
    return [
        (
            draw.choice(["a", "b", "c", None]),
            draw.choice([None, *range(-5, 20)]),
            draw.choice([None, [], ["x"], ["x", "y"], ["y", None, "z"]]),
            START + timedelta(seconds=number),
        )
        for number in range(count)
    ]


def written(spark, rows, build):
    """Return the rows that each stage that ``build`` returns gives to a sink of its own."""
    p, out = ps.Pipeline(), []
    stages = build(p.read_from(ps.sources.items(rows, SCHEMA), name="events"))
    for number, stage in enumerate(stages if isinstance(stages, tuple) else (stages,)):
        out.append(Collected())
        stage.write_to(ps.sinks.custom(out[-1]), name=f"out-{number}")
    ps.run(p, spark)
    return [Counter(map(tuple, each.rows)) for each in out]


def test_rename_drop_and_explode_agree_with_python(spark):
    rows = events()
    (result,) = written(spark, rows, lambda s: s.rename({"k": "n", "n": "k"}).drop("ts").explode("tags"))
    assert result == Counter((k, n, tag) for k, n, tags, _ in rows for tag in tags or ())
    (result,) = written(spark, rows, lambda s: s.explode("tags", into="tag", keep_empty=True).select("k", "tag", "n"))
    assert result == Counter((k, tag, n) for k, n, tags, _ in rows for tag in tags or [None])
    known = [row for row in rows if row[0] is not None]
    (result,) = written(spark, known, lambda s: s.explode(F.create_map("k", "n"), into=("who", "what")).select("who", "what"))
    assert result == Counter((k, n) for k, n, _, _ in known)


def test_each_row_goes_to_the_first_condition_that_is_true(spark):
    rows = events()
    parts = written(
        spark,
        rows,
        lambda s: tuple(each.select("k", "n") for each in s.split("n > 10", F.col("k") == "a", names=["high", "a", "rest"])),
    )
    expected = defaultdict(Counter)
    for k, n, _, _ in rows:
        expected["high" if n is not None and n > 10 else "a" if k == "a" else "rest"][k, n] += 1
    assert parts == [expected["high"], expected["a"], expected["rest"]]


@dataclass
class Doubled:
    k: str
    twice: int


def double(batch):
    return {"twice": pc.multiply(batch["n"], 2), "k": batch["k"]}


def repeat(batch):
    """Give each row as often as its number says, in two parts."""
    times = pc.fill_null(pc.max_element_wise(batch["n"], 0), 0).to_pylist()
    places = [place for place, count in enumerate(times) for _ in range(count)]
    for part in (places[::2], places[1::2]):
        yield batch.select(["k", "n"]).take(pa.array(part, pa.int64()))


def is_odd(batch):
    return pc.equal(pc.bit_wise_and(batch["n"], 1), 1)


@pytest.mark.long
def test_functions_over_batches_agree_with_python(spark):
    rows = events()
    doubled, repeated, odd = written(
        spark,
        rows,
        lambda s: (s.map(double, Doubled), s.flat_map(repeat, "k string, n bigint"), s.filter(is_odd).select("k", "n")),
    )
    assert doubled == Counter((k, None if n is None else 2 * n) for k, n, _, _ in rows)
    assert repeated == Counter((k, n) for k, n, _, _ in rows for _ in range(max(n or 0, 0)))
    assert odd == Counter((k, n) for k, n, _, _ in rows if n is not None and n % 2)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.map(repeat, "k string, n bigint", "wrong"), "the function returned generator, which is no RecordBatch"),
        (lambda s: s.map(lambda b: b.slice(1), SCHEMA, "wrong"), "map makes one row of each row, and the function made 9: use"),
        (lambda s: s.map(lambda b: {"a": b["n"]}, "b int", "wrong"), "the function returned the columns a, and its output is b"),
        (lambda s: s.map(lambda b: {"a": b["k"]}, "a int", "wrong"), "column 'a' is no int32: Failed to parse string"),
        (lambda s: s.filter(lambda b: b["n"], "wrong"), "filter needs 10 booleans, one for each row, and got 10 of int64"),
        (lambda s: s.map(lambda b: 1 / 0, SCHEMA, "wrong"), "ZeroDivisionError: division by zero"),
    ],
    ids=["generator", "fewer", "columns", "type", "mask", "raises"],
)
def test_a_function_that_fails_is_named_with_its_stage(spark, step, message):
    with pytest.raises(EngineError, match=rf"tage 'wrong' fails for a batch of 10 rows: .*{message}.*Mend its function"):
        written(spark, [("a", number, ["x"], START) for number in range(10)], lambda s: step(s))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.rename({"nn": "m"}), "there is no column 'nn'"),
        (lambda s: s.rename({"n": "K"}), "makes two columns 'k'"),
        (lambda s: s.select("n", "k AS N"), "makes two columns 'n'"),
        (lambda s: s.transform(lambda frame: frame.select("n", "n")), "makes two columns 'n'"),
        (lambda s: s.drop("nn"), "there is no column 'nn'"),
        (lambda s: s.drop("k", "n", "tags", "ts"), "drops all columns"),
        (lambda s: s.explode("n"), "n is bigint, and explode takes an array or a map"),
        (lambda s: s.explode("array(n)"), "explodes an expression: name its elements with into='...'"),
        (lambda s: s.explode("tags", into=("a", "b")), "an element of an array is one column, and into names 2"),
        (lambda s: s.explode("array(n)", into="n"), "makes two columns 'n'"),
        (lambda s: s.split("nn > 1"), "there is no column 'nn'"),
        (lambda s: s.map(double, "bigint"), "its output 'bigint' names no columns"),
    ],
)
def test_wrong_columns_are_refused_when_the_job_is_compiled(spark, step, message):
    with pytest.raises(PipelineError, match=rf"Stage '.*' \(test_row_steps.py:\d+\).*{message}"):
        written(spark, [], step)


@pytest.mark.long
def test_rows_of_a_stream_keep_their_event_time_and_are_counted(job_test, monkeypatch):
    monkeypatch.setenv("PITSTOP_CHECK_ROWS", "1")
    rows, out = events(), ["renamed", "mapped", "kept"]

    p = ps.Pipeline()
    timed = p.read_from(ps.sources.csv_tail("in", schema="k string, n bigint, ts timestamp"), name="events").with_timestamps("ts")
    for name, stage in zip(out, (
        timed.rename({"ts": "at", "k": "key"}).drop("n"),
        timed.map(lambda b: {"key": b["k"], "at": b["ts"], "ts": b["ts"]}, "key string, at timestamp, ts timestamp"),
        timed.filter(lambda b: pc.true_unless_null(b["ts"])).rename({"k": "key"}).explode("array(1, 2)", into="twin"),
    ), strict=True):  # fmt: skip
        windows = stage.group_by("upper(key) AS key").window(ps.tumbling("1 minute")).aggregate(name, n=ps.count())
        windows.write_to(ps.sinks.noop(), name=f"{name}-out")
    test = job_test(p)
    expected = Counter((None if k is None else k.upper(), ts.replace(second=0)) for k, _, _, ts in rows)
    for begin in range(0, len(rows), 100):
        test.push("events", [(k, n, ts) for k, n, _, ts in rows[begin : begin + 100]])
        test.epoch()
    test.advance_time("2 minutes")
    for name, times in zip(out, (1, 1, 2), strict=True):
        got = {(row["key"], row["window_start"]): row["n"] for row in test.rows(f"{name}-out")}
        assert got == {key: n * times for key, n in expected.items()}, name


@pytest.mark.long
def test_rows_are_enriched_from_a_map_that_changes(spark, job_test):
    @dataclass
    class Car:
        make: str
        year: int

    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail("in", schema="id bigint, v double"), name="rows")
    rows.with_map("cars", on="id", schema=Car, refresh="1 hour").write_to(ps.sinks.noop(), name="fields")
    rows.with_map("cars", on="id", schema=Car, into="car", how="inner").write_to(ps.sinks.noop(), name="struct")
    rows.with_map("cars", on=F.col("id")).write_to(ps.sinks.noop(), name="text")
    test = job_test(p)
    test.push("rows", [(1, 0.5), (2, 1.5)])
    test.epoch()
    assert test.rows("fields") == [{"id": n, "v": n - 0.5, "make": None, "year": None} for n in (1, 2)]
    assert test.rows("struct") == []
    test.put("cars", {"1": {"make": "Ford", "year": 1999}, "3": {"make": "Fiat"}})
    test.refresh_tables()
    test.push("rows", [(1, 2.5), (3, 3.5), (4, 4.5), (None, 5.5)])
    test.epoch()
    cars = {1: ("Ford", 1999), 3: ("Fiat", None)}
    later = [(1, 2.5), (3, 3.5), (4, 4.5), (None, 5.5)]
    fields = [(row["id"], row["v"], row["make"], row["year"]) for row in test.rows("fields")[2:]]
    assert Counter(fields) == Counter((n, v, *cars.get(n, (None, None))) for n, v in later)
    structs = {row["id"]: row["car"] for row in test.rows("struct")}
    assert structs == {n: {"make": make, "year": year} for n, (make, year) in cars.items()}
    texts = {row["id"]: row["cars"] and json.loads(row["cars"]) for row in test.rows("text")[2:]}
    assert texts == {1: {"make": "Ford", "year": 1999}, 3: {"make": "Fiat"}, 4: None, None: None}
