"""Versions of the job whose rules are tested, and what is said of their output."""

import pytest

import pitstop as ps
from pitstop.errors import IncompatibleError
from pitstop.model.option_values import ALL_STAGES
from pitstop.plan.diff import Verdict
from pitstop.snapshots import manifest as manifests
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.restoring.restore import judge
from tests.spark.harness import Collected, numbers
from tests.spark.reference import BURST, KEYS, PAUSE, happened, plain_windows, reframed_windows
from tests.spark.sequence import millis

ROWS, CUT, STEP = 77_000, 44_000, 11_000
"""All events; those that version 1 reads; those of an epoch. The cut is in the middle of a burst."""
TUMBLING, SLIDING = (10_000, 10_000), (40_000, 10_000)
ALL, BEFORE, AFTER = happened(0, ROWS), happened(0, CUT), happened(CUT, ROWS)


class Job:
    """A pipeline in the making, and what its sinks have got."""

    def __init__(self):
        self.pipeline, self.sinks = ps.Pipeline(), {}
        self._source = None

    def source(self, name="numbers", step=STEP):
        return numbers(self.pipeline, name, rows=ROWS, step=step, keys=KEYS, burst=BURST, pause=PAUSE)

    @property
    def numbers(self):
        self._source = self._source or self.source()
        return self._source

    def to(self, stage, name):
        self.sinks[name] = Collected()
        stage.write_to(ps.sinks.custom(self.sinks[name]), name=f"{name}-out")

    def rows(self, name):
        return self.sinks[name].rows


WANTED = {"n": ps.count(), "total": ps.sum("v")}


def window(job, name, size=TUMBLING, stage=None, early=None, **aggregates):
    made = ps.tumbling(size[0] / 1000) if size[0] == size[1] else ps.sliding(size[0] / 1000, size[1] / 1000)
    grouped = (stage or job.numbers).group_by("key").window(made)
    grouped = grouped.early_results(early) if early is not None else grouped
    job.to(grouped.aggregate(name, **(aggregates or WANTED)), name)


def session(job, name="visits", timeout=3):
    job.to(job.numbers.group_by("key").window(ps.session(timeout)).aggregate(name, **WANTED), name)


def count_rows(state, row):
    state.n = (state.n or 0) + 1
    return None if row.seq % 1000 else (row.seq, state.n)


def tell(state, key, time):
    return (-time, state.n)


def mapped(job, name="mapped", state="n bigint", ttl=None, evict=None, function=count_rows):
    stage = job.numbers.group_by("key").map_stateful(name, function, state, "seq bigint, n bigint", ttl=ttl, on_evict=evict)
    job.to(stage, name)


def verdicts(report):
    return {line.stage: (line.verdict, line.rule) for line in report.lines}


def got_windows(rows):
    found = {(r.key, millis(r.window_start), millis(r.window_end)): (r.n, r.total) for r in rows}
    assert len(found) == len(rows), "a window came twice"
    return found


def last_end(rows):
    return max(millis(row.window_end) for row in rows)


def assert_complete(one, job, name, size=TUMBLING):
    """The windows of both versions are just those of all events."""
    rows = one.job.rows(name) + job.rows(name)
    assert last_end(job.rows(name)) > one.watermark
    assert got_windows(rows) == plain_windows(ALL, *size, last_end(rows))


def assert_reframed(harness, one, rule, changes):
    """Stages whose windows change from the old (size, slide) to the new one, all in one version, go on from the old frames."""
    job = Job()
    for name, (_, new) in changes.items():
        window(job, name, new)
    report = harness.run(job.pipeline)
    for name, (old, new) in changes.items():
        assert verdicts(report)[name] == (Verdict.CONVERTED, rule)
        until = last_end(job.rows(name))
        assert got_windows(job.rows(name)) == reframed_windows(BEFORE, AFTER, old, new, one.watermark, until)


def refused(harness, one, job, rule, **options):
    """The new version is refused before anything is made of it; the report says by which rule."""
    with pytest.raises(IncompatibleError) as caught:
        harness.run(job.pipeline, **options)
    assert f"[{rule}]" in str(caught.value)
    assert not (harness.folder / f"checkpoint-{harness.runs}").exists()
    return str(caught.value)


def refused_now(harness, job):
    manifest = manifests.read(harness.folder / "snapshots" / "saved")
    with pytest.raises(IncompatibleError) as caught:
        judge(manifest, compile_pipeline(harness.spark, job.pipeline), allow_drop=(ALL_STAGES,))
    return str(caught.value)
