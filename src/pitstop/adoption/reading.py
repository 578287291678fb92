"""The last committed epoch of a checkpoint of Spark: the place from which an adoption goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pitstop.doctor.facts import Checkpoint
from pitstop.doctor.files import Tree
from pitstop.doctor.findings import Severity
from pitstop.doctor.logs import UnreadableError, committed_epoch, files_read, planned_epoch
from pitstop.doctor.sources import Source, SourceKind, described
from pitstop.errors import IncompatibleError, SnapshotError
from pitstop.kit.counts import counted

_COMPACT = ".compact"


@dataclass(frozen=True)
class OldSource:
    """A source as of the last committed epoch."""

    facts: Source
    offset: str | None
    """The offset as Spark keeps it; None: it has not begun."""
    folder: str
    """The folder, below the checkpoint, of what Spark notes of the source."""
    entries: tuple[str, ...] = ()
    """The files that it has read, as URLs, for a source of files."""

    @property
    def kind(self) -> SourceKind:
        return self.facts.kind


@dataclass(frozen=True)
class OldEpoch:
    """The last committed epoch."""

    number: int
    watermark_ms: int
    """The watermark with which the next epoch would run."""
    metadata: dict[str, Any]
    """The facts that Spark noted when it planned the epoch."""
    sources: tuple[OldSource, ...]
    unfinished: int | None
    """The epoch that was planned after it and not committed."""

    @property
    def partitions(self) -> int:
        return int(self.metadata["conf"].get("spark.sql.shuffle.partitions", "200"))


def refuse_unless_healthy(report: Checkpoint) -> None:
    """Raise unless a query could start again from the checkpoint, and no job of Pitstop has written it."""
    if report.job is not None:
        raise IncompatibleError(
            f"Checkpoint {report.address} belongs to job '{report.job}' of Pitstop: take a snapshot of it with save-snapshot."
        )
    damage = next((finding for finding in report.findings if finding.severity is Severity.DAMAGE), None)
    if damage is not None:
        raise SnapshotError(
            f"Checkpoint {report.address} is damaged: {damage.sentence} Nothing was adopted: pitstop doctor says what to do."
        )
    if report.logs.committed is None:
        raise IncompatibleError(
            f"The query of checkpoint {report.address} has committed no epoch yet, so there is nothing to adopt: submit the job "
            "without a snapshot."
        )


def last_committed(tree: Tree, report: Checkpoint) -> OldEpoch:
    """Return the last committed epoch. SnapshotError if its logs cannot be read."""
    number = report.logs.committed
    assert number is not None, "a checkpoint without a committed epoch is refused before"
    try:
        planned = planned_epoch(tree.read(f"offsets/{number}"))
        committed = committed_epoch(tree.read(f"commits/{number}"))
        sources = tuple(_source(tree, place, name, offset) for place, (name, offset) in enumerate(planned.offsets))
    except (OSError, UnreadableError) as error:
        raise SnapshotError(f"The logs of epoch {number} in {report.address} cannot be read ({error}): restore them.") from None
    metadata = {
        "batchWatermarkMs": planned.watermark_ms,
        "batchTimestampMs": planned.planned_ms,
        "conf": planned.settings,
    }
    latest = report.logs.planned if report.logs.planned is not None else number
    return OldEpoch(number, committed.watermark_ms, metadata, sources, latest if latest > number else None)


def _source(tree: Tree, place: int, name: str | None, offset: str | None) -> OldSource:
    folder = _folder(tree, place, name)
    # The source "rate" notes its time of start where a source of files has its log.
    plain = offset is not None and offset.lstrip("-").isdecimal()
    facts = described(place, name, offset, plain and tree.facts(f"{folder}/0") is not None)
    entries = _entries(tree, folder, facts) if facts.kind is SourceKind.FILES else ()
    return OldSource(facts, offset, folder, entries)


def _folder(tree: Tree, place: int, name: str | None) -> str:
    """Return the folder of a source. Spark 4.2 names the folders of named sources, and not their lines in the offset log."""
    folders = tree.children.get("sources", set())
    if name is not None and name in folders:
        return f"sources/{name}"
    others = sorted(folder for folder in folders if not folder.isdecimal())
    if str(place) not in folders and len(others) == 1:
        return f"sources/{others[0]}"
    return f"sources/{place}"


def _entries(tree: Tree, folder: str, facts: Source) -> tuple[str, ...]:
    """Return the files that the source has read up to its offset, each once."""
    last = int(facts.offset["logOffset"])
    names = [name for name in tree.names(folder) if name.removesuffix(_COMPACT).isdecimal()]
    paths: dict[str, None] = {}
    for name in sorted(names, key=lambda name: int(name.removesuffix(_COMPACT))):
        for entry in files_read(tree.read(f"{folder}/{name}")):
            if int(entry.get("batchId", 0)) <= last:
                paths[str(entry["path"])] = None
    return tuple(paths)


def offset_in_words(source: OldSource) -> str:
    """Return the place of a source, in its own terms."""
    if source.kind is SourceKind.FILES:
        newest = f", the last {source.entries[-1].rpartition('/')[2]}" if source.entries else ""
        return f"{counted(len(source.entries), 'file')} read{newest}"
    if source.kind is SourceKind.CUSTOM:
        return json.dumps(source.facts.offset) if not isinstance(source.facts.offset, str) else source.facts.offset
    return source.facts.summary
