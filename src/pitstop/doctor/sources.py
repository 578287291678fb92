"""The offsets of sources, each in its own terms."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pitstop.doctor.numbers import is_number, whole_or
from pitstop.kit.counts import counted


class SourceKind(StrEnum):
    """Kinds of sources, as far as an offset and the source's folder tell."""

    KAFKA = "kafka"
    FILES = "files"
    RATE_MICRO_BATCH = "rate-micro-batch"
    RATE = "rate"
    DELTA = "delta"
    ICEBERG = "iceberg"
    KINESIS = "kinesis"
    NUMBER = "number"
    CUSTOM = "custom"
    NOT_BEGUN = "not begun"


@dataclass(frozen=True)
class Source:
    """A source as of the last planned epoch."""

    number: int
    """Its place in the query, and in each file of the offset log."""
    name: str | None
    """The name that the query gives it (offset log 2), or the stage of Pitstop's job that reads it."""
    kind: SourceKind
    summary: str
    """Its offset in words."""
    offset: Any
    """The offset as Spark keeps it: JSON, a number or text; None: the source has not begun."""
    details: dict[str, Any] = field(default_factory=dict)


def offset_of(text: str | None) -> Any:
    """Return an offset as a value: of JSON, else the text."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def described(number: int, name: str | None, text: str | None, has_start_time: bool) -> Source:
    """Return a source by its offset. ``has_start_time``: its folder holds a time, as that of a ``rate`` source does."""
    value = offset_of(text)
    for kind, fits, words in _FORMS:
        if fits(value):
            if kind is SourceKind.NUMBER and has_start_time:
                return Source(number, name, SourceKind.RATE, f"{counted(value, 'second')} of rows", value)
            return Source(number, name, kind, words(value), value, _details(kind, value))
    return Source(number, name, SourceKind.CUSTOM, str(text), value)


def with_files(source: Source, entries: list[dict[str, Any]], log_number: int) -> Source:
    """Return a source of files with what its log tells: how many files it has read, and the newest."""
    newest = max(entries, key=lambda entry: whole_or(entry.get("timestamp"), 0), default=None)
    details = source.details | {"files": len(entries), "parts": log_number + 1}
    if newest is None:
        return Source(source.number, source.name, source.kind, f"{source.summary}, no file", source.offset, details)
    details |= {"newest": newest["path"], "newest_ms": whole_or(newest.get("timestamp"), 0)}
    summary = f"{counted(len(entries), 'file')} read, the newest {newest['path']}"
    return Source(source.number, source.name, source.kind, summary, source.offset, details)


def _is_kafka(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(partitions, dict)
            and all(is_number(number) and isinstance(offset, int) for number, offset in partitions.items())
            for partitions in value.values()
        )
    )


def _has(*fields: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(name in value for name in fields)


def _kafka_words(value: Any) -> str:
    topics = (
        f"topic {topic}: " + ", ".join(f"{number} at {partitions[number]:,}" for number in sorted(partitions, key=int))
        for topic, partitions in sorted(value.items())
    )
    return "; ".join(topics)


def _delta_words(value: Any) -> str:
    return f"version {value.get('reservoirVersion')} of table {value.get('reservoirId')}, file {value.get('index')}"


def _iceberg_words(value: Any) -> str:
    return f"snapshot {value.get('snapshot_id')}, file {value.get('position')}"


def _details(kind: SourceKind, value: Any) -> dict[str, Any]:
    if kind is SourceKind.KAFKA:
        return {"topics": {topic: {int(number): at for number, at in parts.items()} for topic, parts in value.items()}}
    return {}


_FORMS: tuple[tuple[SourceKind, Callable[[Any], bool], Callable[[Any], str]], ...] = (
    (SourceKind.NOT_BEGUN, lambda value: value is None, lambda value: "not begun"),
    (SourceKind.FILES, _has("logOffset"), lambda value: f"part {value['logOffset']} of its log"),
    (
        SourceKind.RATE_MICRO_BATCH,
        lambda value: _has("offset", "timestamp")(value) and len(value) == 2,
        lambda value: f"row {value['offset']}, at {value['timestamp']} ms",
    ),
    (SourceKind.DELTA, _has("reservoirId", "reservoirVersion"), _delta_words),
    (SourceKind.ICEBERG, _has("snapshot_id", "position"), _iceberg_words),
    (
        SourceKind.KINESIS,
        lambda value: _has("metadata", "shards")(value) and isinstance(value["shards"], dict | list),
        lambda value: counted(len(value["shards"]), "shard"),
    ),
    (SourceKind.KAFKA, _is_kafka, _kafka_words),
    (SourceKind.NUMBER, lambda value: isinstance(value, int) and not isinstance(value, bool), lambda value: f"{value:,}"),
)
