"""Bring a snapshot's state under a new plan. Three ways, chosen by comparing plans (plan/diff.py).

1. Same stateful structure: the snapshot's checkpoint is laid back and resumed.
2. Another structure, a stage's own state unchanged: it goes on as it is under its new operator id (moves.py).
3. Another form of a stage's state: read as accumulators, converted, and fed in beside the live rows.

For 2 and 3 a new checkpoint is laid down by one epoch in which every source holds still (epoch 0), with the rows
of 3 as input; 2 adds to it and raises it to a later epoch. Then the sources' saved offsets and the saved watermark are put into
the logs, as if these epochs had read them. Nothing reaches a sink meanwhile.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import EngineError, IncompatibleError
from pitstop.model.layout import StateLayout
from pitstop.model.snapshot import SnapshotManifest
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.diff import Report, Verdict, Way, compare
from pitstop.plan.kinds import Form, rules_of
from pitstop.plan.model import Plan, SourceSlot
from pitstop.plan.rules import migrates
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.export import lay_view, restore_files
from pitstop.spark.base.naming import WINDOW_ROLES, role_column
from pitstop.spark.base.session import ROCKSDB
from pitstop.spark.lowering import source as lower_source
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.lowering.source import SourceSettings
from pitstop.spark.restoring.migrations import migrated
from pitstop.spark.restoring.moved_files import Moves
from pitstop.spark.restoring.reframe import Frames, reframed
from pitstop.spark.running.query import explain, streaming_frame, wait_until
from pitstop.spark.state.in_snapshot import SnapshotState
from pitstop.spark.state.saved import check_moves, check_operators, converted

_LAY_DOWN_SECONDS = 600.0


@dataclass(frozen=True)
class Restore:
    """All that a restore needs: the snapshot's folder and manifest, the new plan, where to put the checkpoint."""

    spark: SparkSession
    folder: Path
    manifest: SnapshotManifest
    pipeline: Pipeline
    plan: Plan
    target: Path
    partitions: int
    settings: SourceSettings
    laid_down: Path | None = None
    """Where the empty new checkpoint is kept once it is laid down, for another restore under the same plan."""
    rewrite: bool = True
    """False feeds unchanged state as accumulators too (way 3 for way 2)."""

    @property
    def saved(self) -> Path:
        return self.folder / manifests.FILES


def judge(manifest: SnapshotManifest, plan: Plan, renamed: dict[str, str] | None = None) -> Report:
    """Compare a new plan with a snapshot; IncompatibleError with the report if it is refused."""
    report = compare(manifest.plan, plan.to_dict(), manifest.partitions, renamed, manifest.watermark_ms, manifest.imported)
    if report.refused:
        said = f"Snapshot '{manifest.name}' does not fit the pipeline: {report.reasons}."
        raise IncompatibleError(said, report=report.to_dict())
    return report


def restore(job: Restore, report: Report) -> None:
    """Make ``target`` a checkpoint that goes on where the snapshot ended. It appears whole or not at all."""
    building, reading = (job.target.with_name(f"{job.target.name}.{what}") for what in ("building", "reading"))
    for left in (building, _scratch(building)):
        shutil.rmtree(left, ignore_errors=True)
    if report.way is Way.RESUME:
        restore_files(job.folder, job.manifest, building)
        _take_over_offsets(job, Checkpoint(building), job.manifest.epoch, report.renamed)
    else:
        lay_view(job.folder, job.manifest, reading)
        try:
            _rebuild(replace(job, folder=reading), report, building)
        finally:
            shutil.rmtree(reading, ignore_errors=True)
    Checkpoint(building).relocate(job.target)
    _place(building, job.target)


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


def _rebuild(job: Restore, report: Report, building: Path) -> None:
    kept, converted = set(report.of(Verdict.RESTORED)), set(report.of(Verdict.CONVERTED))
    provider = job.spark.conf.get("spark.sql.streaming.stateStore.providerClass")
    movable = job.manifest.provider == provider and (provider == ROCKSDB or job.partitions == job.manifest.partitions)
    raw = kept if job.rewrite and movable else set()
    fed = (kept | converted) - raw
    _check_feedable(job, fed)
    checkpoint = Checkpoint(building)
    if job.laid_down is not None and job.laid_down.exists() and not fed:
        shutil.copytree(job.laid_down, building)
        checkpoint.relocate(building)
    else:
        _lay_down(job, building, _fed_rows(job, fed, report.renamed, building))
        check_operators(job.spark, building, 0, job.plan)
        if job.laid_down is not None and not fed:
            shutil.copytree(building, job.laid_down)
    epoch = _moved(job, building, _raw_moves(job, raw, report.renamed))
    laid_down = checkpoint.offsets(0)
    for number in {max(epoch - 1, 0), epoch}:
        checkpoint.write_offsets(number, laid_down)
        checkpoint.write_commit(number, job.manifest.watermark_ms or 0)
    checkpoint.drop_before(max(epoch - 1, 0))
    _take_over_offsets(job, checkpoint, epoch, report.renamed)
    shutil.rmtree(_scratch(building), ignore_errors=True)


def _moved(job: Restore, building: Path, operators: dict[int, int]) -> int:
    """Take over state as it is; returns the epoch as of which all state of the new checkpoint then is."""
    if not operators:
        return 0
    check_moves(job.spark, job.saved, building, job.plan, operators)
    moves = Moves(job.spark, job.saved, job.manifest.epoch, building, operators, job.manifest.provider)
    return moves.by_files() if job.partitions == job.manifest.partitions else moves.by_rows(job.partitions)


def _check_feedable(job: Restore, stages: set[str]) -> None:
    """IncompatibleError if state that must come in as rows is of a kind whose operators take none."""
    for stage in sorted(stages & set(job.plan.stateful)):
        if not rules_of(job.plan.stateful[stage].kind).feedable:
            # In memory there is no such state (plan.rules.check_state_store).
            raise IncompatibleError(
                f"The state of stage '{stage}' was kept in RocksDB, and in another plan goes on only there: leave out the option "
                "state_store, leave all stateful stages and partitions as they are, or give it another name to start it empty."
            )


def _take_over_offsets(job: Restore, checkpoint: Checkpoint, epoch: int, renamed: dict[str, str]) -> None:
    """Put the saved offsets, in the new query's order, into the last two epochs: Spark reads both at its start."""
    checkpoint.drop_after(epoch)
    offsets = tuple(_saved_offset(job, slot, renamed) for slot in job.plan.source_slots)
    # A chained operator takes rows for late by the watermark of the epoch before: it must be that of the last saved
    # epoch, not the next one's, or windows that are due lose their last frame.
    saved = Checkpoint(job.saved).offsets(job.manifest.epoch).metadata
    # State with a time to live is looked through for what has died since the epoch before.
    ran_with = {name: saved[name] for name in ("batchWatermarkMs", "batchTimestampMs")}
    for number in {epoch, max(epoch - 1, 0)}:
        log = checkpoint.offsets(number)
        checkpoint.write_offsets(number, OffsetLog(log.metadata | ran_with, offsets))
    _place_source_logs(job, checkpoint.path, renamed)


def last_watermark(job: Restore) -> int:
    """The watermark with which the last saved epoch ran: what is closed by it is no longer in the state."""
    return int(Checkpoint(job.saved).offsets(job.manifest.epoch).metadata["batchWatermarkMs"])


def _saved_offset(job: Restore, slot: SourceSlot, renamed: dict[str, str]) -> str | None:
    """The offset of the same reader; a new reader of a known source begins where another one of it had got to."""
    readers = job.manifest.offsets.get(renamed.get(slot.stage, slot.stage))
    if not readers:
        return None
    return readers.get(renamed.get(slot.reader, slot.reader)) or readers.get("") or next(iter(readers.values()))


def _fed_rows(job: Restore, stages: set[str], renamed: dict[str, str], building: Path) -> dict[tuple[str, str], DataFrame]:
    """Saved accumulators of the stages, converted, written to files and opened as streams, by (stage, role)."""
    found: dict[tuple[str, str], DataFrame] = {}
    for stage in sorted(stages & set(job.plan.stateful)):
        for role, rows in _converted_state(job, stage, renamed.get(stage, stage)).items():
            path = str(_scratch(building) / f"restore_{len(found)}")
            rows.write.parquet(path)
            found[(stage, role)] = job.spark.readStream.schema(rows.schema).parquet(path)
    return found


def _converted_state(job: Restore, stage: str, was: str) -> dict[str, DataFrame]:
    """Role -> a stage's saved rows in the form that its new layout wants."""
    state, new = SnapshotState.open(job.folder, job.manifest, was), job.plan.stateful[stage]
    old, migration = state.saved.layout, job.pipeline.migrations.get(stage)
    if migration is not None and migrates(old, new):
        return migrated(job.spark, migration, state, new)
    rows = {}
    for role, saved in state.fed(job.spark).items():
        windowed = role in WINDOW_ROLES
        span, new_span = role_column(was, role), role_column(stage, role)
        rows[role] = converted(saved, old, new, span if windowed else None, new_span if windowed else None)
    if rules_of(new.kind).form is not Form.FRAMES or _frames(old) == _frames(new):
        return rows
    spans = (role_column(stage, "frames"), role_column(stage, "windows"))
    return reframed(job.spark, rows["frames"], rows.get("windows"), _frames(old), _frames(new), last_watermark(job), spans)


def _frames(layout: StateLayout) -> Frames:
    return Frames(layout.parameters["size_ms"], layout.parameters["slide_ms"])


def _scratch(building: Path) -> Path:
    return building.with_name(f"{building.name}.rows")


def _lay_down(job: Restore, building: Path, restored: dict[tuple[str, str], DataFrame]) -> None:
    """Run epoch 0 with all sources empty, and end the query right after its commit."""
    job.spark.conf.set("spark.sql.shuffle.partitions", str(job.partitions))
    lowering = Lowering(job.spark, job.settings, restored=restored, open_source=partial(_still, job, _scratch(building)))
    checkpoint = Checkpoint(building)

    def discard(rows: DataFrame, epoch: int) -> None:
        if epoch > 0:
            raise RuntimeError("only epoch 0 is laid down")
        rows.write.format("noop").mode("overwrite").save()

    query = (
        streaming_frame(lowering, job.pipeline)
        .writeStream.outputMode("append")
        .foreachBatch(discard)
        .option("checkpointLocation", str(building))
        .start()
    )
    done = wait_until(lambda: checkpoint.committed() >= 0 or not query.isActive, _LAY_DOWN_SECONDS)
    query.stop()
    if checkpoint.committed() < 0:
        error = query.exception()
        if error is not None:
            raise explain(error, None) from error
        raise (
            EngineError(f"The new checkpoint was not laid down within {_LAY_DOWN_SECONDS:.0f} seconds.")
            if not done
            else EngineError("The new checkpoint could not be laid down: the query ended without a commit.")
        )
    checkpoint.drop_after(0)


def _still(job: Restore, folder: Path, node: Node) -> DataFrame:
    """A stream with the columns of a source and no rows. Of a file: a Python source would take a second to start."""
    schema = lower_source.read_stream(job.spark, node, job.settings).schema
    # A folder each: equal relations would become one source.
    empty = folder / f"source_{job.pipeline.nodes.index(node)}" / "empty"
    empty.parent.mkdir(parents=True)
    empty.touch()
    return job.spark.readStream.schema(schema).json(str(empty.parent))


def _raw_moves(job: Restore, stages: set[str], renamed: dict[str, str]) -> dict[int, int]:
    """New operator id -> old operator id, for state that moves as it is."""
    old: dict[tuple[str, str], int] = {}
    for number, slot in enumerate(Plan.from_dict(job.manifest.plan).operators):
        old.setdefault((slot.stage, slot.role), number)
    moves = {}
    for number, slot in enumerate(job.plan.operators):
        was = (renamed.get(slot.stage, slot.stage), slot.role)
        if slot.stage in stages and was in old:
            moves[number] = old[was]
    return moves


def _place_source_logs(job: Restore, target: Path, renamed: dict[str, str]) -> None:
    """File sources keep a log of what they have read in ``sources/<relation>``; all readers of a stage have the same."""
    old = dict(reversed(_source_folders(Plan.from_dict(job.manifest.plan).source_slots)))
    shutil.rmtree(target / "sources", ignore_errors=True)
    for stage, number in _source_folders(job.plan.source_slots):
        was = renamed.get(stage, stage)
        saved = job.saved / "sources" / str(old[was]) if was in old else None
        if saved is not None and saved.is_dir():
            shutil.copytree(saved, target / "sources" / str(number), dirs_exist_ok=True)


def _source_folders(slots: Sequence[SourceSlot]) -> list[tuple[str, int]]:
    """(stage, number of its folder) of each reader; where the plan does not tell, a stage is one relation."""
    stages = list(dict.fromkeys(slot.stage for slot in slots))
    return [(slot.stage, stages.index(slot.stage) if slot.relation is None else slot.relation) for slot in slots]
