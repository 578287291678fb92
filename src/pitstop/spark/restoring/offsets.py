"""The places where sources go on after a restore: the saved offsets and watermark in the new checkpoint's logs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pitstop.plan.folders import moved_folder
from pitstop.plan.model import Plan, SourceSlot
from pitstop.snapshots.checkpoint import Checkpoint, EpochOfBefore, OffsetLog
from pitstop.spark.restoring.file_logs import drop_entries, last_entry, move_entries
from pitstop.spark.restoring.saved_snapshot import SavedSnapshot

NOWHERE: Mapping[str, str] = MappingProxyType({})
"""No source is put to another place."""


def pretend_to_have_run(checkpoint: Checkpoint, epoch: int, watermark_ms: int) -> None:
    """Make a checkpoint that has done epoch 0 look as if it had done ``epoch`` and the one before, and no other.

    ``watermark_ms`` is the watermark of the epoch to come.
    """
    laid_down = checkpoint.offsets(0)
    for number in _last_two(epoch):
        checkpoint.write_offsets(number, laid_down)
        checkpoint.write_commit(number, watermark_ms)
    checkpoint.drop_before(min(_last_two(epoch)))


def take_over_offsets(
    saved: SavedSnapshot,
    slots: Sequence[SourceSlot],
    checkpoint: Checkpoint,
    epoch: int,
    renamed: Mapping[str, str],
    sought: Mapping[str, str] = NOWHERE,
) -> None:
    """Put the saved offsets, in the new query's order, into the last two epochs: Spark reads both at its start.

    ``sought``: source -> the offset at which it goes on instead.
    """
    checkpoint.drop_after(epoch)
    offsets = tuple(sought.get(slot.stage) or _offset_of(saved.manifest.offsets, slot, renamed) for slot in slots)
    # A chained operator takes rows for late by the watermark of the epoch before: it must be that of the last saved
    # epoch, not the next one's, or windows that are due lose their last frame.
    # State with a time to live is looked through for what has died since the epoch before.
    ran_with = {name: saved.epoch_metadata[name] for name in ("batchWatermarkMs", "batchTimestampMs")}
    for number in _last_two(epoch):
        log = checkpoint.offsets(number)
        checkpoint.write_offsets(number, OffsetLog(log.metadata | ran_with, offsets))


def take_over_unfinished(
    saved: SavedSnapshot,
    slots: Sequence[SourceSlot],
    checkpoint: Checkpoint,
    epoch: int,
    renamed: Mapping[str, str],
    ends: Mapping[str, str] = NOWHERE,
) -> None:
    """Plan the epoch within which the saved run ended, behind ``epoch``: as it was, under the name by which sinks know it.

    Sinks do not take again what they have of it. They get the rest as the new version makes it. ``ends``: source that was put to
    another place -> where it ends this epoch instead.
    """
    unfinished = saved.manifest.unfinished
    if unfinished is None:
        checkpoint.begin_with(None)
        return
    last = checkpoint.offsets(epoch)
    unfinished_offsets = (ends.get(slot.stage) or _offset_of(unfinished["offsets"], slot, renamed) for slot in slots)
    offsets = tuple(offset or before for offset, before in zip(unfinished_offsets, last.offsets, strict=True))
    runs_with = {name: unfinished["metadata"][name] for name in ("batchWatermarkMs", "batchTimestampMs")}
    checkpoint.write_offsets(epoch + 1, OffsetLog(last.metadata | runs_with, offsets))
    checkpoint.begin_with(EpochOfBefore(epoch + 1, unfinished["known_as"], unfinished.get("digest")))


def forget_offsets(checkpoint: Checkpoint, sources: int) -> None:
    """Make every source of a checkpoint that has done epoch 0 look as if it had not begun."""
    shutil.rmtree(checkpoint.path / "sources", ignore_errors=True)
    checkpoint.write_offsets(0, OffsetLog(checkpoint.offsets(0).metadata, (None,) * sources))


def take_over_file_logs(saved: SavedSnapshot, plan: Plan, target: Path, renamed: Mapping[str, str]) -> None:
    """Copy the logs in ``sources/<relation>`` of what file sources have read; all readers of a stage have the same log.

    A log may name files of epochs that are planned anew.
    """
    offsets = saved.manifest.offsets if saved.manifest.unfinished is None else saved.manifest.unfinished["offsets"]
    old = dict(reversed(_source_folders(saved.plan.source_slots)))
    shutil.rmtree(target / "sources", ignore_errors=True)
    for stage, number in _source_folders(plan.source_slots):
        was = renamed.get(stage, stage)
        log = saved.checkpoint.path / "sources" / str(old[was]) if was in old else None
        if log is not None and log.is_dir():
            copy = target / "sources" / str(number)
            shutil.copytree(log, copy, dirs_exist_ok=True)
            last = last_entry(offsets.get(was, {}).values())
            if last is not None:
                drop_entries(copy, last)
            moved = moved_folder(saved.plan.sources.get(was), plan.sources.get(stage))
            if moved is not None:
                move_entries(copy, *moved)


def _last_two(epoch: int) -> set[int]:
    return {max(epoch - 1, 0), epoch}


def _offset_of(offsets: Mapping[str, Mapping[str, str]], slot: SourceSlot, renamed: Mapping[str, str]) -> str | None:
    """Return the offset of the reader; a new reader of a known source begins where another reader of it had got to."""
    readers = offsets.get(renamed.get(slot.stage, slot.stage))
    if not readers:
        return None
    return readers.get(renamed.get(slot.reader, slot.reader)) or readers.get("") or next(iter(readers.values()))


def _source_folders(slots: Sequence[SourceSlot]) -> list[tuple[str, int]]:
    """Return (stage, number of its folder) for each reader; if the plan does not tell, a stage is one relation."""
    stages = list(dict.fromkeys(slot.stage for slot in slots))
    return [(slot.stage, stages.index(slot.stage) if slot.relation is None else slot.relation) for slot in slots]
