"""The digest of an epoch: of everything that decides its rows, beside the state it begins with.

Sinks keep it beside an epoch's number. The same number with another digest is another epoch: the checkpoint was put back from an
older copy, or two checkpoints go on from one copy. An epoch that is planned keeps its digest however often it is run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.kit.lines import lines_of
from pitstop.snapshots.files import Files, read_text

if TYPE_CHECKING:
    from pitstop.snapshots.checkpoint import Checkpoint

_COMPACT = ".compact"


def digest_of(checkpoint: Checkpoint, epoch: int) -> str | None:
    """Return the SHA-256, in hex, of a planned epoch's begin and end in each source, and of its watermark.

    None if an older release has begun the epoch, which keeps the name that sinks know it by.
    """
    before = checkpoint.epoch_of_before()
    if before is not None and before.epoch == epoch:
        return before.digest
    log = checkpoint.offsets(epoch)
    try:
        start = checkpoint.offsets(epoch - 1).offsets
    except FileNotFoundError:
        start = ()
    # The offset of a source of files is the number of an entry in its log, which names the files.
    file_names = [list(_named_files(checkpoint, number, *ends)) for number, ends in enumerate(_file_parts(start, log.offsets))]
    # Not the time at which it was planned: an epoch that reads and gives the same is the same.
    content = [start, log.offsets, log.metadata.get("batchWatermarkMs"), file_names]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class EpochDigests:
    """The digests of a checkpoint's epochs, each computed once while it is written."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._last: tuple[int, str | None] = (-1, None)

    def of(self, epoch: int) -> str | None:
        """Return the digest of an epoch, as :func:`digest_of`."""
        if self._last[0] != epoch:
            self._last = (epoch, digest_of(self._checkpoint, epoch))
        return self._last[1]


def _file_parts(start: tuple[str | None, ...], end: tuple[str | None, ...]) -> Iterator[tuple[int, int]]:
    """Yield, for each source, the last parts of its log of files before the epoch and in it.

    They are equal if it has no log.
    """
    for number, offset in enumerate(end):
        before = _part(start[number]) if number < len(start) else None
        last = _part(offset)
        yield (-1 if before is None else before, last) if last is not None else (-1, -1)


def _part(offset: str | None) -> int | None:
    fields = json.loads(offset) if offset is not None and "logOffset" in offset else None
    part = fields.get("logOffset") if isinstance(fields, dict) else None
    return part if isinstance(part, int) else None


def _named_files(checkpoint: Checkpoint, source: int, before: int, last: int) -> Iterator[str]:
    """Yield the entries of a source's log with numbers after ``before``, up to ``last``."""
    if last <= before:
        return
    slots: list[list[Any]] = checkpoint.facts()["plan"]["source_slots"]
    stages = list(dict.fromkeys(slot[0] for slot in slots))
    stage, relation = slots[source][0], slots[source][2] if len(slots[source]) > 2 else None
    log = checkpoint.path / "sources" / str(stages.index(stage) if relation is None else relation)
    for part in range(before + 1, last + 1):
        yield from sorted(_entries(checkpoint.files, log, part))


def _entries(files: Files, log: Path, part: int) -> list[str]:
    try:
        return lines_of(read_text(files, log / str(part)))[1:]
    except FileNotFoundError:
        # The next file that has several parts in one has this one, too.
        names = (int(name.removesuffix(_COMPACT)) for name in files.names(log) if name.endswith(_COMPACT) and name[0] != ".")
        holder = min((number for number in names if number >= part), default=None)
    if holder is None:
        return []
    entries = []
    for line in reversed(lines_of(read_text(files, log / f"{holder}{_COMPACT}"))[1:]):
        number = json.loads(line)["batchId"]
        if number == part:
            entries.append(line)
        elif number < part:  # they stand in the order of their parts
            break
    return entries
