"""A version that is rehearsed, and waits for its checkpoint with its query started, goes on as any other does."""

from itertools import pairwise

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.starting.gated_query import start_gated
from pitstop.spark.starting.head_start import HeadStart
from pitstop.spark.starting.rehearsal import rehearse
from pitstop.spark.starting.start_point import start_point
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

RATE, KEYS = 200, 5
"""Numbers a second; each second holds the next RATE of them."""


def pipeline(sink, more=False):
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate(RATE), name="numbers").with_columns(key=f"sequence % {KEYS}")
    timed = numbers.with_timestamps("time", allowed_lag="0 seconds")
    counts = timed.group_by("key").window(ps.tumbling("2 seconds")).aggregate("counts", n=ps.count(), low=ps.min("sequence"))
    if more:
        sums = timed.group_by("key").window(ps.tumbling("1 second")).aggregate("sums", total=ps.sum("sequence"))
        sums.write_to(ps.sinks.noop(), name="sums-out")
    counts.write_to(ps.sinks.custom(sink), name="out")
    return p


def compiled(spark, folder, built):
    """The compiled job and what a run of it is told."""
    work = folder / "work"
    sources = SourceSettings.working_in(work, "job", None, None)
    guarantee = ProcessingGuarantee.EXACTLY_ONCE
    environment = Environment("id", "job", "", guarantee, work, lambda *_: None, sources=sources)
    config = JobConfig(processing_guarantee=guarantee, partitions=2)
    return compile_job(spark, built, config, sources), environment


def start(job, environment, folder, snapshot=None, head_start=None):
    point = start_point(job, environment, DataFolder(folder), None, lambda: snapshot, head_start)
    return Run.start(job, environment, point, Progress(), lambda: None, head_start), point


def wait_for(started, sink, windows):
    wait_until(lambda: not started.active or len({row.window_start for row in sink.rows}) >= windows, 240)
    failure = started.failure()
    if failure is not None:
        raise failure
    assert len({row.window_start for row in sink.rows}) >= windows


def assert_each_window_once(rows):
    counted = {(row.window_start, row.key): row.n for row in rows}
    assert len(counted) == len(rows), "no window comes twice"
    starts = sorted({row.window_start for row in rows})
    # The first window begins before the first number is due; each after it holds its two seconds' numbers, for each key.
    assert {(b - a).total_seconds() for a, b in pairwise(starts)} == {2.0}
    assert {counted.get((at, key)) for at in starts[1:] for key in range(KEYS)} == {2 * RATE // KEYS}


class Named(Collected):
    """Keeps by which name it got each epoch, too, and fails when it is told to."""

    def __init__(self):
        super().__init__()
        self.names, self.fails = [], False

    def write(self, rows, info):
        if self.fails:
            raise ValueError("no place for it")
        self.names.append((info.lineage, info.epoch))
        super().write(rows, info)


def waiting(spark, folder, built, first, claimed):
    """A version that was rehearsed on the state of that checkpoint, and waits: its job, environment and head start."""
    job, environment = compiled(spark, folder, built)
    scratch = folder / "scratch"
    scratch.mkdir()
    export_checkpoint(Checkpoint(first.checkpoint), DataFolder(scratch).snapshot("rehearsal"), "rehearsal")
    laid_down = scratch / "laid-down"
    rehearsed = rehearse(job, environment, scratch / "snapshots" / "rehearsal", scratch, laid_down)
    gated = start_gated(job, environment, DataFolder(folder), rehearsed, scratch / "gate", claimed.append)
    return job, environment, HeadStart(laid_down, gated)


def test_the_epoch_within_which_the_version_before_ends_is_done_first_by_the_name_that_sinks_know(spark, tmp_path):
    before, after = Named(), Named()
    old, first = start(*compiled(spark, tmp_path, pipeline(before)), tmp_path)
    wait_for(old, before, 2)
    job, environment, head_start = waiting(spark, tmp_path, pipeline(after), first, [])
    before.fails = True
    assert wait_until(lambda: not old.active, 120)
    old.stop(60)
    saved = export_checkpoint(Checkpoint(first.checkpoint), DataFolder(tmp_path).snapshot("saved"), "saved", at_rest=True)
    new, point = start(job, environment, tmp_path, tmp_path / "snapshots" / "saved", head_start)
    assert new.running is head_start.gated.running
    wait_for(new, after, 3)
    new.stop(60)
    assert after.names[:2] == [(first.lineage, saved.epoch + 1), (point.lineage, saved.epoch + 2)]
    assert_each_window_once([*before.rows, *after.rows])


@pytest.mark.parametrize("more", [pytest.param(False, marks=pytest.mark.deep), True], ids=["same-structure", "changed-structure"])
def test_no_window_is_lost_or_doubled_by_a_version_that_waited(spark, tmp_path, more):
    before, after = Collected(), Collected()
    old, first = start(*compiled(spark, tmp_path, pipeline(before)), tmp_path)
    wait_for(old, before, 3)
    claimed = []
    job, environment, head_start = waiting(spark, tmp_path, pipeline(after, more), first, claimed)
    assert not after.epochs, "neither a rehearsal nor waiting calls a sink"
    epochs = Checkpoint(first.checkpoint).committed()
    assert wait_until(lambda: Checkpoint(first.checkpoint).committed() > epochs + 1, 120), (
        "what it waits for is not the rehearsed state"
    )
    assert old.active, "the version before goes on meanwhile"
    old.stop(60)
    saved = export_checkpoint(Checkpoint(first.checkpoint), DataFolder(tmp_path).snapshot("saved"), "saved")
    new, point = start(job, environment, tmp_path, tmp_path / "snapshots" / "saved", head_start)
    assert claimed == [point.checkpoint] == [DataFolder(tmp_path).job("id").checkpoint(point.lineage)]
    assert (tmp_path / "scratch" / "gate").exists(), "it is the query that waited"
    assert new.running is head_start.gated.running
    wait_for(new, after, 3)
    epoch = new.stop(60)
    assert epoch > (0 if more else saved.epoch)
    assert_each_window_once([*before.rows, *after.rows])
