"""Facts of a checkpoint, as its files tell them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pitstop.doctor.findings import Finding, Severity
from pitstop.doctor.schemas import ColumnFamily
from pitstop.doctor.sources import Source


class OperatorKind(StrEnum):
    """Kinds of stateful operators."""

    AGGREGATE = "aggregate"
    SESSION = "session window"
    DEDUPLICATE = "dropDuplicates"
    DEDUPLICATE_WITHIN = "dropDuplicatesWithinWatermark"
    JOIN = "stream-stream join"
    GROUP_STATE = "state of your own (mapGroupsWithState, applyInPandasWithState)"
    PROCESSOR = "processor (transformWithState)"
    LIMIT = "limit"
    UNKNOWN = "unknown"


KINDS = {
    "stateStoreSave": OperatorKind.AGGREGATE,
    "sessionWindowStateStoreSaveExec": OperatorKind.SESSION,
    "dedupe": OperatorKind.DEDUPLICATE,
    "dedupeWithinWatermark": OperatorKind.DEDUPLICATE_WITHIN,
    "symmetricHashJoin": OperatorKind.JOIN,
    "flatMapGroupsWithState": OperatorKind.GROUP_STATE,
    "applyInPandasWithState": OperatorKind.GROUP_STATE,
    "globalLimit": OperatorKind.LIMIT,
    "limit": OperatorKind.LIMIT,
}


def kind_of(spark_name: str) -> OperatorKind:
    """Return the kind of an operator by Spark's name for it."""
    if spark_name.startswith("transformWithState"):
        return OperatorKind.PROCESSOR
    return KINDS.get(spark_name, OperatorKind.UNKNOWN)


def spark_name_of(kind: OperatorKind) -> str:
    """Return Spark's name for an operator of a kind, for a checkpoint of Spark 3.5, which does not note it."""
    return next(name for name, each in KINDS.items() if each is kind)


@dataclass(frozen=True)
class Partition:
    """The state of an operator in one partition."""

    number: int
    restart_bytes: int
    """Bytes that a restart reads: snapshots, their tables, and changes since."""
    bytes: int
    """Bytes of all versions."""
    keys: int | None
    """Keys in its snapshots, as far as RocksDB counts them."""


@dataclass(frozen=True)
class Operator:
    """A stateful operator."""

    number: int
    kind: OperatorKind
    spark_name: str | None
    """Spark's name for it; None: Spark 3.5 writes none, and the kind is told by its stores and schemas."""
    stage: str | None
    """The stage of Pitstop's job that it belongs to."""
    metadata_format: int | None
    schema_format: int | None
    families: tuple[ColumnFamily, ...]
    """Keys and values; of a join those of the left side first; of a processor one for each variable."""
    stores: tuple[str, ...]
    provider: str | None
    partitions: tuple[Partition, ...]
    expected_partitions: int
    version: int | None
    """The version that a restart reads."""
    snapshot_version: int | None
    """The version of the oldest snapshot that a restart of it reads in a partition; None: some partition has none."""
    replayed: int
    """Files with changes that a restart reads in the partition with most of them."""
    properties: dict[str, Any]

    @property
    def bytes(self) -> int:
        return sum(partition.bytes for partition in self.partitions)

    @property
    def restart_bytes(self) -> int:
        return sum(partition.restart_bytes for partition in self.partitions)

    @property
    def keys(self) -> int | None:
        """Keys in the newest snapshots; None if they are not counted."""
        numbers = [partition.keys for partition in self.partitions if partition.keys is not None]
        return sum(numbers) if numbers and len(numbers) == len(self.partitions) else None

    @property
    def skew(self) -> float | None:
        """The size of the largest partition in means; None without state."""
        sizes = [partition.restart_bytes for partition in self.partitions]
        return max(sizes) * len(sizes) / sum(sizes) if sizes and sum(sizes) else None


@dataclass(frozen=True)
class Logs:
    """The logs of epochs."""

    planned: int | None
    committed: int | None
    oldest_planned: int | None
    oldest_committed: int | None
    planned_ms: int | None
    """The clock of the last planned epoch, in ms since the Unix epoch."""
    first_planned_ms: int | None
    committed_at: float | None
    """The time of the last commit, in seconds since the Unix epoch, as the file system tells it."""
    watermark_ms: int | None
    """The watermark with which the next epoch runs; 0: none."""
    offset_format: int | None
    commit_format: int | None


@dataclass(frozen=True)
class Checkpoint:
    """Everything that the files of a checkpoint tell."""

    address: str
    query_id: str | None
    release: str
    """The releases of Spark that can have written it, in words."""
    rocksdb: str | None
    job: str | None
    """The job of Pitstop that it belongs to."""
    logs: Logs
    checkpoint_format: int
    sources: tuple[Source, ...]
    operators: tuple[Operator, ...]
    settings: dict[str, str]
    files: int
    bytes: int
    findings: tuple[Finding, ...]

    @property
    def is_damaged(self) -> bool:
        return any(finding.severity is Severity.DAMAGE for finding in self.findings)
