"""Rolling aggregates: what each row comes to, in which order, and what becomes of their state, also of older releases."""

import math
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from statistics import stdev

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import pitstop as ps
from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.model.report import Verdict
from pitstop.plan.model import Plan
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import copy_checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.starting.start_point import start_point
from pitstop.spark.state.in_snapshot import SnapshotState
from pitstop.spark.state.rows import rows_of
from tests.spark.harness import Collected, numbers
from tests.spark.sequence import events

pytestmark = pytest.mark.spark

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
AGGREGATES = {
    "n": ps.count(),
    "known": ps.count("x"),
    "total": ps.sum("x"),
    "exact": ps.sum("d"),
    "mean": ps.avg("x"),
    "spread": ps.stddev("x"),
    "low": ps.min("x"),
    "high": ps.max("x"),
    "where_low": ps.min_by("s", "x"),
    "first": ps.first("s"),
    "last": ps.last("s"),
    "texts": ps.collect_list("s"),
    "different": ps.collect_set("s"),
    "how_many": ps.count_distinct("s"),
    "best": ps.top_n(2, "s", "x"),
    "worst": ps.bottom_n(2, "s", "x"),
    "both": ps.all_of(n=ps.count("s"), latest=ps.max("s")),
}
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.none() | st.floats(allow_infinity=False, min_value=-1e6, max_value=1e6) | st.just(math.nan),
        st.none() | st.integers(-(10**36), 10**36).map(lambda n: Decimal(f"{n}E-10")),
        st.none() | st.text("abä", max_size=2),
        st.integers(0, 20),
    ),
    min_size=30,
    max_size=60,
)


def order(x):
    """Spark's order of numbers: NaN is the largest."""
    return (1, 0.0) if math.isnan(x) else (0, x)


def plain(rows):
    """seq -> what each aggregate is after the row of that number; ``rows`` are (seq, k, x, d, s, second)."""
    groups = defaultdict(list)
    for row in sorted(rows, key=lambda row: row[5]):
        groups[row[1]].append(row)
    return {own[n][0]: so_far(own[: n + 1]) for own in groups.values() for n in range(len(own))}


def so_far(rows):
    xs = [row[2] for row in rows if row[2] is not None]
    ds = [row[3] for row in rows if row[3] is not None]
    texts = [row[4] for row in rows if row[4] is not None]
    # Of equal x, or equal times, the text decides, and none counts as the smallest.
    by_x = sorted((order(row[2]), row[4] is not None, row[4] or "") for row in rows if row[2] is not None)
    by_time = sorted((row[5], row[4] is not None, row[4] or "") for row in rows)
    ranked = [text if there else None for _, there, text in by_x]
    timed = [text if there else None for _, there, text in by_time]
    return {
        "n": len(rows),
        "known": len(xs),
        "total": math.fsum(xs) if xs else None,
        "exact": Decimal(f"{sum(map(Fraction, ds)) * 10**10}E-10") if ds else None,
        "mean": math.fsum(xs) / len(xs) if xs else None,
        "spread": spread(xs),
        "low": min(xs, key=order) if xs else None,
        "high": max(xs, key=order) if xs else None,
        "where_low": ranked[0] if ranked else None,
        "first": timed[0],
        "last": timed[-1],
        "texts": texts,
        "different": sorted(set(texts)),
        "how_many": len(set(texts)),
        "best": ranked[::-1][:2],
        "worst": ranked[:2],
        "both": {"n": len(texts), "latest": max(texts, default=None)},
    }


def spread(xs):
    if len(xs) < 2:
        return None
    return math.nan if any(map(math.isnan, xs)) else stdev(xs)


def same(got, wanted):
    if isinstance(wanted, float):
        return (math.isnan(got) and math.isnan(wanted)) or math.isclose(got, wanted, rel_tol=1e-6, abs_tol=1e-3)
    return got == wanted


@settings(max_examples=3, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck), derandomize=True)
@given(ROWS)
@pytest.mark.long
def test_each_row_comes_with_what_all_aggregates_are_so_far(spark, tmp_path_factory, given):
    rows = [(seq, *row) for seq, row in enumerate(given)]
    p, out = ps.Pipeline(), Collected()
    schema = "seq bigint, k bigint, x double, d decimal(38,10), s string, ts timestamp"
    shown = [[*row[:5], (FIRST + timedelta(seconds=row[5])).isoformat()] for row in rows]
    source = p.read_from(ps.sources.items(shown, schema), name="rows").with_timestamps("ts")
    source.group_by("k").rolling_aggregate("rolled", **AGGREGATES).write_to(ps.sinks.custom(out), name="out")
    ps.run(p, spark, data_dir=tmp_path_factory.mktemp("rolling"))
    expected = plain(rows)
    assert len(out.rows) == len(rows)
    for row in out.rows:
        found = row.asDict(recursive=True)
        found["different"].sort()
        wanted = expected[row.seq]
        assert {name: found[name] for name in wanted if not same(found[name], wanted[name])} == {}, (row.seq, wanted)


def test_a_sum_that_has_become_too_long_is_an_error(spark, tmp_path):
    for ansi in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        try:
            p = ps.Pipeline()
            rows = p.read_from(ps.sources.items([["9" * 38], ["9" * 38]], "d decimal(38,0)"), name="rows")
            rows.group_by().rolling_aggregate("rolled", total=ps.sum("d")).write_to(ps.sinks.noop(), name="out")
            with pytest.raises(
                EngineError, match=r"in aggregate 'total' of stage 'rolled' \(.*\): the sum has more than 38 digits"
            ):
                ps.run(p, spark, data_dir=tmp_path / ansi)
        finally:
            spark.conf.unset("spark.sql.ansi.enabled")


ALL, CUT, STEP, KEYS = 8_000, 4_000, 2_000, 7


class Versions:
    """Versions of a job with a rolling aggregate, each on the state of the one before."""

    def __init__(self, spark, folder):
        self.spark, self.data = spark, DataFolder(folder)
        self.config = JobConfig.from_options({"processing_guarantee": "exactly_once"})
        self.environment = Environment("id", "job", "", self.config.processing_guarantee, folder / "work", lambda *_: None)
        self.rows = []

    def run(self, rows, lineage=None, snapshot=None, before=lambda point: None, **more):
        """Run until so many rows are read, on the checkpoint of ``lineage``, else from ``snapshot``; where that started."""
        p, out = ps.Pipeline(), Collected()
        stage = numbers(p, rows=rows, step=STEP, keys=KEYS)
        stage.group_by("key").rolling_aggregate("rolled", n=ps.count(), total=ps.sum("v"), **more).write_to(
            ps.sinks.custom(out), name="out"
        )
        job = compile_job(self.spark, p, self.config, self.environment.sources)
        point = start_point(job, self.environment, self.data, lineage, lambda: snapshot)
        before(Checkpoint(point.checkpoint))
        run = Run.start(job, self.environment, point, Progress(), lambda: None)
        assert wait_until(lambda: not run.active or run.look().input_rows >= rows - len(self.rows), 90), run.failure()
        run.stop(60)
        self.rows += out.rows
        return point

    def saved(self, point, folder):
        manifest = copy_checkpoint(Checkpoint(point.checkpoint), folder, folder.name)
        return SnapshotState.open(folder, manifest, "rolled")


def of_an_older_release(checkpoint):
    """Let a checkpoint that is still empty be one that keeps rolling state as text."""
    facts = checkpoint.facts()
    plan = Plan.from_dict(facts["plan"])
    older = [replace(stage, layout=without_form(stage.layout)) if stage.layout else stage for stage in plan.stages]
    checkpoint.write_facts(facts | {"plan": replace(plan, stages=tuple(older)).to_dict()})


def without_form(layout):
    return replace(layout, parameters={name: value for name, value in layout.parameters.items() if name != "form"})


def counted(rows=ALL):
    found, so_far = {}, defaultdict(lambda: (0, 0))
    for seq, key, v, _ in events(rows, KEYS):
        n, total = so_far[key]
        so_far[key] = (n + 1, total + v)
        found[seq] = so_far[key]
    return found, dict(so_far)


def kept(spark, state):
    return {row["key"]: (row["n"], row["total"]) for row in rows_of(spark, state.saved).collect()}


@pytest.mark.long
def test_a_checkpoint_of_an_older_release_goes_on_in_its_own_form(spark, tmp_path):
    versions = Versions(spark, tmp_path)
    first = versions.run(CUT, before=of_an_older_release)
    again = versions.run(ALL, first.lineage)
    assert again.lineage == first.lineage
    assert Plan.from_dict(Checkpoint(again.checkpoint).facts()["plan"]).stateful["rolled"].form is None
    assert {row.seq: (row.n, row.total) for row in versions.rows} == counted()[0]
    assert len(versions.rows) == ALL


@pytest.mark.long
@pytest.mark.parametrize(
    "more", [pytest.param({}, marks=pytest.mark.long), {"high": ps.max("seq")}], ids=["same", "aggregate added"]
)
def test_state_of_an_older_release_is_taken_over_by_a_restore(spark, tmp_path, more):
    versions = Versions(spark, tmp_path)
    older = versions.saved(versions.run(CUT, before=of_an_older_release), tmp_path / "older")
    assert kept(spark, older) == counted(CUT)[1]
    point = versions.run(ALL, snapshot=older.folder, **more)
    assert point.report.of(Verdict.CONVERTED) == ("rolled",)
    newer = versions.saved(point, tmp_path / "newer")
    assert Plan.from_dict(newer.manifest.plan).stateful["rolled"].form == "columns"
    assert kept(spark, newer) == counted()[1]
    assert {row.seq: (row.n, row.total) for row in versions.rows} == counted()[0]
    assert len(versions.rows) == ALL


@pytest.mark.long
def test_the_state_tells_when_each_key_had_its_last_row(spark, tmp_path):
    versions = Versions(spark, tmp_path)
    state = versions.saved(versions.run(CUT), tmp_path / "saved")
    last = {key: ms for _, key, _, ms in events(CUT, KEYS)}
    found = rows_of(spark, state.saved).selectExpr("key", "unix_millis(last_event) ms").collect()
    assert {row["key"]: row["ms"] for row in found} == last
