"""The transfer of a snapshot's state to a new plan. There are three ways, chosen by comparing plans (plan/diff.py).

1. Same stateful structure: the snapshot's checkpoint is laid back and resumed.
2. Another structure, a stage's own state unchanged: it goes on as it is under its new operator id (moved_files.py).
3. Another form of a stage's state: read as accumulators, converted, and fed in beside the live rows (feeding.py).

For 2 and 3 a new checkpoint is laid down by one epoch in which every source holds still (epoch 0), with the rows of 3 as input; 2
adds to it and raises it to a later epoch. Then the sources' saved offsets and the saved watermark are put into the logs, as if
these epochs had read them. Nothing reaches a sink meanwhile.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pitstop.errors import DropError, IncompatibleError
from pitstop.model.config import StateStore
from pitstop.model.job_folder import CHECKPOINT_PREFIX
from pitstop.model.report import Report, SourceFate, Way
from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.diff import compare
from pitstop.plan.model import Plan
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import restore_files
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.session import use_partitions
from pitstop.spark.internals.settings import counts_rows
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.restoring.checks import check_fed, check_moves, check_operators
from pitstop.spark.restoring.feeding import fed_streams
from pitstop.spark.restoring.laying_down import lay_down
from pitstop.spark.restoring.moved_files import Moves
from pitstop.spark.restoring.offsets import (
    forget_offsets,
    pretend_to_have_run,
    take_over_file_logs,
    take_over_offsets,
    take_over_unfinished,
)
from pitstop.spark.restoring.rebuild import Rebuild, plan_rebuild
from pitstop.spark.restoring.saved_facts import read_facts
from pitstop.spark.restoring.saved_snapshot import SavedSnapshot
from pitstop.spark.restoring.source_places import fate_of, places_sought, planned_in
from pitstop.spark.restoring.whole_state import check_whole_state

BUILDING, ROWS, READING = ".building", ".rows", ".reading"
"""The suffixes of a checkpoint that is being made, of the rows that go into it, and of a view of its origin."""


def judge(
    manifest: SnapshotManifest,
    plan: Plan,
    renamed: dict[str, str] | None = None,
    allow_drop: Collection[str] = (),
    facts: dict[str, dict[str, Any]] | None = None,
    fates: Mapping[str, SourceFate] | None = None,
) -> Report:
    """Compare a new plan with a snapshot. ``facts`` were read from the snapshot's state (saved_facts.py); ``fates`` are those of
    the places of its sources (source_places.py).

    IncompatibleError with the report if it is refused; DropError if it drops anything that it may not.
    """
    report = compare(
        manifest.plan,
        plan.to_dict(),
        manifest.partitions,
        renamed,
        manifest.watermark_ms,
        manifest.imported,
        allow_drop,
        facts,
        fates,
    )
    if report.refused:
        reasons = f"Snapshot '{manifest.name}' does not fit the pipeline: {report.reasons}."
        raise IncompatibleError(reasons, report=report.to_dict())
    if report.needs_allow_drop:
        sentence = f"The pipeline would drop what snapshot '{manifest.name}' has of {report.drops}"
        if report.takes_over_nothing:
            sentence = (
                f"Nothing of snapshot '{manifest.name}' is in the pipeline, so it looks like another job's: {report.drops} would "
                "be dropped"
            )
        raise DropError(f"{sentence}. Nothing was started: {report.leave_to_drop}.", report=report.to_dict())
    return report


def restore(
    job: CompiledJob,
    snapshot: Path,
    target: Path,
    job_name: str,
    sources: SourceSettings,
    laid_down: Path | None = None,
    feed_all: bool = False,
    store: StateStore | None = None,
) -> Report:
    """Make ``target`` a checkpoint with which the job goes on where the snapshot ended, and say how.

    It appears whole or not at all. ``laid_down`` is a folder in which the new checkpoint is kept while it is still empty, or was
    kept by an earlier restore under the same plan. ``feed_all`` feeds unchanged state as rows too (way 3 for way 2). ``store``:
    where the state is to live, if that was chosen before.
    Raises SnapshotError (missing, damaged) or IncompatibleError (does not fit).
    """
    manifest = manifests.read(snapshot)
    sought = places_sought(job.spark, job.pipeline, manifest.offsets, job.config, planned_in(manifest))
    fates = {name: fate_of(place) for name, place in sought.items()}
    report = judge(manifest, job.plan, job.config.renamed, job.config.allow_drop, fates=fates)
    manifests.verify(snapshot, manifest, job_name)
    check_whole_state(Checkpoint(snapshot / manifests.FILES), manifest.epoch, manifest.name)
    facts = read_facts(job.spark, snapshot, manifest, job.plan, job.config.renamed)
    if facts:
        report = judge(manifest, job.plan, job.config.renamed, job.config.allow_drop, facts, fates)
    partitions = job.plan.partitions or manifest.partitions
    use_partitions(job.spark, partitions)

    provider = job.use_store_for(manifest, store)

    if provider != manifest.provider:
        report = dataclasses.replace(report, way=Way.REBUILD)  # its files are what their own store has written
    saved = SavedSnapshot(snapshot, manifest)
    with _built(target) as building:
        if report.way is Way.RESUME:
            restore_files(snapshot, manifest, building)
            epoch = manifest.epoch
        else:
            steps = plan_rebuild(report, manifest, job.plan, provider, partitions, feed_all, facts)
            with saved.readable_at(target.with_name(f"{target.name}{READING}")) as view:
                _lay_down(job, steps, view, report.renamed, sources, building, laid_down)
                epoch = _move(job, steps, view, building, partitions)
            pretend_to_have_run(Checkpoint(building), epoch, manifest.watermark_ms or 0)
        places = {name: place.offset for name, place in sought.items()}
        take_over_offsets(saved, job.plan.source_slots, Checkpoint(building), epoch, report.renamed, places)
        ends = {name: place.planned or place.offset for name, place in sought.items()}
        take_over_unfinished(saved, job.plan.source_slots, Checkpoint(building), epoch, report.renamed, ends)
        take_over_file_logs(saved, job.plan, building, report.renamed)
    return report


def begin_empty(job: CompiledJob, target: Path, sources: SourceSettings) -> None:
    """Make ``target`` a checkpoint that has done an epoch without reading anything: it appears whole or not at all."""
    with _built(target) as building:
        lay_down(job, sources, building, _rows_of(building), {})
        shutil.rmtree(_rows_of(building), ignore_errors=True)
        forget_offsets(Checkpoint(building), len(job.plan.source_slots))


def remove_unfinished(folder: Path) -> None:
    """Remove what restores that were cut off have left in a job's folder, where no other run of it restores anything."""
    for suffix in (BUILDING, f"{BUILDING}{ROWS}", READING):
        for leftover in folder.glob(f"{CHECKPOINT_PREFIX}*{suffix}"):
            shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def _built(target: Path) -> Iterator[Path]:
    """Yield the folder in which a checkpoint is made, and then move it to its place; leave nothing of it if it cannot be made."""
    building = target.with_name(f"{target.name}{BUILDING}")
    try:
        for folder in (building, _rows_of(building)):
            shutil.rmtree(folder, ignore_errors=True)
        yield building
        Checkpoint(building).relocate(target)
        _place(building, target)
    except BaseException:
        for folder in (building, _rows_of(building)):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _rows_of(building: Path) -> Path:
    return building.with_name(f"{building.name}{ROWS}")


def _lay_down(
    job: CompiledJob,
    steps: Rebuild,
    saved: SavedSnapshot,
    renamed: dict[str, str],
    sources: SourceSettings,
    building: Path,
    laid_down: Path | None,
) -> None:
    """Make ``building`` a checkpoint of the new structure in epoch 0, with the state that is fed as rows."""
    checkpoint = laid_down if not steps.fed else None
    if checkpoint is not None and checkpoint.exists():
        shutil.copytree(checkpoint, building)
        Checkpoint(building).relocate(building)
        return
    scratch = _rows_of(building)
    fed = fed_streams(job, saved, steps.fed, renamed, scratch)
    rows = lay_down(job, sources, building, scratch, {part: each.stream for part, each in fed.items()})
    check_operators(job.spark, building, 0, job.plan)
    if counts_rows(job.spark):
        check_fed(job.plan, fed, rows)
    shutil.rmtree(scratch, ignore_errors=True)
    if checkpoint is not None:
        shutil.copytree(building, checkpoint)


def _move(job: CompiledJob, steps: Rebuild, saved: SavedSnapshot, building: Path, partitions: int) -> int:
    """Take over state as it is; return the epoch as of which all state of the new checkpoint then is."""
    if not steps.moved:
        return 0
    files, manifest = saved.checkpoint.path, saved.manifest
    check_moves(job.spark, files, building, job.plan, steps)
    moves = Moves(job.spark, files, manifest.epoch, building, steps.moved, manifest.provider, frozenset(steps.dropped))
    return moves.by_files() if steps.by_files else moves.by_rows(partitions)


def _place(building: Path, target: Path) -> None:
    """Move a finished checkpoint to its place. A query that waits at a gate has made the folder already, with its id."""
    if not target.exists():
        building.rename(target)
        return
    for path in building.iterdir():
        if path.name in ("offsets", "commits"):
            # The older logs with which the query was started stay beside: it may look at them once more.
            for file in path.iterdir():
                file.replace(target / path.name / file.name)
        elif path.name not in ("metadata", ".metadata.crc"):
            path.rename(target / path.name)
    shutil.rmtree(building)
