"""Differences of two checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pitstop.doctor.facts import Checkpoint, Operator
from pitstop.kit.clock import iso

Difference = tuple[str, Any, Any]


def differences(first: Checkpoint, second: Checkpoint) -> list[Difference]:
    """Return (fact, its value in the first, its value in the second) for each fact that differs; None: one does not have it."""
    facts, others = dict(_facts(first)), dict(_facts(second))
    return [(name, facts.get(name), others.get(name)) for name in {**facts, **others} if facts.get(name) != others.get(name)]


def _facts(checkpoint: Checkpoint) -> Iterator[tuple[str, Any]]:
    logs = checkpoint.logs
    yield "query", checkpoint.query_id
    yield "written by", checkpoint.release
    yield "RocksDB", checkpoint.rocksdb
    yield "offset log", logs.offset_format
    yield "commit log", logs.commit_format
    yield "checkpoint format", checkpoint.checkpoint_format
    yield "planned epoch", logs.planned
    yield "committed epoch", logs.committed
    yield "watermark", iso(logs.watermark_ms / 1000) if logs.watermark_ms else None
    for source in checkpoint.sources:
        name = f"source {source.number if source.name is None else source.name}"
        yield f"{name}: kind", str(source.kind)
        yield f"{name}: offset", source.summary
    for operator in checkpoint.operators:
        yield from _operator(f"operator {operator.number}", operator)
    yield from sorted(checkpoint.settings.items())
    for code in sorted({finding.code for finding in checkpoint.findings}):
        yield f"finding {code}", "; ".join(finding.sentence for finding in checkpoint.findings if finding.code is code)


def _operator(name: str, operator: Operator) -> Iterator[tuple[str, Any]]:
    yield f"{name}: kind", str(operator.kind)
    yield f"{name}: store", operator.provider
    yield f"{name}: partitions", operator.expected_partitions
    yield f"{name}: version", operator.version
    yield f"{name}: bytes that a restart reads", operator.restart_bytes
    yield f"{name}: keys", operator.keys
    for family in operator.families:
        for role, columns in (("keys", family.keys), ("values", family.values)):
            text = ", ".join(f"{column.name} {column.type}" for column in columns)
            yield f"{name}: {role} of {family.name}", text
