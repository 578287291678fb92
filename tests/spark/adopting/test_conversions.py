"""Operators of plain queries become stages of Pitstop: their state is converted, and the job goes on exactly.

A query reads the first files of events, is adopted, and the job reads the others. The rows of both are those that plain Python
makes of all events. The last file only moves the watermark behind them all.
"""

import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.doctor.examining import examine
from pitstop.doctor.files import opened
from pitstop.errors import IncompatibleError, UsageError
from pitstop.spark.adopting.adopting import Request
from tests.spark.adopting.plain import MEMORY, ROCKSDB, STATE, adopt, adopting, content_of, run, session_of
from tests.spark.harness import Collected, FilesHarness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

STORES = {
    "memory": MEMORY,
    "changelog": ROCKSDB | {f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true"},
    "format-2": ROCKSDB | {f"{STATE}.checkpointFormatVersion": "2"},
}
EACH_STORE = [pytest.param(name, marks=[] if name == "changelog" else [pytest.mark.long]) for name in STORES]
SCHEMA = "id bigint, name string, at timestamp, amount double, price decimal(6,2), total decimal(20,3)"
START = datetime(2026, 1, 1, tzinfo=UTC)
LAG, SPAN, GAP = 5, 10, 4
"""Seconds: of the watermark, of windows, between sessions."""
END = 10_000
"""The time of the event that ends all windows, in seconds."""


def event(number, drawn, first, last):
    """(id, name, at, amount, price, total); some values are null."""
    null = drawn.random() < 0.1
    at = START + timedelta(seconds=drawn.randrange(first, last), microseconds=number)
    amount, price = drawn.randrange(64) / 8, Decimal(drawn.randrange(-99_999, 99_999)).scaleb(-2)
    values = (None, None, None) if null else (amount, price, Decimal(drawn.randrange(10**15)).scaleb(-3))
    return (number, drawn.choice("abc"), at, *values)


def files_of(seed):
    """Four files of events whose times overlap within the lag of the watermark, and one that ends all."""
    drawn = random.Random(seed)
    files = [[event(40 * part + n, drawn, 12 * part, 12 * part + 15) for n in range(40)] for part in range(4)]
    return [*files, [(10_000, "end", START + timedelta(seconds=END), 0.0, Decimal(0), Decimal(0))]]


def write(spark, folder, number, events):
    folder.mkdir(exist_ok=True)
    path = folder / f".part-{number}"
    spark.createDataFrame(events, SCHEMA).coalesce(1).write.parquet(str(path))
    (file,) = path.glob("part-*.parquet")
    file.rename(folder / f"part-{number}.parquet")


def in_time(files):
    """The events that no query leaves out: a watermark is the newest time of the files before, less the lag."""
    taken, newest = [], START - timedelta(days=1)
    for events in files:
        taken += [each for each in events if each[2] > newest - timedelta(seconds=LAG)]
        newest = max([newest, *(each[2] for each in events)])
    return taken


def total(values):
    there = [value for value in values if value is not None]
    return sum(there) if there else None


def mean(values):
    there = [value for value in values if value is not None]
    return float(sum(there)) / len(there) if there else None


def least(values, choose=min):
    return choose((value for value in values if value is not None), default=None)


def by_amount(events, choose):
    pairs = [(each[3], each[0]) for each in events if each[3] is not None]
    return choose(pairs)[1] if pairs else None


PLAIN = [
    "count(*) AS events",
    "count(amount) AS amounts",
    "sum(id) AS ids",
    "sum(amount) AS amount",
    "sum(price) AS price",
    "sum(total) AS total",
    "avg(amount) AS mean",
    "avg(price) AS mean_price",
    "avg(total) AS mean_total",
    "avg(id) AS mean_id",
    "min(price) AS least",
    "max(name) AS most",
    "size(collect_set(price)) AS prices",
    "size(collect_set(minute(at))) AS minutes",
    "size(collect_list(name)) AS names",
]
OURS = {
    "events": ps.count(),
    "amounts": ps.count("amount"),
    "ids": ps.sum("id"),
    "amount": ps.sum("amount"),
    "price": ps.sum("price"),
    "total": ps.sum("total"),
    "mean": ps.avg("amount"),
    "mean_price": ps.avg("price"),
    "mean_total": ps.avg("total"),
    "mean_id": ps.avg("id"),
    "least": ps.min("price"),
    "most": ps.max("name"),
    "prices": ps.count_distinct("price"),
    "minutes": ps.count_distinct("minute(at)"),
    "names": ps.collect_list("name"),
}


def results(events):
    """The results of these aggregates by plain Python, in their order."""
    ids, names, times, amounts, prices, totals = zip(*events, strict=True)
    return (
        len(events),
        len([amount for amount in amounts if amount is not None]),
        sum(ids),
        total(amounts),
        total(prices),
        total(totals),
        mean(amounts),
        mean(prices),
        mean(totals),
        mean(ids),
        least(prices),
        max(names),
        len({price for price in prices if price is not None}),
        len({time.minute for time in times}),
        len(names),
    )


def close(rows):
    """Rows in which means and sums of doubles are rounded: Spark's means of decimals have more digits than these."""
    return sorted(tuple(map(rounded, row)) for row in rows)


def rounded(value):
    if isinstance(value, list):  # collected values
        return len(value)
    mean = isinstance(value, Decimal) and value.as_tuple().exponent < -3
    return round(float(value), 2) if mean or isinstance(value, float) else value


def seconds(moment):
    return moment.replace(tzinfo=UTC).timestamp() if moment.tzinfo is None else moment.timestamp()


def windows(events, slide):
    groups = defaultdict(list)
    for each in events:
        at = each[2].timestamp()
        last = at // slide * slide
        for start in (last - step * slide for step in range(SPAN // slide)):
            groups[start, each[1]].append(each)
    return groups


def sessions(events):
    found = []
    for each in sorted(events, key=lambda one: (one[1], one[2])):
        if found and found[-1][-1][1] == each[1] and each[2] - found[-1][-1][2] < timedelta(seconds=GAP):
            found[-1].append(each)
        else:
            found.append([each])
    return found


def source(pipeline, folder):
    rows = pipeline.read_from(
        ps.sources.files(str(folder), "parquet", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1), name="events"
    )
    return rows.with_timestamps("at", allowed_lag=f"{LAG} seconds")


def plain_source(spark, store, folder):
    reader = session_of(spark, STORES[store]).readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder)).withWatermark("at", f"{LAG} seconds")


class Case:
    """A query of plain Spark over the first two files, adopted by a pipeline that reads them all."""

    def __init__(self, spark, folder, files=None):
        self.spark, self.folder, self.inputs = spark, folder, folder / "inputs"
        self.files = files or files_of(seed=1)
        for number in range(2):
            write(spark, self.inputs, number, self.files[number])

    def query(self, frame, mode="append"):
        return run(frame, self.folder / "checkpoint", mode)

    def go_on(self, pipeline, request=None):
        before = content_of(self.folder / "checkpoint")
        adoption = adopt(self.spark, pipeline, self.folder / "checkpoint", self.folder, request, partitions=3)
        assert content_of(self.folder / "checkpoint") == before
        assert (adoption.begins_empty, adoption.begins_anew) == ([], [])
        for number in range(2, 5):
            write(self.spark, self.inputs, number, self.files[number])
        harness = FilesHarness(self.spark, self.folder)
        harness.runs = 1
        harness.run(pipeline, until=5)
        return adoption


@pytest.mark.parametrize("store", EACH_STORE)
@pytest.mark.parametrize("slide", [SPAN, SPAN // 2], ids=["tumbling", "sliding"])
def test_windows_go_on(spark, tmp_path, store, slide):
    case, sink, p = Case(spark, tmp_path), Collected(), ps.Pipeline()
    span = F.window("at", f"{SPAN} seconds", f"{slide} seconds")
    old = case.query(plain_source(spark, store, case.inputs).groupBy(span, "name").agg(*map(F.expr, PLAIN)))
    window = ps.tumbling(f"{SPAN} seconds") if slide == SPAN else ps.sliding(f"{SPAN} seconds", f"{slide} seconds")
    windowed = source(p, case.inputs).group_by("name").window(window).aggregate("windows", **OURS)
    windowed.write_to(ps.sinks.custom(sink), name="out")
    adoption = case.go_on(p)
    watermark = max(each[2] for events in case.files[:2] for each in events).timestamp() - LAG
    open_windows = sum(start + SPAN > watermark for start, _ in windows(in_time(case.files[:2]), slide))
    assert [(each.stage, each.converted, each.rows) for each in adoption.operators] == [("windows", True, open_windows)]
    rows = [(seconds(row.window.start), row.name, *row[2:]) for row in old]
    rows += [(seconds(row.window_start), row.name, *[row[name] for name in OURS]) for row in sink.rows]
    groups = windows(in_time(case.files), slide)
    expected = [(start, name, *results(events)) for (start, name), events in groups.items() if name != "end"]
    assert close(rows) == close(expected)


@pytest.mark.parametrize("store", EACH_STORE)
def test_sessions_go_on(spark, tmp_path, store):
    case, sink, p = Case(spark, tmp_path), Collected(), ps.Pipeline()
    span = F.session_window("at", f"{GAP} seconds")
    old = case.query(plain_source(spark, store, case.inputs).groupBy("name", span).agg(*map(F.expr, PLAIN)))
    grouped = source(p, case.inputs).group_by("name").window(ps.session(f"{GAP} seconds"))
    grouped.aggregate("sessions", **OURS).write_to(ps.sinks.custom(sink), name="out")
    case.go_on(p)
    rows = [(seconds(row.session_window.start), seconds(row.session_window.end), row.name, *row[2:]) for row in old]
    rows += [(seconds(row.window_start), seconds(row.window_end), row.name, *[row[name] for name in OURS]) for row in sink.rows]
    expected = [
        (events[0][2].timestamp(), events[-1][2].timestamp() + GAP, events[0][1], *results(events))
        for events in sessions(in_time(case.files))
        if events[0][1] != "end"
    ]
    assert close(rows) == close(expected)


@pytest.mark.parametrize("store", EACH_STORE)
@pytest.mark.parametrize("keys", [("name",), ()], ids=["by name", "of all"])
def test_aggregates_without_windows_become_rolling_ones(spark, tmp_path, store, keys):
    case, sink, p = Case(spark, tmp_path), Collected(), ps.Pipeline()
    frame = session_of(spark, STORES[store]).readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(case.inputs))
    case.query(frame.groupBy(*keys).agg(*map(F.expr, PLAIN)), mode="update")
    rows = p.read_from(
        ps.sources.files(str(case.inputs), "parquet", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1), name="events"
    )
    ours = {f"r_{name}": aggregate for name, aggregate in OURS.items()}
    rows.group_by(*keys).rolling_aggregate("totals", **ours).write_to(ps.sinks.custom(sink), name="out")
    case.go_on(p)
    last = {row.name if keys else "": tuple(row[f"r_{name}"] for name in OURS) for row in sink.rows}
    groups = defaultdict(list)
    for events in case.files:
        for each in events:
            groups[each[1] if keys else ""].append(each)
    assert close([(key, *row) for key, row in last.items()]) == close([(key, *results(of)) for key, of in groups.items()])


@pytest.mark.parametrize("within", [None, "1 minute"])
def test_distinct_goes_on(spark, tmp_path, within):
    first, second, _, *others = files_of(seed=1)
    case, sink, p = Case(spark, tmp_path, [first, second, first[:7] + second[:7], *others]), Collected(), ps.Pipeline()
    frame = plain_source(spark, "changelog", case.inputs)
    old = case.query(frame.dropDuplicatesWithinWatermark(["id"]) if within else frame.dropDuplicates(["id"]))
    source(p, case.inputs).group_by("id").distinct("seen", within=within).write_to(ps.sinks.custom(sink), name="out")
    adoption = case.go_on(p)
    assert [(each.stage, each.converted) for each in adoption.operators] == [("seen", False)]
    numbers = sorted(row.id for row in [*old, *sink.rows])
    assert numbers == sorted(set(numbers))
    assert set(numbers) == {each[0] for events in case.files for each in events}


def test_first_last_and_the_values_of_the_extremes_go_on(spark, tmp_path):
    """Spark's first and last follow the order of arrival: each name has one event a file."""
    files = [
        [(10 * part + n, name, START + timedelta(seconds=part + n), float((part * 7 + n) % 5), None, None) for n, name in pairs]
        for part, pairs in enumerate([[(0, "a"), (1, "b")], [(0, "a"), (2, "c")], [(0, "a"), (1, "b"), (2, "c")]])
    ] + files_of(seed=1)[-1:] * 2
    case, sink, p = Case(spark, tmp_path, files), Collected(), ps.Pipeline()
    chosen = [F.first("id"), F.last("id"), F.max_by("id", "amount"), F.min_by("id", "amount")]
    case.query(plain_source(spark, "changelog", case.inputs).groupBy("name", F.window("at", "1 minute")).agg(*chosen))
    ours = {
        "first": ps.first("id"),
        "last": ps.last("id"),
        "most": ps.max_by("id", "amount"),
        "least": ps.min_by("id", "amount"),
    }
    grouped = source(p, case.inputs).group_by("name").window(ps.tumbling("1 minute"))
    grouped.aggregate("windows", **ours).write_to(ps.sinks.custom(sink), name="out")
    case.go_on(p)
    expected = []
    for name in "abc":
        events = sorted((each for file in case.files[:3] for each in file if each[1] == name), key=lambda each: each[2])
        expected.append((name, events[0][0], events[-1][0], by_amount(events, max), by_amount(events, min)))
    assert sorted(tuple(row[column] for column in ("name", *ours)) for row in sink.rows) == expected


@pytest.mark.parametrize("own_code", [True, False], ids=["the query's code", "distinct"])
def test_a_window_behind_rows_without_repetitions_goes_on(spark, tmp_path, own_code):
    case, sink, p = Case(spark, tmp_path), Collected(), ps.Pipeline()
    frame = plain_source(spark, "changelog", case.inputs).dropDuplicates(["id", "at"])
    old = case.query(frame.groupBy(F.window("at", f"{SPAN} seconds"), "name").count())
    events = source(p, case.inputs)
    if own_code:
        once = events.stateful("once", lambda rows: rows.dropDuplicates(["id", "at"])).with_timestamps("at")
    else:
        once = events.group_by("id", "at").distinct("once")
    counted = once.group_by("name").window(ps.tumbling(f"{SPAN} seconds")).aggregate("counts", n=ps.count())
    counted.write_to(ps.sinks.custom(sink), name="out")
    adoption = case.go_on(p)
    assert {each.stage: each.converted for each in adoption.operators} == {"counts": True, "once": False}
    rows = [(seconds(row.window.start), row.name, row["count"]) for row in old]
    rows += [(seconds(row.window_start), row.name, row.n) for row in sink.rows]
    groups = windows(in_time(case.files), SPAN)
    assert sorted(rows) == sorted((start, name, len(events)) for (start, name), events in groups.items() if name != "end")


def windows_by(p, folder, window, key="name", **aggregates):
    rows = source(p, folder).with_columns(who="name")
    rows.group_by(key).window(window).aggregate("windows", **aggregates).write_to(ps.sinks.noop(), name="out")
    return p


@pytest.mark.parametrize(
    ("key", "aggregates", "clause"),
    [
        (
            "name",
            {"n": ps.count()},
            "it also keeps 'sum', for which the stage has no aggregate",
        ),
        (
            "name",
            {"total": ps.sum("amount"), "n": ps.count()},
            "for 'total' (sum) it would keep 'sum', and there it keeps 'count': give the stage the query's aggregates in their "
            "order",
        ),
        (
            "name",
            {"n": ps.count(), "total": ps.sum("id")},
            "its 'total' is double, and that of the stage bigint",
        ),
        (
            "name",
            {"n": ps.count(), "total": ps.sum("price")},
            "its 'total' is double, and the stage takes in decimal(6,2)",
        ),
        (
            "name",
            {"n": ps.count(), "names": ps.approx_count_distinct("name")},
            "Spark keeps nothing that could become approx_count_distinct ('names')",
        ),
        (
            "who",
            {"n": ps.count(), "total": ps.sum("amount")},
            "its keys are (name string), and those of the stage (who string)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_difference(spark, tmp_path, key, aggregates, clause):
    case = Case(spark, tmp_path)
    span = F.window("at", f"{SPAN} seconds")
    frame = plain_source(spark, "changelog", case.inputs)
    case.query(frame.groupBy(span, "name").agg(F.count("*").alias("n"), F.sum("amount").alias("total")))
    pipeline = windows_by(ps.Pipeline(), case.inputs, ps.tumbling(f"{SPAN} seconds"), key, **aggregates)
    with pytest.raises(IncompatibleError) as raised:
        adopting(spark, pipeline, tmp_path / "checkpoint", tmp_path / "scratch")
    assert raised.value.message == (
        f"Operator 0 (aggregate by window, name) cannot become stage 'windows': {clause}. Or bring the query's code as it is, in "
        "stateful(name, function)."
    )
    if key == "who":
        adopting(spark, pipeline, tmp_path / "checkpoint", tmp_path / "scratch-2", Request({0: "windows"}))


@pytest.mark.parametrize(
    ("collected", "value", "kind"), [("id", "name", "string"), ("name", "id", "bigint"), ("cast(id as int)", "id", "bigint")]
)
def test_collected_values_of_another_type_are_refused(spark, tmp_path, collected, value, kind):
    case = Case(spark, tmp_path)
    frame = plain_source(spark, "changelog", case.inputs)
    case.query(frame.groupBy(F.window("at", f"{SPAN} seconds"), "name").agg(F.collect_set(F.expr(collected)).alias("values")))
    pipeline = windows_by(ps.Pipeline(), case.inputs, ps.tumbling(f"{SPAN} seconds"), values=ps.collect_set(value))
    with pytest.raises(IncompatibleError) as raised:
        adopt(spark, pipeline, tmp_path / "checkpoint", tmp_path)
    assert raised.value.message == (
        "Operator 0 (aggregate by window, name) cannot become stage 'windows': a buffer holds no array of "
        f"{kind}, so the query collected values of another type. Give the source the query's schema."
    )


def test_windows_of_another_size_are_refused(spark, tmp_path):
    case = Case(spark, tmp_path)
    frame = plain_source(spark, "changelog", case.inputs)
    case.query(frame.groupBy(F.window("at", f"{SPAN} seconds"), "name").agg(F.count("*").alias("n")))
    pipeline = windows_by(ps.Pipeline(), case.inputs, ps.tumbling(f"{SPAN + 2} seconds"), n=ps.count())
    with pytest.raises(UsageError, match=r"is not a window of stage 'windows', which has tumbling\(12 seconds\)\.$"):
        adopt(spark, pipeline, tmp_path / "checkpoint", tmp_path)


@pytest.mark.parametrize("store", list(STORES))
@pytest.mark.parametrize("name", ["limit", "no keys"])
def test_state_that_spark_keeps_in_one_partition_is_whole(spark, tmp_path, name, store):
    case = Case(spark, tmp_path)
    rows = session_of(spark, STORES[store], partitions=3).readStream.schema(SCHEMA).parquet(str(case.inputs))
    case.query(rows.limit(3) if name == "limit" else rows.groupBy().count(), "append" if name == "limit" else "update")
    facts = examine(opened(str(tmp_path / "checkpoint")))
    assert not facts.is_damaged, facts.findings
    assert facts.operators[0].expected_partitions == 1
