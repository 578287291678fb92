"""Files that Spark cannot read: missing ones, and incomplete ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import unquote

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SourceSpec

_FAILED = re.compile(r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (\S+?)\.?(?=\s)")
_ENDS_EARLY = re.compile(
    r"Caused by: .*(?:EOFException|FileNotFoundException|ZipException|Unexpected end of|is not a Parquet file"
    r"|Could not read footer|not in GZIP format"
    r"|invalid stored block|incorrect (?:header|data) check|invalid (?:block type|distance|code)"
    r"|Expected magic number|Malformed ORC|Not a valid ORC|Reached the end of stream)",
    re.IGNORECASE,
)
_DENIED = "(Permission denied)"
_GONE, _NO_FOOTER = "FILE_NOT_EXIST", "CANNOT_READ_FILE_FOOTER"


def unread_file(trace: str, nodes: Iterable[Node] = ()) -> str | None:
    """Return the file that Spark's error calls missing or half-written, and its stage, as a clause; None if it names none."""
    failed = _FAILED.search(trace)
    if failed is None or _DENIED in trace:  # Spark takes a file that it may not open for one that is not there
        return None
    kind, url = failed.groups()
    if kind not in (_GONE, _NO_FOOTER) and not _ENDS_EARLY.search(trace):
        return None
    path = plain_path(url)
    what = "is not there any more" if kind == _GONE else "is not whole"
    of = stage_of_file(path, nodes)
    return f"{of}the file {path} {what}: put it back, or write a file beside its folder and move it there once it is whole"


def stage_of_file(path: str, nodes: Iterable[Node]) -> str:
    """Return the stages that read a file, as the beginning of a sentence; empty if none of these does."""
    stages = [f"'{node.name}' ({node.location})" for node in nodes if _reads(node, path)]
    return f"stage {' or '.join(stages)}: " if stages else ""


def _reads(node: Node, path: str) -> bool:
    if not isinstance(node.spec, SourceSpec):
        return False
    folder = plain_path(str(dict(node.source.options).get("path", "")))
    return bool(folder) and PurePosixPath(path).is_relative_to(PurePosixPath(re.split(r"[*?\[{]", folder)[0].rstrip("/") or "/"))


def plain_path(url: str) -> str:
    """Return a URL as a local path; URLs of other file systems stay as they are."""
    return unquote(re.sub(r"^file:/+", "/", url))
