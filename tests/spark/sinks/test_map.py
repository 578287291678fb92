"""Rows into a map: the newest row of a key wins, however the rows are split into epochs and in whatever order they come."""

import datetime as dt
import json
import random
from collections import Counter

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.maps.model import MapConfig
from pitstop.maps.order import is_older
from pitstop.model.config import ProcessingGuarantee
from pitstop.model.left_out import LeftOut
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.row_order import order_of
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.sinks import write_sink
from tests.maps import map_store

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SCHEMA = "k string, v bigint, ts timestamp"
START = dt.datetime(2026, 1, 1)


class Epochs:
    """Epochs written into the sinks of a pipeline, whose rows are given instead of read."""

    def __init__(self, spark, tmp_path, pipeline, guarantee=ProcessingGuarantee.EXACTLY_ONCE):
        self._spark, self._pipeline, self.maps, self.epoch = spark, pipeline, map_store(tmp_path), 0
        self.told = []
        self.left_out = Counter()
        facts = {"maps": self.maps, "log": lambda *line: self.told.append(line), "left_out": self._leave_out}
        self._environment = Environment("id", "job", "lineage", guarantee, tmp_path, **facts)

    def _leave_out(self, stage, reason, rows):
        self.left_out[stage, reason] += rows

    def go_on_with(self, pipeline):
        """Write the next epochs by another version."""
        self._pipeline = pipeline

    def write(self, rows, schema=SCHEMA, parts=1):
        frame = self._spark.createDataFrame(rows, schema).coalesce(parts)
        lowering = Lowering(self._spark, streaming=False, frames={id(self._pipeline.nodes[0]): frame})
        for node in self._pipeline.nodes:
            if node.spec.op == "sink":
                write_sink(node, lowering.frame(node), self.epoch, self._environment)
        self.epoch += 1

    def content(self, name="m"):
        return {entry.key: json.loads(entry.value) for entry in self.maps.entries(name)}

    def events(self, name="m"):
        return [(event.kind.value, event.key, event.new_value) for event in self.maps.journal(name, 0, 10_000).events]


def pipeline(sink, steps=lambda stage: stage, timed=True, schema=SCHEMA):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([], schema), name="rows")
    rows = rows.with_timestamps("ts", max_ahead=None) if timed else rows
    steps(rows).write_to(sink, name="out")
    return p


def at(seconds):
    return START + dt.timedelta(seconds=seconds)


@pytest.mark.parametrize("seed", range(4))
def test_a_map_holds_the_row_with_the_highest_time_whatever_the_split_and_the_order(spark, tmp_path, seed):
    chance = random.Random(seed)
    rows = [(f"k{chance.randrange(5)}", v, at(chance.randrange(-99, 99) / 7)) for v in range(120)]
    rows += [(f"k{chance.randrange(5)}", 1000 + v, None) for v in range(10)]
    newest = {}
    chance.shuffle(rows)
    epochs = Epochs(spark, tmp_path, pipeline(ps.sinks.map("m", key="k", value="v"), lambda s: s.select("k", "v")))
    while rows:
        some, rows = rows[: chance.randrange(1, 60)], rows[60:]
        for key, v, time in some:
            when = time or dt.datetime.min
            if key not in newest or when >= newest[key][0]:
                newest[key] = (when, v)
        epochs.write(some)
    assert epochs.content() == {key: v for key, (_, v) in newest.items()}


def test_each_row_is_a_put_in_the_order_of_time_and_what_is_older_than_the_entry_is_none(spark, tmp_path):
    epochs = Epochs(spark, tmp_path, pipeline(ps.sinks.map("m", key="k", value="v")))
    epochs.write([("a", 2, at(2)), ("b", 9, at(9)), ("a", 1, at(1)), ("a", 3, at(2))])
    epochs.write([("a", 4, at(1)), ("a", None, at(0)), ("b", 5, at(10)), ("c", 1, None)])
    assert epochs.content() == {"a": 3, "b": 5, "c": 1}
    assert epochs.events() == [
        *(("ADDED", "a", "1"), ("UPDATED", "a", "2"), ("UPDATED", "a", "3"), ("ADDED", "b", "9")),
        *(("ADDED", "c", "1"), ("UPDATED", "b", "5")),
    ]
    epochs.write([("a", None, at(2)), ("b", 6, at(9))])
    assert epochs.content() == {"b": 5, "c": 1}


@pytest.mark.parametrize("key", ["concat(k, '-', v)", lambda: F.concat("k", F.lit("-"), "v")], ids=["SQL", "Column"])
def test_a_key_may_be_computed_and_is_no_part_of_the_value(spark, tmp_path, key):
    sink = ps.sinks.map("m", key=key if isinstance(key, str) else key())
    epochs = Epochs(spark, tmp_path, pipeline(sink, lambda stage: stage.select("k", "v"), timed=False))
    epochs.write([("a", 2, at(2)), ("b", 9, at(9))])
    assert epochs.content() == {"a-2": {"k": "a", "v": 2}, "b-9": {"k": "b", "v": 9}}


def test_a_row_that_is_to_remove_an_entry_and_is_older_than_it_removes_nothing(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([], SCHEMA), name="rows").with_timestamps("ts")
    rows.filter("v >= 0").write_to(ps.sinks.map("m", key="k", value="v"), name="put")
    rows.filter("v < 0").write_to(ps.sinks.map("m", key="k", mode="delete"), name="delete")
    epochs = Epochs(spark, tmp_path, p)
    epochs.write([("a", 1, at(5)), ("b", 1, at(5))])
    epochs.write([("a", -1, at(4)), ("b", -1, at(6))])
    assert epochs.content() == {"a": 1}


def test_functions_get_all_rows_in_the_order_of_time(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([], SCHEMA), name="rows").with_timestamps("ts").select("k", "v")
    rows.write_to(ps.sinks.map("seen", key="k", update=lambda old, row: [*(old or []), row["v"]]), name="seen")
    rows.write_to(ps.sinks.map("sums", key="k", value="v", merge=lambda old, new: (old or 0) + new), name="sums")
    epochs = Epochs(spark, tmp_path, p)
    epochs.write([("a", 2, at(2)), ("a", 3, at(3)), ("a", 1, at(1)), ("a", 0, None)])
    epochs.write([("a", 5, at(2)), ("a", 4, at(1))])
    assert epochs.content("seen") == {"a": [0, 1, 2, 3, 4, 5]}
    assert epochs.content("sums") == {"a": 15}


def test_a_sink_says_itself_what_is_newer(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([], SCHEMA), name="rows").with_timestamps("ts")
    rows.write_to(ps.sinks.map("low", key="k", value="v", order_by=("-v", "ts")), name="low")
    rows.write_to(ps.sinks.map("last", key="k", value="v", order_by=()), name="last")
    epochs = Epochs(spark, tmp_path, p)
    epochs.write([("a", 5, at(9)), ("a", 3, at(1)), ("a", 4, at(7))])
    epochs.write([("a", 6, at(10)), ("b", None, at(1)), ("b", 1, at(0))])
    assert (epochs.content("low"), epochs.content("last")) == ({"a": 3, "b": 1}, {"a": 6, "b": 1})


def test_rows_that_are_older_than_their_entries_are_counted_and_told_if_all_are(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([], SCHEMA), name="rows")
    rows.write_to(ps.sinks.map("m", key="k", value="v", order_by="v"), name="out")
    epochs = Epochs(spark, tmp_path, p)
    epochs.write([("a", 5, None), ("b", 5, None)])
    epochs.write([("a", 6, None), ("b", 4, None)])
    assert (epochs.left_out, epochs.told) == (Counter({("out", LeftOut.OLDER): 1}), [])
    epochs.write([("a", 1, None), ("b", 2, None)])
    assert epochs.left_out == {("out", LeftOut.OLDER): 3}
    said = "all 2 rows of an epoch for sink 'out' are left out: map 'm' has newer ones"
    assert epochs.told == [("WARN", "pitstop.sink.map", said)]
    assert epochs.content() == {"a": 6, "b": 5}


def test_rows_are_not_compared_with_what_another_version_has_ordered_by_something_else(spark, tmp_path):
    def ordered(by):
        p = ps.Pipeline()
        rows = p.read_from(ps.sources.items([], SCHEMA), name="rows")
        rows.write_to(ps.sinks.map("m", key="k", value="v", order_by=by), name="out")
        return p

    epochs = Epochs(spark, tmp_path, ordered("v * 1000"))
    epochs.write([("a", 7, None)])
    epochs.go_on_with(ordered("v"))
    epochs.write([("a", 1, None)])
    assert epochs.content() == {"a": 1}
    epochs.write([("a", 0, None)])
    assert epochs.content() == {"a": 1}


@pytest.mark.parametrize(
    "steps",
    [
        lambda s: s.select("k", "to_json(struct(*)) AS v"),
        lambda s: s.select("k", "v").select("k", "to_json(struct(*)) AS v"),
        lambda s: s.select("k", "v").filter("hash(*) = hash(k, v)").with_columns(v="to_json(struct(*))"),
        lambda s: s.select("k", "v").select("k", F.to_json(F.struct("*")).alias("v")),
    ],
)
def test_a_star_within_an_expression_does_not_see_what_orders_the_rows(spark, tmp_path, steps):
    epochs = Epochs(spark, tmp_path, pipeline(ps.sinks.map("m", key="k", value="v"), steps))
    epochs.write([("a", 1, at(1)), ("a", 2, at(2))])
    columns = {column for entry in epochs.content().values() for column in json.loads(entry)}
    assert columns <= {"k", "v", "ts"}
    assert json.loads(epochs.content()["a"])["v"] == 2


@pytest.mark.parametrize("star", [lambda: "struct(*)", lambda: F.struct("*")], ids=["text", "object"])
@pytest.mark.parametrize("options", [{}, {"order_by": "v + 1"}], ids=["by time", "by an expression"])
def test_a_star_of_the_sink_itself_stands_for_the_columns_of_its_user(spark, tmp_path, star, options):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([], SCHEMA), name="rows").with_timestamps("ts").select("k", "v")
    key = "concat(k, '-', size(map_keys(from_json(to_json(struct(*)), 'map<string,string>'))))"
    rows.write_to(ps.sinks.map("m", key=key, value=star(), **options), name="out")
    epochs = Epochs(spark, tmp_path, p)
    epochs.write([("a", 1, at(1)), ("a", 2, at(2))])
    assert epochs.content() == {"a-2": {"k": "a", "v": 2}}


def test_without_event_times_the_row_that_comes_last_wins(spark, tmp_path):
    epochs = Epochs(spark, tmp_path, pipeline(ps.sinks.map("m", key="k", value="v"), timed=False))
    epochs.write([("a", 1, at(9)), ("a", 2, at(1))])
    epochs.write([("a", 3, at(0))])
    assert epochs.content() == {"a": 3}
    assert len(epochs.events()) == 3


@pytest.mark.parametrize(
    "steps",
    [
        lambda s: s.select("k", "v"),
        lambda s: s.select("k", "ts AS time", "v").filter("v > 0").select("*"),
        lambda s: s.with_columns(ts="current_timestamp()").select("k", "v"),
        lambda s: s.transform(lambda rows: rows.withColumn("w", rows.v)),
        lambda s: s.transform(lambda rows: rows.withColumnRenamed("ts", "at")),
    ],
    ids=["dropped", "renamed", "computed anew", "own code", "renamed in own code"],
)
def test_the_time_of_rows_counts_whatever_becomes_of_its_column(spark, tmp_path, steps):
    p = pipeline(ps.sinks.map("m", key="k"), steps)
    epochs = Epochs(spark, tmp_path, p)
    epochs.write([("a", 1, at(9)), ("a", 2, at(1))])
    epochs.write([("a", 3, at(0))])
    found = epochs.content()["a"]
    assert found["v"] == 1
    assert not [name for name in found if name.startswith("__")]
    assert compile_pipeline(spark, p).stage("out").columns == compile_pipeline(spark, p).stages[-2].columns


def test_of_windows_the_one_that_ends_last_wins_and_its_result_over_an_early_one(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([], SCHEMA), name="rows").with_timestamps("ts")
    windows = rows.group_by("k").window(ps.sliding("20 seconds", "10 seconds")).early_results("1 second")
    counts = windows.aggregate("w", n=ps.count())
    counts.select("k", "n").write_to(ps.sinks.map("m", key="k", value="n"), name="out")
    epochs = Epochs(spark, tmp_path, p)
    schema = "k string, window_start timestamp, window_end timestamp, is_early boolean, n bigint"

    def put(*results):
        frame = spark.createDataFrame([("a", at(end - 20), at(end), early, n) for end, early, n in results], schema)
        lowering = Lowering(spark, streaming=False, frames={id(p.nodes[2]): frame})
        write_sink(p.nodes[-1], lowering.frame(p.nodes[-1]), epochs.epoch, epochs._environment)
        epochs.epoch += 1
        return epochs.content()["a"]

    assert [node.name for node in p.nodes] == ["rows", "timestamps", "w", "select k n", "out"]
    assert put((30, False, 30), (40, False, 40), (20, False, 20)) == 40
    assert put((50, False, 50), (50, True, 5)) == 50
    assert put((50, True, 6), (40, True, 7)) == 50
    assert put((60, True, 8)) == 8
    assert put((60, True, 9)) == 9
    assert put((60, False, 60)) == 60


def test_rows_of_one_time_behind_a_shuffle_come_by_their_values(spark, tmp_path):
    results = []
    for order in (1, -1):
        p = pipeline(ps.sinks.map("m", key="k", value="v"), lambda s: s.group_by("v").distinct("d"))
        epochs = Epochs(spark, tmp_path, p)
        epochs.write([("a", 1, at(1)), ("a", 3, at(1)), ("a", 2, at(1))][::order])
        results.append(epochs.events())
    assert results[0] == results[1] == [("ADDED", "a", "1"), ("UPDATED", "a", "2"), ("UPDATED", "a", "3")]


VALUES = {
    "bigint": [None, -(2**63), -5, -1, 0, 1, 2, 10, 2**63 - 1],
    "int": [None, -7, 0, 3],
    "double": [None, float("-inf"), -1e300, -2.5, -1e-300, 0.0, 5e-324, 1.0, 1.5, 1e300, float("inf"), float("nan")],
    "float": [None, -2.5, 0.0, 1.5],
    "boolean": [None, False, True],
    "string": [None, "", "a", "aa", "ab", "b", "\uffff", "\U0001f600"],
    "binary": [None, b"", b"\x00", b"a", b"\xff"],
    "date": [None, dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31)],
    "timestamp": [None, dt.datetime(1, 1, 2), dt.datetime(1969, 12, 31, 23), START, at(0.000001), dt.datetime(9999, 1, 1)],
    "timestamp_ntz": [None, dt.datetime(1969, 12, 31, 23), START, at(0.000001)],
}


@pytest.mark.parametrize("kind", VALUES)
def test_the_order_of_each_type_is_that_of_its_values(spark, kind):
    values = VALUES[kind]
    pairs = [(at, one, other) for at, (one, other) in enumerate((a, b) for a in values for b in values)]
    frame = spark.createDataFrame(pairs, f"at int, one {kind}, other {kind}").coalesce(1)
    texts = [row.order for row in frame.selectExpr(f"{order_of(frame, ['one', 'other'])} AS order", "at").orderBy("at").collect()]
    assert texts == sorted(texts)
    assert len(set(texts)) == len(texts)
    assert is_older(texts[0], texts[1])
    assert not is_older(texts[1], texts[1])


def test_a_type_that_has_no_order_here_is_refused_with_what_to_do(spark):
    p = pipeline(ps.sinks.map("m", key="k", order_by="cast(v as decimal(10,2))"))
    with pytest.raises(PipelineError, match=r"Sink 'out' \(.*\): it cannot keep the newest row by cast\(v as .* cast it"):
        compile_pipeline(spark, p)
    with pytest.raises(PipelineError, match=r"'out'.*no column 'nothing'"):
        compile_pipeline(spark, pipeline(ps.sinks.map("m", key="k", order_by="nothing")))


@pytest.mark.long
def test_the_example_of_the_readme_holds_the_newest_row_and_window_of_each_car_after_a_catch_up(spark, tmp_path):
    folder = tmp_path / "cars"
    folder.mkdir()
    cars = [(f"car{s % 3}", 40 + s % 50, f"2026-01-01 00:{s // 60:02d}:{s % 60:02d}") for s in range(600)]
    for number, first in enumerate((400, 0, 200)):
        lines = "".join(f"{vin},{speed},{time}\n" for vin, speed, time in cars[first : first + 200])
        (folder / f"{number}.csv").write_text(lines)
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="vin string, speed double, time timestamp"), name="cars")
    timed = rows.with_timestamps("time", allowed_lag="20 seconds")
    timed.write_to(ps.sinks.map("latest", key="vin"), name="latest")
    windows = timed.group_by("vin").window(ps.sliding("1 minute", "15 seconds")).aggregate("speed", n=ps.count())
    windows.write_to(ps.sinks.map("speeds", key="vin"), name="speeds")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    job.maps.configure(MapConfig("speeds", journal_capacity=1000))

    def held(name, field):
        return {entry.key: json.loads(entry.value)[field][11:19] for entry in job.maps.entries(name)}

    assert wait_until(lambda: len(held("speeds", "window_end")) == 3, 100)
    job.stop()
    assert held("latest", "time") == {"car0": "00:09:57", "car1": "00:09:58", "car2": "00:09:59"}
    # The watermark is at 00:09:39: the last window that has ended is that up to 00:09:30.
    assert held("speeds", "window_end") == dict.fromkeys(("car0", "car1", "car2"), "00:09:30")
