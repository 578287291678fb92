"""Reads what a checkpoint holds of each source: its offset, and the log of files that a source of files keeps."""

from __future__ import annotations

import itertools
from typing import Any

from pitstop.doctor.epochs import EpochLogs
from pitstop.doctor.examination import Examination
from pitstop.doctor.findings import Code, Severity
from pitstop.doctor.jobs import JobFacts
from pitstop.doctor.logs import FutureError, UnreadableError, files_read
from pitstop.doctor.numbers import LARGEST, is_number, missing_between
from pitstop.doctor.sources import Source, SourceKind, described, offset_of, with_files

_COMPACT = ".compact"


def read_sources(examination: Examination, logs: EpochLogs, job: JobFacts) -> tuple[Source, ...]:
    """Return the sources as of the last planned epoch that can be read."""
    sources = []
    slots = logs.last.offsets if logs.last is not None else ()
    for number, (name, offset) in enumerate(slots):
        folder = _folder(examination, number, name, len(slots))
        base = folder.rpartition("/")[2] if folder is not None else ""
        label = base if base and not base.isdecimal() else None
        stage = job.sources[number] if number < len(job.sources) and len(job.sources) == len(slots) else None
        is_number = offset is not None and offset.lstrip("-").isdecimal()
        source = described(
            number, name or label or stage, offset, is_number and folder is not None and _has_start_time(examination, folder)
        )
        if source.kind is SourceKind.FILES and folder is not None:
            source = _with_log(examination, source, folder)
        sources.append(source)
    _fit(examination, logs)
    return tuple(sources)


def _folder(examination: Examination, number: int, name: str | None, sources: int) -> str | None:
    """Return the folder of a source; None if it is one of several whose folders bear names that the offset log does not have.

    Spark 4.2 names the folders of named sources, and not their lines in the offset log.
    """
    folders = examination.tree.children.get("sources", set())
    if name is not None or str(number) in folders:
        return f"sources/{number if name is None else name}"
    names = sorted(folder for folder in folders if not folder.isdecimal())
    if not names:
        return f"sources/{number}"
    return f"sources/{names[0]}" if len(names) == sources == 1 else None


def _has_start_time(examination: Examination, folder: str) -> bool:
    name = f"{folder}/0"
    if examination.tree.facts(name) is None:
        return False
    try:
        return examination.inspector.read(name).partition(b"\n")[2].strip().isdigit()
    except UnreadableError:
        return False


def _with_log(examination: Examination, source: Source, folder: str) -> Source:
    """Return a source of files with what its log tells; find files of the log that are missing or cannot be read."""
    tree, last = examination.tree, _log_offset(source)
    names = tree.names(folder)
    parts = set(tree.numbers(folder))
    compacts = {
        int(name.removesuffix(_COMPACT)) for name in names if name.endswith(_COMPACT) and is_number(name.removesuffix(_COMPACT))
    }
    newest = max(parts | compacts | {last})
    base = max((number for number in compacts if number <= newest), default=None)
    first = 0 if base is None else base + 1
    here = [f"{folder}/{number}" for number in sorted(parts) if number >= first]
    needed = ([] if base is None else [f"{folder}/{base}{_COMPACT}"]) + here
    _find_missing(examination, source, folder, *missing_between(parts, first, newest))
    entries: list[dict[str, Any]] = []
    for name in needed:
        try:
            entries += examination.inspector.parsed(name, files_read)
        except UnreadableError as error:
            examination.find(
                Code.LATER_FORMAT if isinstance(error, FutureError) else Code.SOURCE_LOG_UNREADABLE,
                Severity.DAMAGE,
                f"File {name} {error}. It lists files that source {source.number} has read. Without it Spark does not start, "
                "or reads these files again.",
                [name],
                advice="Restore the file from a copy of the checkpoint.",
            )
    _older(examination, folder, set(names) - {name.rpartition("/")[2] for name in needed})
    return with_files(source, entries, newest)


def _find_missing(examination: Examination, source: Source, folder: str, total: int, numbers: list[int]) -> None:
    if total:
        sample = ", ".join(f"{folder}/{number}" for number in numbers[:3]) + (f" and {total - 3:,} more" if total > 3 else "")
        examination.find(
            Code.SOURCE_LOG_MISSING,
            Severity.DAMAGE,
            f"{'File' if total == 1 else 'Files'} {sample} {'is' if total == 1 else 'are'} missing. "
            f"{'It lists' if total == 1 else 'They list'} files that source {source.number} has read. Spark does not start, "
            "or reads these files again.",
            [f"{folder}/{number}" for number in numbers],
            advice="Restore the files from a copy of the checkpoint.",
            total=total,
        )


def _older(examination: Examination, folder: str, names: set[str]) -> None:
    for name in sorted(names):
        if is_number(name.removesuffix(_COMPACT)):
            try:
                examination.inspector.parsed(f"{folder}/{name}", files_read)
            except UnreadableError as error:
                examination.find(
                    Code.OLD_DAMAGE,
                    Severity.NOTE,
                    f"File {folder}/{name} {error}. A restart does not read it: a later file has its entries.",
                    [f"{folder}/{name}"],
                )


def _log_offset(source: Source) -> int:
    value = source.offset.get("logOffset") if isinstance(source.offset, dict) else None
    return value if isinstance(value, int) and -1 <= value <= LARGEST else -1


def _fit(examination: Examination, logs: EpochLogs) -> None:
    """Find a change of the number of sources, or an offset that goes back, between the epochs."""
    numbers = sorted(logs.planned)
    last = logs.last_planned
    for before, after in itertools.pairwise(numbers):
        earlier, later = logs.planned[before], logs.planned[after]
        if len(earlier.offsets) != len(later.offsets) and later.format == 1:
            examination.find(
                Code.SOURCES_DIFFER,
                Severity.DAMAGE if after == last else Severity.NOTE,
                f"File offsets/{before} has {len(earlier.offsets)} sources, and offsets/{after} has {len(later.offsets)}. One of "
                "them is damaged, because Spark does not continue with another number of sources.",
                [f"offsets/{before}", f"offsets/{after}"],
            )
    if last is None or last not in logs.planned or last - 1 not in logs.planned:
        return
    pairs = zip(logs.planned[last - 1].offsets, logs.planned[last].offsets, strict=False)
    for number, ((_, before_text), (_, after_text)) in enumerate(pairs):
        start, end = offset_of(before_text), offset_of(after_text)
        if isinstance(start, int) and isinstance(end, int) and end < start:
            examination.find(
                Code.SOURCES_DIFFER,
                Severity.DAMAGE,
                f"The offset of source {number} goes back from {start:,} to {end:,} in epoch {last}: file offsets/{last} is "
                "damaged, or the source was created again.",
                [f"offsets/{last}"],
            )
