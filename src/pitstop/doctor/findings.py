"""Findings: statements about the health of a checkpoint. docs/doctor.md has a section for each code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The weight of a finding."""

    DAMAGE = "damage"
    """A restart fails, or continues with less than was saved."""
    WARNING = "warning"
    """A restart succeeds. Something is not as it should be, or will become a problem."""
    NOTE = "note"
    """Good to know; a restart is not concerned."""


class Code(StrEnum):
    """Kinds of findings."""

    METADATA_MISSING = "metadata-missing"
    METADATA_UNREADABLE = "metadata-unreadable"
    OFFSETS_MISSING = "offsets-missing"
    OFFSETS_UNREADABLE = "offsets-unreadable"
    OFFSETS_AHEAD = "offsets-ahead"
    COMMIT_UNREADABLE = "commit-unreadable"
    COMMITS_AHEAD = "commits-ahead"
    LATER_FORMAT = "later-format"
    SOURCE_LOG_MISSING = "source-log-missing"
    SOURCE_LOG_UNREADABLE = "source-log-unreadable"
    OPERATOR_UNREADABLE = "operator-unreadable"
    OPERATOR_MISSING = "operator-missing"
    SCHEMA_UNREADABLE = "schema-unreadable"
    SCHEMA_MISSING = "schema-missing"
    PARTITION_MISSING = "partition-missing"
    STATE_MISSING = "state-missing"
    STATE_UNREADABLE = "state-unreadable"
    SNAPSHOT_UNREADABLE = "snapshot-unreadable"
    NO_EPOCH = "no-epoch"
    EPOCH_UNFINISHED = "epoch-unfinished"
    LOG_GAP = "log-gap"
    SPARSE_LOGS = "sparse-logs"
    SOURCES_DIFFER = "sources-differ"
    SETTINGS_DIFFER = "settings-differ"
    WATERMARK_WENT_BACK = "watermark-went-back"
    WATERMARK_AHEAD = "watermark-ahead"
    WATERMARK_STANDS = "watermark-stands"
    STATE_WRITTEN_TWICE = "state-written-twice"
    LONG_REPLAY = "long-replay"
    NO_SNAPSHOT = "no-snapshot"
    SKEW = "skew"
    STATE_NEVER_ENDS = "state-never-ends"
    STATE_GROWS = "state-grows"
    PARTITIONS_DIFFER = "partitions-differ"
    FOREIGN_PATHS = "foreign-paths"
    PATH_UNREADABLE = "path-unreadable"
    OLD_DAMAGE = "old-damage"
    TEMPORARY_FILES = "temporary-files"
    OLDER_EPOCHS = "older-epochs"
    CHECKED_IN_PART = "checked-in-part"


@dataclass(frozen=True)
class Finding:
    """One statement: a code, its weight, a sentence, and the files that it is about."""

    code: Code
    severity: Severity
    sentence: str
    files: tuple[str, ...] = ()
    operator: int | None = None
    advice: str = ""
    """A sentence: what to do."""
    more_files: int = 0
    """Files beyond the hundred that are named."""
