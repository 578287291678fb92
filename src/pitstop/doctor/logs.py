"""Logs of a checkpoint as values: planned epochs (``offsets/``), committed epochs (``commits/``), the query's id, files read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from pitstop.doctor.flaws import Flaw
from pitstop.doctor.numbers import whole
from pitstop.snapshots.checkpoint import NO_OFFSET


class UnreadableError(Exception):
    """A file that does not hold what its name says."""

    def __init__(self, flaw: Flaw, detail: str = "") -> None:
        super().__init__(f"{flaw}{f': {detail}' if detail else ''}")
        self.flaw, self.detail = flaw, detail


class FutureError(UnreadableError):
    """A file in a format that is later than those of Spark 4.3."""

    def __init__(self, version: str) -> None:
        super().__init__(Flaw.GARBAGE, f"its format {version} is later than those of Spark 4.3")


@dataclass(frozen=True)
class PlannedEpoch:
    """One file of the offset log."""

    format: int
    watermark_ms: int
    planned_ms: int
    settings: dict[str, str] = field(repr=False)
    offsets: tuple[tuple[str | None, str | None], ...]
    """The name (None in format 1) and the offset of each source; an offset of None: it has not begun."""
    sources: dict[str, Any] = field(default_factory=dict, repr=False)
    """Format 2: what Spark notes about each source."""


@dataclass(frozen=True)
class CommittedEpoch:
    """One file of the commit log."""

    format: int
    watermark_ms: int
    """The watermark with which the next epoch runs."""
    state_ids: dict[int, tuple[tuple[str, ...], ...]]
    """Format 2: operator -> partition -> the id of its state in each of its stores."""


def planned_epoch(content: bytes) -> PlannedEpoch:
    """Return the content of a file of the offset log. UnreadableError if Spark cannot read it, or would read too little."""
    version, lines = _versioned(content, 2)
    if not lines:
        raise UnreadableError(Flaw.CUT, "it has no second line")
    facts = _object(lines[0])
    try:
        settings = {str(key): str(value) for key, value in dict(facts.get("conf") or {}).items()}
        watermark, planned = whole(facts.get("batchWatermarkMs", 0)), whole(facts.get("batchTimestampMs", 0))
    except (TypeError, ValueError):
        raise UnreadableError(Flaw.GARBAGE, "its second line is not that of an offset log") from None
    if "batchTimestampMs" not in facts:
        raise UnreadableError(Flaw.GARBAGE, "its second line is not that of an offset log")
    if len(lines) < 2:
        raise UnreadableError(Flaw.CUT, "it has no line of a source")
    sources = facts.get("sourceMetadataInfo")
    offsets = tuple(_offset(line, version) for line in lines[1:])
    return PlannedEpoch(version, watermark, planned, settings, offsets, sources if isinstance(sources, dict) else {})


def committed_epoch(content: bytes) -> CommittedEpoch:
    """Return the content of a file of the commit log. UnreadableError if Spark cannot read it, or would read too little."""
    version, lines = _versioned(content, 2)
    if not lines or not lines[0].strip():
        raise UnreadableError(Flaw.CUT, "it has no second line")
    facts = _object(lines[0])
    try:
        watermark = whole(facts["nextBatchWatermarkMs"])
        ids = {
            whole(operator): tuple(tuple(str(one) for one in stores or ()) for stores in partitions)
            for operator, partitions in dict(facts.get("stateUniqueIds") or {}).items()
        }
    except (KeyError, TypeError, ValueError):
        raise UnreadableError(Flaw.GARBAGE, "its second line is not that of a commit log") from None
    return CommittedEpoch(version, watermark, ids)


def query_id(content: bytes) -> str:
    """Return the id in the file ``metadata``. UnreadableError if there is none."""
    if not content:
        raise UnreadableError(Flaw.EMPTY)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise UnreadableError(Flaw.GARBAGE) from None
    identifier = _object(text).get("id")
    if not isinstance(identifier, str) or not identifier:
        raise UnreadableError(Flaw.GARBAGE, "it holds no id")
    return identifier


def files_read(content: bytes) -> list[dict[str, Any]]:
    """Return the entries in a log of a source of files. UnreadableError if Spark cannot read it."""
    _, lines = _versioned(content, 1)
    entries = [_object(line) for line in lines if line]
    if any(not isinstance(entry.get("path"), str) for entry in entries):
        raise UnreadableError(Flaw.GARBAGE, "an entry has no path")
    return entries


def _versioned(content: bytes, newest: int) -> tuple[int, list[str]]:
    """Return the version in the first line, and the lines after it."""
    if not content:
        raise UnreadableError(Flaw.EMPTY)
    try:
        first, *lines = content.decode().removesuffix("\n").split("\n")  # JSON may hold other ends of lines
    except UnicodeDecodeError:
        raise UnreadableError(Flaw.GARBAGE, "it is not text") from None
    except ValueError:
        raise UnreadableError(Flaw.GARBAGE) from None
    first = first.removesuffix("\r")
    if not first.startswith("v") or not first[1:].isdecimal() or len(first) > 10:
        raise UnreadableError(Flaw.CUT if first == "v" else Flaw.GARBAGE, "its first line is not a version")
    if int(first[1:]) > newest:
        raise FutureError(first[1:])
    return int(first[1:]), lines


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise UnreadableError(Flaw.CUT if line.startswith("{") else Flaw.GARBAGE, "its JSON does not end") from None
    if not isinstance(value, dict):
        raise UnreadableError(Flaw.GARBAGE, "it holds no JSON object")
    return value


def _offset(line: str, version: int) -> tuple[str | None, str | None]:
    name, text = None, line
    if version > 1:
        name, separator, text = line.partition(":")
        if not separator or not name:
            raise UnreadableError(Flaw.CUT, "a line of a source has no name")
    if text == NO_OFFSET:
        return name, None
    if not text.strip():
        raise UnreadableError(Flaw.CUT, "a line of a source is empty")
    if text[0] in "{[":
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            raise UnreadableError(Flaw.CUT, "the offset of a source does not end") from None
    return name, text
