"""Fails when Spark changes how it plans the operator that keeps windows, or finds those that have ended in another way."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import functions as F

from pitstop.spark.internals.jvm import java_query, session_of
from pitstop.spark.internals.resting_windows import let_windows_rest

pytestmark = pytest.mark.spark

SLIDE, LAG = timedelta(minutes=1), timedelta(seconds=1)
START = datetime(2020, 5, 1, 12, tzinfo=UTC)
RESTING, LOOKED_AT = "RestingWindows$Resting", "StateStoreSaveExec"


def row(seconds):
    return f'{{"key": 1, "time": "{(START + timedelta(seconds=seconds)).isoformat()}"}}'


class Ended:
    """Gathers the windows that have ended, by epoch."""

    def __init__(self):
        self.epochs = {}

    def __call__(self, rows, epoch):
        self.epochs[epoch] = [(each["at"].astimezone(UTC), each["count"]) for each in rows.collect()]

    def counts(self):
        found = [each for epoch in self.epochs.values() for each in epoch]
        assert len(dict(found)) == len(found)
        return dict(found)


@pytest.fixture
def started(spark, folder_stream, tmp_path):
    """Starts the query of windows of a minute; and what adds rows, and gathers what has ended."""
    stream, add = folder_stream
    queries, found = [], Ended()

    def start(column="frames@counts"):
        let_windows_rest(spark, {"frames@counts": int(SLIDE.total_seconds() * 1000)})
        window = F.window("time", "1 minute").alias(column)
        timed = stream.withWatermark("time", f"{LAG.seconds} second")
        counts = timed.select(window).groupBy(f"`{column}`").count()
        ended = counts.select(F.col(f"`{column}`.end").alias("at"), "count")
        writer = ended.writeStream.foreachBatch(found).option("checkpointLocation", str(tmp_path / "checkpoint"))
        queries.append(writer.start())
        return queries[-1]

    yield start, add, found
    for query in queries:
        query.stop()


def keeper(query):
    """The class of the operator that kept the windows of the last epoch."""

    def names(node):
        found, children = [node.getClass().getName().rpartition(".")[2]], node.children()
        return sum((names(children.apply(number)) for number in range(children.size())), found)

    (found,) = {RESTING, LOOKED_AT} & set(names(java_query(query).lastExecution().executedPlan()))
    return found


def fed(query, add, *seconds):
    add(*map(row, seconds))
    query.processAllAvailable()
    return keeper(query)


def test_the_rule_is_there_once_a_session(spark):
    for _ in range(2):
        let_windows_rest(spark, {"frames@counts": 60_000})
    rules = session_of(spark).cloneSession().sessionState().columnarRules()
    names = [rules.apply(number).getClass().getName() for number in range(rules.size())]
    assert names.count("RestingWindows$Rules") == 1


def test_two_jobs_of_a_session_look_whenever_a_window_of_either_may_have_ended(spark):
    for slide in (60_000, 90_000, 60_000):
        let_windows_rest(spark, {"frames@of two slides": slide})
    assert spark.conf.get("spark.pitstop.slide.frames@of two slides") == "30000"


@pytest.mark.long
def test_windows_are_looked_at_only_when_one_may_have_ended(started):
    start, add, found = started
    query = start()
    assert fed(query, add, 10) == LOOKED_AT
    assert fed(query, add, 20, 30) == RESTING
    assert fed(query, add, 50) == RESTING
    assert found.counts() == {}
    assert fed(query, add, 62) == LOOKED_AT
    assert found.counts() == {START + SLIDE: 4}
    assert fed(query, add, 20, 70) == RESTING


@pytest.mark.long
def test_a_new_run_looks_at_all_windows_first(started):
    start, add, _ = started
    query = start()
    fed(query, add, 10)
    assert fed(query, add, 20) == RESTING
    query.stop()
    query = start()
    add(row(20))
    query.processAllAvailable()
    first = keeper(query)
    assert (first, fed(query, add, 21)) == (LOOKED_AT, RESTING)


def test_windows_of_other_names_are_left_as_they_are(started):
    start, add, _ = started
    query = start("another")
    assert [fed(query, add, second) for second in (10, 20, 30)] == [LOOKED_AT] * 3


@pytest.mark.long
def test_each_window_is_given_once_with_the_rows_that_were_not_late(started):
    start, add, found = started
    query, drawn = start(), random.Random(5)
    watermark, kept, keepers, now = None, Counter(), Counter(), 0
    for _ in range(40):
        now += drawn.choice((1, 5, 11, 70))
        seconds = [max(0, now - drawn.choice((0, 0, 3, 20, 100))) for _ in range(5)]
        keepers[fed(query, add, *seconds)] += 1
        for second in seconds:
            end = START + timedelta(minutes=second // 60 + 1)
            if watermark is None or end > watermark:
                kept[end] += 1
        reached = START + timedelta(seconds=max(seconds)) - LAG
        watermark = max(watermark or reached, reached)
        assert found.counts() == {end: count for end, count in kept.items() if end <= watermark}
    assert min(keepers[RESTING], keepers[LOOKED_AT]) > 5
