"""Checkpoints of every release of Spark from 3.5 on are adopted, and the job goes on: its rows are those that plain Python makes.

The recorded queries have read three files (tests/golden/record_checkpoints.py). The job reads two more, whose events fall into
what is open, and repeat what was seen.
"""

import collections
import json
import os
import shutil
import tarfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import SimpleNamespace

import pandas as pd
import pyspark.cloudpickle
import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.adopting import test_recorded as own
from tests.spark.adopting.plain import adopt, content_of
from tests.spark.harness import Collected, FilesHarness, Harness, check
from tests.unit.doctor.recorded import ARCHIVES, names, release_of

pyspark.cloudpickle.register_pickle_by_value(own)
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SCHEMA = "id BIGINT, name STRING, at TIMESTAMP, amount DOUBLE"
START = 1_767_225_600
"""2026-01-01 in UTC, in seconds; times below count from there."""
WATERMARK = 15
"""Of the recorded checkpoints."""
RECORDED = [[(number * 6 + each, "ab"[each % 2], number * 10 + each, 1.5) for each in range(6)] for number in range(3)]
NEW = [
    [(100, "a", 16, 2.0), (13, "b", 23, 4.0), (14, "a", 22, 8.0), (101, "a", 30, 0.5)],
    [(101, "a", 30, 0.5), (17, "b", 25, 1.5), (102, "b", 41, 1.0), (103, "a", 90, 1.0)],
]
ALL = [event for events in [*RECORDED, *NEW] for event in events]
LAST = 80
"""The watermark in the end."""


def at(moment):
    return int(moment.timestamp()) - START


def windows(events):
    groups = defaultdict(lambda: [0, 0.0])
    for _, name, when, amount in events:
        group = groups[when // 10 * 10, name]
        group[0], group[1] = group[0] + 1, group[1] + amount
    return groups


def window(frame):
    aggregates = F.count("*").alias("events"), F.sum("amount").alias("total")
    return timed(frame).groupBy(F.window("at", "10 seconds"), "name").agg(*aggregates)


def timed(frame):
    return frame.withWatermark("at", "10 seconds")


def expected_windows():
    closed = {key: value for key, value in windows(ALL).items() if WATERMARK < key[0] + 10 <= LAST}
    return sorted((start, name, *value) for (start, name), value in closed.items())


def counts(frame):
    return timed(frame).groupBy(F.window("at", "10 seconds"), "name").count()


def chain(frame):
    return timed(frame).dropDuplicates(["id", "at"]).groupBy(F.window("at", "10 seconds"), "name").count()


def expected_counts(events):
    return sorted((start, name, n) for (start, name), (n, _) in windows(events).items() if WATERMARK < start + 10 <= LAST)


def once(key):
    seen, fresh = set(), []
    for event in ALL:
        if key(event) not in seen:
            seen.add(key(event))
            fresh.append(event)
    return fresh


def new_once(key):
    old = {key(event) for events in RECORDED for event in events}
    return sorted((event[0], event[2]) for event in once(key) if key(event) not in old)


def sessions(frame):
    return timed(frame).groupBy(F.session_window("at", "5 seconds"), "name").count()


def expected_sessions():
    found = []
    for who in "ab":
        for when in sorted(moment for _, name, moment, _ in ALL if name == who):
            if found and found[-1][1] == who and when < found[-1][2]:
                found[-1][2], found[-1][3] = max(found[-1][2], when + 5), found[-1][3] + 1
            else:
                found.append([when, who, when + 5, 1])
    return sorted(tuple(session) for session in found if WATERMARK < session[2] <= LAST)


def pairs(left, right):
    left = timed(left).select("id", "at", "amount").withColumnRenamed("at", "ordered")
    right = timed(right).select(F.col("id").alias("paid_id"), F.col("at").alias("paid"), "name")
    near = (F.col("paid") >= F.col("ordered")) & (F.col("paid") <= F.col("ordered") + F.expr("INTERVAL 5 SECONDS"))
    return left.join(right, (F.col("id") == F.col("paid_id")) & near)


def expected_pairs():
    def joined(events):
        return [
            (one, ordered, paid)
            for one, _, ordered, _ in events
            for other, _, paid, _ in events
            if one == other and ordered <= paid <= ordered + 5
        ]

    before = joined([event for events in RECORDED for event in events])
    left = joined(ALL)
    for pair in before:
        left.remove(pair)
    return sorted(left)


NEW_OF_JOINS = [
    [(13, "b", 19, 2.0), (14, "a", 24, 8.0), (100, "a", 16, 1.5), (101, "a", 30, 1.5)],
    [(101, "a", 30, 1.5), (17, "b", 25, 1.5), (102, "b", 41, 1.0), (103, "a", 90, 2.0)],
]
"""Partners of recorded events on both sides, events alone on each, and one that moves the watermark past all others."""


def join_of(how):
    def function(left, right):
        left = timed(left).filter("id % 3 != 1 OR amount > 1.5").select("id", F.col("at").alias("ordered"), "amount")
        right = timed(right).filter("id % 3 != 2 OR amount > 1.5")
        right = right.select(F.col("id").alias("paid_id"), F.col("at").alias("paid"), "name")
        near = (F.col("paid") >= F.col("ordered")) & (F.col("paid") <= F.col("ordered") + F.expr("INTERVAL 5 SECONDS"))
        return left.join(right, (F.col("id") == F.col("paid_id")) & near, how)

    return function


def expected_join(how):
    """Return (id and time of the left, id and time of the right) of each row of the join of all events."""
    all_events = [event for events in [*RECORDED, *NEW_OF_JOINS] for event in events]
    left = [(one, when) for one, _, when, amount in all_events if one % 3 != 1 or amount > 1.5]
    right = [(one, when) for one, _, when, amount in all_events if one % 3 != 2 or amount > 1.5]
    pairs = [(*a, *b) for a in left for b in right if a[0] == b[0] and a[1] <= b[1] <= a[1] + 5]
    matched = {pair[:2] for pair in pairs}, {pair[2:] for pair in pairs}
    if how == "semi":
        return sorted(((*row, None, None) for row in left if row in matched[0]), key=repr)
    alone = [(*row, None, None) for row in left if row not in matched[0] and how in ("left", "full")]
    alone += [(None, None, *row) for row in right if row not in matched[1] and how in ("right", "full")]
    return sorted(pairs + alone, key=repr)


def joined_rows(rows):
    moments = ((row, getattr(row, "ordered", None), getattr(row, "paid", None)) for row in rows)
    joined = [
        (getattr(row, "id", None), ordered and at(ordered), getattr(row, "paid_id", None), paid and at(paid))
        for row, ordered, paid in moments
    ]
    return sorted(joined, key=repr)


def rows_written(facts):
    """Return what the old query wrote, as rows."""
    times = ("ordered", "paid")
    return [
        SimpleNamespace(**{name: datetime.fromisoformat(value) if name in times else value for name, value in row.items()})
        for row in facts.get("written", [])
    ]


def moments(frame):
    aggregates = F.count("*").alias("events"), F.sum("amount").alias("total")
    return timed(frame).groupBy("at", "name").agg(*aggregates)


def expected_moments():
    groups = defaultdict(list)
    for _, name, when, amount in ALL:
        groups[when, name].append(amount)
    return sorted((*key, len(of), sum(of)) for key, of in groups.items() if WATERMARK < key[0] <= LAST)


def mapped(frame):
    def count(key, batches, state):
        rows = (state.get[0] if state.exists else 0) + sum(len(batch) for batch in batches)
        state.update((rows,))
        yield pd.DataFrame({"name": [key[0]], "events": [rows]})

    grouped = timed(frame).groupBy("name")
    return grouped.applyInPandasWithState(count, "name STRING, events BIGINT", "events BIGINT", "append", "NoTimeout")


class Counter(StatefulProcessor):
    with_timers = True

    def init(self, handle):
        self.handle = handle
        self.total = handle.getValueState("total", "rows BIGINT, amount DOUBLE")
        self.recent = handle.getListState("recent", "id BIGINT")
        self.by_id = handle.getMapState("by_id", "id BIGINT", "amount DOUBLE")

    def handleInputRows(self, key, rows, timerValues):
        number, amount = self.total.get() if self.total.exists() else (0, 0.0)
        for batch in rows:
            for row in batch.itertuples():
                number, amount = number + 1, amount + row.amount
                self.recent.appendValue((row.id,))
                self.by_id.updateValue((row.id,), (row.amount,))
        self.total.update((number, amount))
        recent, ids = len(list(self.recent.get())), len(list(self.by_id.iterator()))
        yield pd.DataFrame({"name": [key[0]], "rows": [number], "amount": [amount], "recent": [recent], "ids": [ids]})

    def close(self):
        pass


CENTURY = 3_155_760_000_000


class Forgetting(Counter):
    """State that lives for a time. What is recorded of ``recent`` was to live for a minute."""

    def init(self, handle):
        self.total = handle.getValueState("total", "rows BIGINT, amount DOUBLE", CENTURY)
        self.recent = handle.getListState("recent", "id BIGINT", CENTURY)
        self.by_id = handle.getMapState("by_id", "id BIGINT", "amount DOUBLE", CENTURY)


class RowCounter(Counter):
    def handleInputRows(self, key, rows, timerValues):
        number, amount = self.total.get() if self.total.exists() else (0, 0.0)
        for row in rows:
            number, amount = number + 1, amount + row.amount
            self.recent.appendValue((row.id,))
            self.by_id.updateValue((row.id,), (row.amount,))
        self.total.update((number, amount))
        recent, ids = len(list(self.recent.get())), len(list(self.by_id.iterator()))
        yield Row(name=key[0], rows=number, amount=amount, recent=recent, ids=ids)


OUTPUT = "name STRING, rows BIGINT, amount DOUBLE, recent BIGINT, ids BIGINT"


def processed(mode, processor=Counter):
    def function(frame):
        return timed(frame).groupBy("name").transformWithStateInPandas(processor(), OUTPUT, "Append", mode)

    return function


def processed_rows(frame):
    return timed(frame).groupBy("name").transformWithState(RowCounter(), OUTPUT, "Append", "None")


def expected_totals():
    own = defaultdict(list)
    for event in ALL:
        own[event[1]].append(event)
    return sorted((name, len(all), sum(e[3] for e in all), len(all), len({e[0] for e in all})) for name, all in own.items())


def expected_totals_after_a_minute():
    """Of the recorded state, what lives for a minute is gone."""
    recent = collections.Counter(event[1] for events in NEW for event in events)
    return [(name, rows, amount, recent[name], ids) for name, rows, amount, _, ids in expected_totals()]


def last_of_each(rows):
    return sorted({row[0]: tuple(row) for row in rows}.values())


def by_window(rows):
    return sorted((at(row.window.start), *row[1:]) for row in rows)


@dataclass(frozen=True)
class Case:
    function: Callable
    got: Callable
    """The rows of the job in the form of what is expected."""
    expected: Callable
    two: bool = False
    """True for a join of the folder with itself."""
    new: list = field(default_factory=lambda: NEW)
    """The events of two files that come later."""
    harness: type = FilesHarness


class BusyHarness(FilesHarness):
    """For state in processing time, which keeps a query busy for ever."""

    def settles(self, until):
        return False


WINDOW = Case(window, by_window, expected_windows)
SEEN = Case(
    lambda f: timed(f).dropDuplicates(["id", "at"]),
    lambda r: sorted((x.id, at(x["at"])) for x in r),
    lambda: new_once(lambda e: (e[0], e[2])),
)
SESSIONS = Case(sessions, lambda r: sorted((at(x[0].start), x[1], at(x[0].end), x[2]) for x in r), expected_sessions)
JOIN = Case(pairs, lambda r: sorted((x.id, at(x.ordered), at(x.paid)) for x in r), expected_pairs, two=True)
MAPPED = Case(mapped, last_of_each, lambda: [row[:2] for row in expected_totals()])
MOMENTS = Case(moments, lambda rows: sorted((at(row["at"]), *row[1:]) for row in rows), expected_moments)
JOINS = {
    how: Case(join_of(how), joined_rows, partial(expected_join, how), two=True, new=NEW_OF_JOINS)
    for how in ("left", "right", "full", "semi")
}
CASES = {
    "window-hdfs": WINDOW,
    "window-rocksdb": WINDOW,
    "window-changelog": WINDOW,
    "window-format2": WINDOW,
    "window-named": Case(counts, by_window, lambda: expected_counts(ALL)),
    "dedup-hdfs": SEEN,
    "dedup-changelog": Case(
        lambda f: f.dropDuplicates(["id"]), lambda r: sorted((x.id, at(x["at"])) for x in r), lambda: new_once(lambda e: e[0])
    ),
    "dedup-within": Case(
        lambda f: timed(f).dropDuplicatesWithinWatermark(["id"]),
        lambda r: sorted((x.id, at(x["at"])) for x in r),
        lambda: new_once(lambda e: e[0]),
    ),
    "join-hdfs": JOIN,
    "join-changelog": JOIN,
    "join-format3": JOIN,
    "sessions-hdfs": SESSIONS,
    "sessions-rocksdb": SESSIONS,
    "pandas-state": MAPPED,
    "pandas-state-rocksdb": MAPPED,
    "processor": Case(processed("EventTime"), last_of_each, expected_totals),
    "processor-avro": Case(processed("None"), last_of_each, expected_totals),
    "processor-rows": Case(processed_rows, last_of_each, expected_totals),
    "processor-ttl": Case(
        processed("ProcessingTime", Forgetting), last_of_each, expected_totals_after_a_minute, harness=BusyHarness
    ),
    "moments-hdfs": MOMENTS,
    "moments-changelog": MOMENTS,
    **{f"{how}-join-{store}": case for how, case in JOINS.items() for store in ("hdfs", "changelog")},
    "chain": Case(chain, by_window, lambda: expected_counts(once(lambda e: (e[0], e[2])))),
}
ALWAYS = {("3.5", "sessions-hdfs")}


def cases():
    for release, scenario in names():
        if scenario in CASES:
            marks = [] if (release, scenario) in ALWAYS else [pytest.mark.long]
            yield pytest.param(release, scenario, id=f"{release}-{scenario}", marks=marks)


def unpacked(release, scenario, folder, inputs):
    """Unpack a checkpoint, as if its files had been read from ``inputs``."""
    archive = next(path for path in ARCHIVES if release_of(path) == release)
    with tarfile.open(archive) as packed:
        members = [member for member in packed.getmembers() if member.name.startswith(f"{scenario}/")]
        packed.extractall(folder, members=members, filter="data")
    checkpoint = folder / scenario / "checkpoint"
    for log in (path for path in checkpoint.glob("sources/*/*") if not path.name.startswith(".")):
        log.write_text(log.read_text().replace(f"/tmp/pitstop-recorded-inputs/{scenario}", str(inputs)))
        log.with_name(f".{log.name}.crc").unlink()
    return checkpoint


def write(folder, number, events):
    folder.mkdir(exist_ok=True)
    rows = (
        {"id": one, "name": name, "at": f"2026-01-01T00:{when // 60:02d}:{when % 60:02d}Z", "amount": amount}
        for one, name, when, amount in events
    )
    path = folder / f"part-{number}.json"
    path.with_name(f".{path.name}").write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path.with_name(f".{path.name}"), (START + number * 60,) * 2)
    path.with_name(f".{path.name}").rename(path)


def job_of(case, folder, sink, more=False):
    p = ps.Pipeline()
    source = ps.sources.files(str(folder), "json", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    rows = p.read_from(source, name="events")
    more_rows = [p.read_from(source, name="events again")] if case.two else []
    if more:
        rows.group_by("name").rolling_aggregate("seen", n=ps.count()).write_to(ps.sinks.noop(), name="to noop")
    rows.stateful("mine", case.function, *more_rows).write_to(ps.sinks.custom(sink), name="out")
    return p


@pytest.mark.parametrize(("release", "scenario"), list(cases()))
def test_a_job_goes_on_from_a_recorded_checkpoint(spark, tmp_path, release, scenario):
    case, inputs = CASES[scenario], tmp_path / "inputs"
    checkpoint = unpacked(release, scenario, tmp_path, inputs)
    for number, events in enumerate(RECORDED):
        write(inputs, number, events)
    before = content_of(checkpoint)
    first, second = Collected(), Collected()

    adoption = adopt(spark, job_of(case, inputs, first), checkpoint, tmp_path)

    assert content_of(checkpoint) == before
    facts = json.loads((tmp_path / scenario / "facts.json").read_text())
    assert (adoption.epoch, adoption.partitions) == (facts["committed"], facts["partitions"])
    assert (adoption.begins_empty, adoption.begins_anew) == ([], [])
    if not case.two:
        assert [operator.rows for operator in adoption.operators] == facts["rows"] or scenario.startswith("processor")
    shutil.rmtree(checkpoint)
    harness = case.harness(spark, tmp_path)
    harness.runs = 1
    write(inputs, 3, case.new[0])
    report = harness.run(job_of(case, inputs, first), until=4)
    assert str(report.way) == "resume"
    write(inputs, 4, case.new[1])
    harness.run(job_of(case, inputs, second, more=True), until=5)
    assert case.got(rows_written(facts) + first.rows + second.rows) == case.expected()


def test_the_operators_of_a_query_become_stages_of_their_own(spark, tmp_path):
    case, inputs, sink = CASES["chain"], tmp_path / "inputs", Collected()
    checkpoint = unpacked("4.2", "chain", tmp_path, inputs)
    for number, events in enumerate([*RECORDED, *NEW]):
        write(inputs, number, events)
    p = ps.Pipeline()
    source = ps.sources.files(str(inputs), "json", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    rows = p.read_from(source, name="events").with_timestamps("at", allowed_lag="10 seconds")
    once_each = rows.stateful("once", lambda frame: frame.dropDuplicates(["id", "at"])).with_timestamps("at")
    counted = once_each.stateful("counts", lambda frame: frame.groupBy(F.window("at", "10 seconds"), "name").count())
    counted.write_to(ps.sinks.custom(sink), name="out")
    adoption = adopt(spark, p, checkpoint, tmp_path)
    assert {operator.what: operator.stage for operator in adoption.operators} == {
        "aggregate by window, name": "counts",
        "dropDuplicates by id, at": "once",
    }
    harness = FilesHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(p, until=5)
    assert case.got(sink.rows) == case.expected()


class RateHarness(Harness):
    def wait_for(self, running, until):
        def read():
            epoch = running.checkpoint.committed()
            offsets = running.checkpoint.offsets(epoch).offsets if epoch >= 0 else [None]
            return not running.active or all(offset and json.loads(offset)["offset"] >= until for offset in offsets)

        assert wait_until(read, self.read_seconds, step=0.05)
        check(running)


@pytest.mark.long
def test_another_format_of_spark_goes_on(spark, tmp_path):
    checkpoint = unpacked("3.5", "rate", tmp_path, tmp_path / "inputs")
    sink, p = Collected(), ps.Pipeline()
    rows = p.read_from(ps.sources.spark("rate-micro-batch", rowsPerBatch=10), name="numbers")
    rows.stateful("mine", lambda frame: frame.dropDuplicates(["value"])).write_to(ps.sinks.custom(sink), name="out")
    adoption = adopt(spark, p, checkpoint, tmp_path)
    log = (checkpoint / "offsets" / str(adoption.epoch)).read_text().splitlines()
    first = json.loads(log[-1])["offset"]
    assert [operator.rows for operator in adoption.operators] == [first]
    harness = RateHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(p, until=first + 30)
    values = sorted(row.value for row in sink.rows)
    assert values == list(range(first, first + len(values)))
    assert len(values) >= 30
