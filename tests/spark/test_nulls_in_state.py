"""A column that can be null in one version of a job and not in the next, or the other way round: state keeps what it had."""

import dataclasses
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import IncompatibleError
from pitstop.model.report import Way
from pitstop.plan.model import Plan
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.running.query import RunningQuery
from tests.spark.harness import Collected, FilesHarness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

KINDS = ("tumbling", "sliding", "session", "joined", "rolled", "mine", "sparks")
START = datetime(2026, 1, 1, tzinfo=UTC)
BEFORE = [(0, "a", 1, 0), (1, None, None, 1), (2, None, 3, 2)]
"""(second, k, v, id)"""
AFTER = [(3, None, None, 1), (4, "a", 5, 0)]
CLOSING = [(900, "z", 0, 99)]


def count(state, row):
    state.n = (state.n or 0) + 1
    return {"n": state.n}


def by_spark(rows):
    return rows.groupBy(F.window("at", "1 minute"), "k").agg(F.count("*").alias("n"), F.max(F.struct("v", "k")).alias("top"))


def by_spark_never_null(rows):
    return by_spark(rows.withColumn("k", F.coalesce("k", F.lit("none"))))


def pipeline(folder, sinks, strict):
    p = ps.Pipeline()
    schema = "at timestamp, k string, v int, id int"
    source = ps.sources.files(str(folder), "json", schema=schema, streaming=True, maxFilesPerTrigger=1)
    rows = p.read_from(source, name="rows")
    if strict:
        rows = rows.with_columns(k="coalesce(k, 'none')", v="coalesce(v, -1)")
    rows = rows.with_columns(tags="array(k)", unit="'km'" if strict else "if(id < 0, 'km', NULL)").with_timestamps("at")
    by_key, top = rows.group_by("k"), {"n": ps.count(), "top": ps.max("struct(v, k)")}
    stages = {
        "tumbling": by_key.window(ps.tumbling("1 minute")).aggregate("tumbling", **top),
        "sliding": by_key.window(ps.sliding("1 minute", "30 seconds")).aggregate("sliding", **top),
        "session": by_key.window(ps.session("1 minute")).aggregate("session", **top),
        "joined": rows.join("joined", rows.select("id", "at AS at2", "k AS k2", "v AS v2"), on="id", within="1 hour"),
        "rolled": by_key.rolling_aggregate("rolled", n=ps.count()),
        "mine": by_key.map_stateful("mine", count, "n bigint", "n bigint"),
        "sparks": rows.stateful("sparks", by_spark),
    }
    for name, stage in stages.items():
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"to {name}")
    return p


def as_read(rows, strict):
    return [(at, k or "none", -1 if v is None else v, key) if strict else (at, k, v, key) for at, k, v, key in rows]


def expected(strict_first):
    """Kind -> how often each result comes.

    (key, n, top) of windows, (key, n) of rows with a count, (k, v, k in a list, a constant, k2, v2) of pairs.
    """
    first, then = as_read(BEFORE, strict_first), as_read(AFTER + CLOSING, not strict_first)
    rows = first + then
    windowed, counts, so_far = {}, Counter(), Counter()
    for at, k, v, _ in rows:
        so_far[k] += 1
        counts[k, so_far[k]] += 1
        if at < 60:
            windowed.setdefault(k, []).append((v, k))
    # Of structs null is the least.
    tops = {(k, len(own), max(own, key=lambda pair: (pair[0] is not None, pair[0] or 0))) for k, own in windowed.items()}
    units = {row: "km" if strict else None for strict, own in ((strict_first, first), (not strict_first, then)) for row in own}
    pairs = Counter(
        (row[1], row[2], row[1], units[row], other[1], other[2]) for row in rows for other in rows if row[3] == other[3]
    )
    once = Counter(tops)
    return {
        "tumbling": once,
        "session": once,
        "sparks": once,
        "sliding": once + once,
        "rolled": counts,
        "mine": counts,
        "joined": pairs,
    }


def found(kind, rows):
    if kind == "joined":
        return Counter((row.k, row.v, *row.tags, row.unit, row.k2, row.v2) for row in rows)
    if kind in ("rolled", "mine"):
        return Counter((row.k, row.n) for row in rows)
    return Counter((row.k, row.n, tuple(row.top)) for row in rows)


def write(folder, number, rows):
    folder.mkdir(exist_ok=True)
    shown = [{"at": (START + timedelta(seconds=at)).isoformat(), "k": k, "v": v, "id": key} for at, k, v, key in rows]
    (folder / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in shown))


class OfAnOlderRelease(FilesHarness):
    """Its first version runs as a release that did not note which columns are never null, and left that to Spark."""

    notes = ("never_null", "any_null")

    def start(self, built, checkpoint, partitions):
        if self.runs:
            return super().start(built, checkpoint, partitions)
        started = RunningQuery.start

        def older(spark, built, environment, checkpoint, **options):
            facts = Checkpoint(checkpoint).facts()
            Checkpoint(checkpoint).write_facts(
                facts | {"plan": _without_notes(Plan.from_dict(facts["plan"]), self.notes).to_dict()}
            )
            return started(spark, built, environment, checkpoint, **options)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(RunningQuery, "start", older)
            return super().start(built, checkpoint, partitions)


class BeforeFilters(OfAnOlderRelease):
    """As a release that told Spark which columns may be null, but left it what filters let through."""

    notes = ("any_null",)


def _without_notes(plan, notes):
    stages = []
    for stage in plan.stages:
        if stage.layout is not None:
            parameters = {name: value for name, value in stage.layout.parameters.items() if name not in notes}
            stage = dataclasses.replace(stage, layout=dataclasses.replace(stage.layout, parameters=parameters))
        stages.append(stage)
    return dataclasses.replace(plan, stages=tuple(stages))


@pytest.mark.parametrize(
    ("harness", "strict_first"),
    [
        pytest.param(FilesHarness, False, id="null no more", marks=pytest.mark.long),
        pytest.param(FilesHarness, True, id="null now", marks=pytest.mark.long),
        pytest.param(OfAnOlderRelease, False, id="of an older release, null no more", marks=[pytest.mark.long, pytest.mark.deep]),
        pytest.param(OfAnOlderRelease, True, id="of an older release, null now", marks=pytest.mark.long),
    ],
)
def test_state_keeps_its_nulls(spark, tmp_path, harness, strict_first):
    folder, versions = tmp_path / "in", harness(spark, tmp_path)
    results = {kind: Counter() for kind in KINDS}
    write(folder, 0, BEFORE)
    for strict, until in ((strict_first, 1), (not strict_first, 3)):
        sinks = {kind: Collected() for kind in KINDS}
        report = versions.run(pipeline(folder, sinks, strict), until=until)
        for kind in KINDS:
            results[kind] += found(kind, sinks[kind].rows)
        write(folder, 1, AFTER)
        write(folder, 2, CLOSING)
    assert results == expected(strict_first)
    assert report.way is (Way.REBUILD if harness is OfAnOlderRelease else Way.RESUME)


def none_removed(rows):
    return rows.filter("v IS NOT NULL")


def none_removed_and_k_given(rows):
    return none_removed(rows.with_columns(k="coalesce(k, 'none')"))


def as_they_are(rows):
    return rows


SECOND = [(3, None, None, 0), (3, None, 7, 1), (3, None, None, 2)]


def joined_by_us(rows, later):
    return rows.join("joined", later, on="id", within="1 hour")


def joined_by_spark(rows, later):
    near = "id = id2 AND at2 BETWEEN at - INTERVAL 1 HOUR AND at + INTERVAL 1 HOUR"
    return rows.stateful("joined", lambda left, right: left.join(right, F.expr(near)), later.select("id AS id2", "at2"))


@pytest.mark.long
@pytest.mark.parametrize("join", [joined_by_us, joined_by_spark])
@pytest.mark.parametrize(
    ("harness", "before", "after"),
    [
        (FilesHarness, as_they_are, none_removed),
        pytest.param(FilesHarness, none_removed, as_they_are, marks=pytest.mark.long),
        pytest.param(FilesHarness, none_removed, none_removed_and_k_given, marks=pytest.mark.long),
        pytest.param(OfAnOlderRelease, none_removed, none_removed, marks=pytest.mark.long),
        pytest.param(BeforeFilters, none_removed, as_they_are, marks=pytest.mark.long),
        pytest.param(BeforeFilters, none_removed, none_removed, marks=pytest.mark.long),
    ],
)
def test_a_join_keeps_its_nulls_whatever_a_filter_before_it_lets_through(spark, tmp_path, harness, before, after, join):
    def job(made):
        p = ps.Pipeline()
        schema = "at timestamp, k string, v int, id int"
        source = ps.sources.files(str(tmp_path / "in"), "json", schema=schema, streaming=True, maxFilesPerTrigger=1)
        rows = made(p.read_from(source, name="rows").with_timestamps("at"))
        later = p.read_from(source, name="later").with_timestamps("at").select("id", "at AS at2")
        join(rows, later).write_to(ps.sinks.custom(sink), name="out")
        return p

    def passed(made, rows):
        given = "none" if made is none_removed_and_k_given else None
        return [(k or given, v, key) for _, k, v, key in rows if made is as_they_are or v is not None]

    versions, sink = harness(spark, tmp_path), Collected()
    write(tmp_path / "in", 0, BEFORE)
    versions.run(job(before), until=1)
    sink = Collected()
    write(tmp_path / "in", 1, SECOND)
    versions.run(job(after), until=2)
    # Each id comes once in either file: a row of the first meets the second's, one of the second both.
    assert Counter((row.k, row.v, row.id) for row in sink.rows) == Counter(
        [*passed(before, BEFORE), *passed(after, SECOND), *passed(after, SECOND)]
    )


def test_code_of_ones_own_whose_state_could_be_null_no_more_is_refused(spark, tmp_path):
    def job(function):
        p = ps.Pipeline()
        schema = "at timestamp, k string, v int"
        source = ps.sources.files(str(tmp_path / "in"), "json", schema=schema, streaming=True, maxFilesPerTrigger=1)
        rows = p.read_from(source, name="rows").with_timestamps("at")
        rows.stateful("sparks", function).write_to(ps.sinks.custom(Collected()), name="out")
        return p

    versions = FilesHarness(spark, tmp_path)
    write(tmp_path / "in", 0, BEFORE)
    versions.run(job(by_spark), until=1)
    with pytest.raises(IncompatibleError, match=r"'sparks'.*column 'k' of its operator could be null in what is saved"):
        versions.run(job(by_spark_never_null), until=1)
