"""A job with state_store=auto begins in memory, says when its state has outgrown that, and goes on exactly there on disk."""

import dataclasses
import math

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.kit.waiting import wait_until
from pitstop.model.config import JobConfig, StateStore
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.state_stores import SHARE_VARIABLE, chosen_store, memory_for_state, store_of
from pitstop.spark.internals.jvm import heap_bytes
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.compiled_job import compile_job
from pitstop.spark.run import Run
from pitstop.spark.running import outgrowing
from pitstop.spark.starting.start_point import start_point
from tests.spark.harness import Collected, numbers
from tests.spark.test_rehearsal import assert_each_window_once, compiled, pipeline, start, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

AUTO = JobConfig(state_store=StateStore.AUTO, partitions=2)


@pytest.fixture
def nearly_no_memory(monkeypatch):
    monkeypatch.setenv(SHARE_VARIABLE, "1e-8")


def auto(spark, folder, built):
    job, environment = compiled(spark, folder, built)
    config = dataclasses.replace(job.config, state_store=StateStore.AUTO)
    return compile_job(spark, built, config, environment.sources), environment


def saved(folder, checkpoint):
    export_checkpoint(checkpoint, DataFolder(folder).snapshot("saved"), "saved")
    return folder / "snapshots" / "saved"


@pytest.mark.parametrize("too_fast", [False, True], ids=["epochs-go-on", "no-epoch-begins"])
def test_state_that_outgrows_the_memory_goes_on_on_disk_with_no_window_lost_or_doubled(
    spark, tmp_path, monkeypatch, nearly_no_memory, too_fast
):
    if not too_fast:
        monkeypatch.setattr(outgrowing, "SHARE_TO_HOLD", math.inf)
    before, after = Collected(), Collected()
    old, first = start(*auto(spark, tmp_path, pipeline(before)), tmp_path)
    kept = Checkpoint(first.checkpoint)
    assert wait_until(lambda: old.look() is not None and old.outgrown is not None, 240)
    assert store_of(kept.provider()) is StateStore.MEMORY
    if too_fast:
        assert wait_until(lambda: not old.running.active, 60), "no epoch begins any more"
        assert kept.planned() - kept.committed() <= 1
    else:
        wait_for(old, before, 3)
    assert (old.active, old.failure()) == (True, None), "the run is there until it is told to stop"
    old.stop(60)
    snapshot = saved(tmp_path, kept)
    new, second = start(*auto(spark, tmp_path, pipeline(after)), tmp_path, snapshot)
    wait_for(new, after, 3)
    assert store_of(Checkpoint(second.checkpoint).provider()) is StateStore.ROCKSDB
    new.look()
    assert new.outgrown is None
    new.stop(60)
    assert_each_window_once([*before.rows, *after.rows])


def test_a_run_that_does_not_hold_still_goes_on_after_one_that_did_with_no_window_lost_or_doubled(
    spark, tmp_path, nearly_no_memory
):
    before, after = Collected(), Collected()
    old, first = start(*auto(spark, tmp_path, pipeline(before)), tmp_path)
    assert wait_until(lambda: old.look() is not None and old.holds_still and not old.running.active, 240)
    old.stop(60)
    job, environment = auto(spark, tmp_path, pipeline(after))
    again = start_point(job, environment, DataFolder(tmp_path), first.lineage, lambda: None)
    new = Run.start(job, environment, again, Progress(), lambda: None, holds=False)
    assert wait_until(lambda: new.look() is not None and new.outgrown is not None, 240)
    seen = len({row.window_start for row in after.rows})
    wait_for(new, after, seen + 2)
    assert not new.holds_still
    new.stop(60)
    assert_each_window_once([*before.rows, *after.rows])


def test_a_run_that_resumes_its_own_state_stays_where_that_is(spark, tmp_path, nearly_no_memory, monkeypatch):
    monkeypatch.setattr(outgrowing, "SHARE_TO_HOLD", math.inf)
    sink = Collected()
    run, point = start(*auto(spark, tmp_path, pipeline(sink)), tmp_path)
    wait_for(run, sink, 1)
    run.stop(60)
    job, environment = auto(spark, tmp_path, pipeline(sink))
    again = start_point(job, environment, DataFolder(tmp_path), point.lineage, lambda: None)
    run = Run.start(job, environment, again, Progress(), lambda: None)
    wait_for(run, sink, 3)
    run.stop(60)
    assert (again.lineage, store_of(Checkpoint(again.checkpoint).provider())) == (point.lineage, StateStore.MEMORY)


def test_saved_state_is_begun_where_it_has_room(spark, tmp_path, monkeypatch):
    job, _ = auto(spark, tmp_path, pipeline(Collected()))
    sink = Collected()
    run, point = start(*auto(spark, tmp_path, pipeline(sink)), tmp_path)
    wait_for(run, sink, 1)
    run.stop(60)
    manifest = manifests.read(saved(tmp_path, Checkpoint(point.checkpoint)))

    def store(taken):
        stages = {"counts": manifest.stages["counts"] | {"bytes": taken}}
        return chosen_store(spark, AUTO, job.plan, dataclasses.replace(manifest, stages=stages), in_steps=True)

    monkeypatch.setenv(SHARE_VARIABLE, "0.1")
    assert memory_for_state(spark) == int(heap_bytes(spark) * 0.1)
    assert store(heap_bytes(spark) * 0.04) is StateStore.MEMORY
    assert store(heap_bytes(spark) * 0.06) is StateStore.ROCKSDB, "it would soon have to move"
    assert chosen_store(spark, AUTO, job.plan, None, in_steps=True) is StateStore.MEMORY
    in_files = sum(file.bytes for file in manifest.files if file.path.startswith("state/"))
    monkeypatch.setenv(SHARE_VARIABLE, str(in_files / heap_bytes(spark)))
    assert store(None) is StateStore.ROCKSDB, "how large it is nobody knows, but that of its files"
    monkeypatch.setenv(SHARE_VARIABLE, "0.9")
    assert store(None) is StateStore.MEMORY


@pytest.mark.parametrize(
    ("options", "store"),
    [
        ({}, StateStore.ROCKSDB),
        ({"maxFilesPerTrigger": 1}, StateStore.MEMORY),
        ({"maxBytesPerTrigger": "10m"}, StateStore.MEMORY),
    ],
)
def test_state_of_a_job_whose_source_has_no_limit_is_on_disk_from_the_start(spark, tmp_path, options, store):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(tmp_path, "parquet", schema="key bigint", streaming=True, **options), name="files")
    rows.group_by("key").rolling_aggregate("counts", n=ps.count()).write_to(ps.sinks.noop(), name="out")
    job = compile_job(spark, p, AUTO, SourceSettings())
    assert store_of(job.use_store_for(None)) is store


def test_state_that_is_read_for_early_results_is_on_disk_from_the_start(spark):
    p = ps.Pipeline()
    windows = numbers(p).group_by("key").window(ps.tumbling("10 seconds")).early_results("1 second")
    windows.aggregate("counts", n=ps.count()).write_to(ps.sinks.noop(), name="out")
    job = compile_job(spark, p, AUTO, SourceSettings())
    assert store_of(job.use_store_for(None)) is StateStore.ROCKSDB


def test_state_of_other_kinds_is_kept_on_disk_from_the_start(spark):
    p = ps.Pipeline()
    numbers(p).group_by("key").distinct("seen").write_to(ps.sinks.noop(), name="out")
    assert chosen_store(spark, AUTO, compile_pipeline(spark, p), None, in_steps=True) is StateStore.ROCKSDB


@pytest.mark.parametrize("share", ["all", "1", "-0.1", "nan"])
def test_a_share_of_the_memory_that_is_none_is_refused_when_a_job_is_compiled(spark, monkeypatch, share):
    monkeypatch.setenv(SHARE_VARIABLE, share)
    p = ps.Pipeline()
    numbers(p).write_to(ps.sinks.noop(), name="out")
    with pytest.raises(UsageError, match=f"{SHARE_VARIABLE} is '{share}'"):
        chosen_store(spark, AUTO, compile_pipeline(spark, p), None, in_steps=True)
