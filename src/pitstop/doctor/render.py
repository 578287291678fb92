"""A checkpoint in words: sections of lines and tables for people, and plain data for programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pitstop.doctor.changes import ChangeAnswer
from pitstop.doctor.facts import Checkpoint, Operator
from pitstop.doctor.findings import Severity
from pitstop.doctor.schemas import Column, ColumnFamily
from pitstop.kit.clock import iso
from pitstop.kit.counts import counted

PAGE = "docs/doctor.md"


@dataclass(frozen=True)
class Section:
    """A part of the report: a title, lines, and a table."""

    title: str
    lines: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()


def verdict(checkpoint: Checkpoint) -> str:
    """Return the state of health in one sentence."""
    numbers = {severity: sum(each.severity is severity for each in checkpoint.findings) for severity in Severity}
    if numbers[Severity.DAMAGE]:
        damage = counted(numbers[Severity.DAMAGE], "finding")
        return f"Damaged: {damage} on files that a restart needs."
    if numbers[Severity.WARNING]:
        return f"A restart has all it needs; {counted(numbers[Severity.WARNING], 'warning')}."
    return "Well: a restart has all it needs."


def sections(checkpoint: Checkpoint, answers: Iterable[ChangeAnswer]) -> list[Section]:
    """Return the report for people."""
    parts = [Section(f"Checkpoint {checkpoint.address}", tuple(_summary(checkpoint)))]
    rows = tuple((each.number, each.name, str(each.kind), each.summary) for each in checkpoint.sources)
    if rows:
        parts.append(Section("Sources", (), ("SOURCE", "NAME", "KIND", "OFFSET"), rows))
    if checkpoint.operators:
        parts.append(_operators(checkpoint))
        parts += [Section(f"State of operator {each.number}", tuple(_state(each))) for each in checkpoint.operators]
    parts.append(Section("Findings", tuple(_findings(checkpoint))))
    parts.append(Section("What you may change", tuple(line for each in answers for line in _answer(each))))
    if checkpoint.settings:
        pinned = tuple(sorted(checkpoint.settings.items()))
        lines = ("A start takes these from the checkpoint, whatever the session sets.",)
        parts.append(Section("Settings in the checkpoint", lines, ("SETTING", "VALUE"), pinned))
    return parts


def as_data(checkpoint: Checkpoint, answers: Iterable[ChangeAnswer]) -> dict[str, Any]:
    """Return the report for programs."""
    data = asdict(checkpoint)
    for fields, operator in zip(data["operators"], checkpoint.operators, strict=True):
        fields |= {"bytes": operator.bytes, "restart_bytes": operator.restart_bytes, "keys": operator.keys, "skew": operator.skew}
    return {
        "verdict": verdict(checkpoint),
        "is_damaged": checkpoint.is_damaged,
        **data,
        "changes": [asdict(each) for each in answers],
    }


def _summary(checkpoint: Checkpoint) -> Iterable[str]:
    logs = checkpoint.logs
    rocksdb = f", RocksDB {checkpoint.rocksdb}" if checkpoint.rocksdb else ""
    schemas = sorted({each.schema_format for each in checkpoint.operators if each.schema_format is not None})
    formats = [
        f"offset log {logs.offset_format or '-'}",
        f"commit log {logs.commit_format or '-'}",
        f"checkpoint {checkpoint.checkpoint_format}",
        *(f"state schema {number}" for number in schemas),
    ]
    facts = [
        ("Query", checkpoint.query_id or "-"),
        *([("Job", f"'{checkpoint.job}' of Pitstop")] if checkpoint.job else []),
        ("Written by", f"Spark {checkpoint.release}{rocksdb}"),
        ("Formats", ", ".join(formats)),
        ("Planned", _epoch(logs.planned, _moment(logs.planned_ms))),
        ("Committed", _epoch(logs.committed, iso(logs.committed_at))),
        ("Logs from", "-" if logs.oldest_planned is None else f"epoch {logs.oldest_planned}, {_moment(logs.first_planned_ms)}"),
        ("Watermark", _moment(logs.watermark_ms) if logs.watermark_ms else "none"),
        ("Size", f"{counted(checkpoint.files, 'file')}, {checkpoint.bytes:,} bytes"),
        ("Health", verdict(checkpoint)),
    ]
    for name, value in facts:
        yield f"{name + ':':<12}{value}"


def _epoch(number: int | None, moment: str | None) -> str:
    return "none" if number is None else f"epoch {number}, {moment or '-'}"


def _operators(checkpoint: Checkpoint) -> Section:
    headers: tuple[str, ...] = (
        "OPERATOR",
        "STAGE",
        "KIND",
        "STORE",
        "PARTITIONS",
        "BYTES",
        "READ BY A RESTART",
        "KEYS",
        "REPLAYED",
        "SKEW",
    )
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (
            each.number,
            each.stage,
            str(each.kind) if each.spark_name is None or each.kind.name != "UNKNOWN" else each.spark_name,
            each.provider,
            each.expected_partitions,
            each.bytes,
            each.restart_bytes,
            each.keys,
            each.replayed,
            None if each.skew is None else f"{each.skew:.1f}",
        )
        for each in checkpoint.operators
    )
    if not any(row[1] for row in rows):
        headers, rows = headers[:1] + headers[2:], tuple(row[:1] + row[2:] for row in rows)
    return Section("Stateful operators", (), headers, rows)


def _state(operator: Operator) -> Iterable[str]:
    base = "from the first change on" if operator.snapshot_version is None else f"from snapshot {operator.snapshot_version} on"
    yield f"A restart reads version {operator.version}, {base}."
    for family in operator.families:
        yield from _family(family, len(operator.families) > 1)
    if not operator.families:
        yield "Its schema is missing or cannot be read."
    sizes = sorted(operator.partitions, key=lambda partition: -partition.restart_bytes)
    if sizes:
        largest = ", ".join(f"{partition.number}: {partition.restart_bytes:,}" for partition in sizes[:5])
        yield f"Bytes that a restart reads, by partition, the largest first: {largest}{', ...' if len(sizes) > 5 else ''}"


def _family(family: ColumnFamily, has_name: bool) -> Iterable[str]:
    name = f"{family.name}: " if has_name else ""
    yield f"{name}keys {_columns(family.keys)}; values {_columns(family.values) or 'none'}"


def _columns(columns: tuple[Column, ...]) -> str:
    return ", ".join(
        f"{column.name} {column.type}"
        + ("" if column.watermark_delay_ms is None else f" (watermark delay {column.watermark_delay_ms / 1000:g} s)")
        for column in columns
        if column.name != "__dummy__"
    )


def _findings(checkpoint: Checkpoint) -> Iterable[str]:
    if not checkpoint.findings:
        yield "None."
    for finding in checkpoint.findings:
        yield f"{finding.severity:<8} {finding.code}: {finding.sentence}"
        if finding.advice:
            yield f"{'':<8} {finding.advice}"
    if checkpoint.findings:
        yield f"{PAGE} has a section for each code."


def _answer(answer: ChangeAnswer) -> Iterable[str]:
    yield f"{answer.change}: {answer.verdict}"
    yield f"    Spark: {answer.spark}"
    yield f"    Pitstop: {answer.pitstop}"


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else iso(milliseconds / 1000)
