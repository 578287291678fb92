"""Which bytes of which files come next: the pure part of tailing a folder."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from pitstop.spark.sources.log import SourceLog

FINGERPRINT_BYTES = 64
SCAN_BYTES = 64 * 1024

Positions = dict[str, tuple[int, str]]
"""File name -> (byte position after the last line read, fingerprint of the file's beginning)."""


@dataclass(frozen=True)
class Span:
    """Bytes ``start .. end`` of a file."""

    file: str
    start: int
    end: int


def next_positions(folder: Path, glob: str, before: Positions, max_bytes: int, log: SourceLog, told: set[str]) -> Positions:
    """Advance by complete lines, ``max_bytes`` in all, shared among the files that have grown.

    A file that is shorter than its position, or begins otherwise than it did, is another file: it is read from its
    start, and the log says so once. ``told`` remembers what was said.
    """
    after = dict(before)
    grown: list[tuple[str, int, int, str]] = []
    for name in _names(folder, glob, log, told):
        size = _size(folder / name)
        position, mark = before.get(name, (0, ""))
        if position and _replaced(folder / name, size, position, mark):
            log.warning(
                f"File '{name}' was truncated or replaced: read up to byte {position}, it now has {size} bytes and is "
                "read from its start."
            )
            position, mark = 0, ""
            after[name] = (0, "")
        if size > position:
            grown.append((name, position, size, mark))
    _forget_removed(folder, before, after, log, told)
    share = max(1, max_bytes // max(1, len(grown)))
    left = max_bytes
    for index, (name, position, size, mark) in enumerate(sorted(grown, key=lambda item: item[2] - item[1])):
        # Small files first: what they leave of their share goes to the larger ones.
        budget = max(share, left // (len(grown) - index))
        end = line_end(folder / name, position, min(size, position + budget), size)
        if end > position:
            after[name] = (end, mark or fingerprint(folder / name, end))
            left = max(0, left - (end - position))
    return after


def line_end(path: Path, start: int, wanted: int, size: int) -> int:
    """The end of the last complete line up to ``wanted``; of the first one if that is longer; ``start`` if none is complete."""
    with path.open("rb") as file:
        upper = wanted
        while upper > start:
            lower = max(start, upper - SCAN_BYTES)
            file.seek(lower)
            found = file.read(upper - lower).rfind(b"\n")
            if found >= 0:
                return lower + found + 1
            upper = lower
        position = wanted
        while position < size:
            file.seek(position)
            chunk = file.read(min(SCAN_BYTES, size - position))
            found = chunk.find(b"\n")
            if found >= 0:
                return position + found + 1
            if not chunk:
                break
            position += len(chunk)
    return start


def fingerprint(path: Path, known: int) -> str:
    """``<bytes>:<hash>`` of the file's beginning, of at most the ``known`` bytes that can no longer change."""
    length = min(FINGERPRINT_BYTES, known)
    with path.open("rb") as file:
        return f"{length}:{hashlib.sha256(file.read(length)).hexdigest()[:12]}"


def spans(before: Positions, after: Positions) -> list[Span]:
    """What lies between two offsets. A position that went back means the file began anew."""
    found = []
    for name, (end, mark) in after.items():
        start, old_mark = before.get(name, (0, ""))
        if start > end or (old_mark and mark and old_mark != mark):
            start = 0
        if end > start:
            found.append(Span(name, start, end))
    return found


def balanced(found: list[Span], parts: int) -> list[list[Span]]:
    """Spread spans over at most ``parts`` lists of about equal bytes; a file's lines stay in one, in order."""
    lists: list[list[Span]] = [[] for _ in range(max(1, min(parts, len(found))))]
    weights = [0] * len(lists)
    for span in sorted(found, key=lambda s: s.start - s.end):
        lightest = weights.index(min(weights))
        lists[lightest].append(span)
        weights[lightest] += span.end - span.start
    return [part for part in lists if part]


def _names(folder: Path, glob: str, log: SourceLog, told: set[str]) -> list[str]:
    if not folder.is_dir():
        if "folder" not in told:
            log.warning(f"Folder {folder} does not exist yet: waiting for it.")
            told.add("folder")
        return []
    told.discard("folder")
    return sorted(str(path.relative_to(folder)) for path in folder.glob(glob) if path.is_file())


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _replaced(path: Path, size: int, position: int, mark: str) -> bool:
    if size < position:
        return True
    try:
        length = int(mark.split(":", 1)[0])
        return size > position and fingerprint(path, length) != mark
    except (FileNotFoundError, ValueError):
        return False


def _forget_removed(folder: Path, before: Positions, after: Positions, log: SourceLog, told: set[str]) -> None:
    for name, (position, _) in before.items():
        if not (folder / name).exists() and folder.is_dir():
            after.pop(name, None)
            if name not in told:
                log.warning(f"File '{name}' is gone; it was read up to byte {position}.")
                told.add(name)
