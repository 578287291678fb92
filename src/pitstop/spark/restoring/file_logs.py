"""The logs of files that Spark's file sources have read. They hold whole paths, and go on in a folder that was moved.

A log has a file for each epoch, or several epochs in a ``.compact`` one: a version, then an entry a line, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pitstop.spark.sources.files import quoted

Entry = dict[str, Any]
_COMPACT = ".compact"


def last_entry(offsets: Iterable[str]) -> int | None:
    """Return the number of the last part of its log that a source has reached; None if it has no log.

    ``offsets`` are those of its readers.
    """
    entries = [offset.get("logOffset") for offset in map(json.loads, offsets) if isinstance(offset, dict)]
    return max((number for number in entries if isinstance(number, int)), default=None)


def drop_entries(log: Path, last: int) -> None:
    """Make a source's log name no file of later parts: the next epoch would read them all, whatever the source's limits."""
    for path in _parts(log):
        if int(path.name.removesuffix(_COMPACT)) <= last:
            continue
        if path.name.endswith(_COMPACT):
            _rewrite(path, lambda entries: [entry for entry in entries if entry["batchId"] <= last])
        else:
            _remove(path)


def move_entries(log: Path, before: str, after: str) -> None:
    """Replace one folder by another in the paths of a source's log; both are URLs (``folder_url``)."""
    before = quoted(unquote(before))  # plans of older releases have it quoted otherwise than the log

    def moved(entry: Entry) -> Entry:
        path = str(entry.get("path", ""))
        return entry | {"path": after + path.removeprefix(before)} if path.startswith(before) else entry

    for path in _parts(log):
        _rewrite(path, lambda entries: map(moved, entries))


def _rewrite(path: Path, change: Callable[[Iterable[Entry]], Iterable[Entry]]) -> None:
    version, *entries = path.read_text().split("\n")
    _remove(path)  # it may be a link to a file of the snapshot
    changed = change(json.loads(entry) for entry in entries if entry.strip())
    path.write_text("\n".join([version, *(json.dumps(entry, separators=(",", ":")) for entry in changed)]))


def _remove(path: Path) -> None:
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.unlink()


def _parts(log: Path) -> Iterator[Path]:
    return (path for path in sorted(log.iterdir()) if path.name.removesuffix(_COMPACT).isdigit())
