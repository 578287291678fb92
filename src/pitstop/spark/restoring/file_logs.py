"""What Spark's file sources have read: logs of files by their whole paths, which go on in a folder that was moved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from pitstop.spark.sources.files import quoted


def move_entries(log: Path, before: str, after: str) -> None:
    """Let the files that a source's log names below one folder be those below another one; both as URLs (``folder_url``).

    A log has a file for each epoch, or several epochs in a ``.compact`` one: a version, then an entry a line, as JSON.
    """
    before = quoted(unquote(before))  # plans of older releases have it quoted otherwise than the log
    for path in _parts(log):
        version, *entries = path.read_text().splitlines()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.unlink()  # it may be a link to a file of the snapshot
        path.write_text("\n".join([version, *(_moved(entry, before, after) for entry in entries)]))


def _moved(entry: str, before: str, after: str) -> str:
    told = json.loads(entry)
    if str(told.get("path", "")).startswith(before):
        told["path"] = after + told["path"].removeprefix(before)
    return json.dumps(told, separators=(",", ":"))


def _parts(log: Path) -> Iterator[Path]:
    return (path for path in sorted(log.iterdir()) if path.name.removesuffix(".compact").isdigit())
