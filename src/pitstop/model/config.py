"""The options of a job: read, checked, put over one another."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit import durations


class ProcessingGuarantee(StrEnum):
    """What a restart promises (jet.md §1.4)."""

    NONE = "none"
    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class StateStore(StrEnum):
    """Where a job's state lives while it runs; checkpoints and snapshots hold all of it either way."""

    ROCKSDB = "rocksdb"
    """On the runner's disk: as large as that, and of every kind."""
    MEMORY = "memory"
    """In the runner's heap: faster, for state that fits, of windows, sessions, rolling aggregates and state of one's own."""


@dataclass(frozen=True)
class JobConfig:
    """The options of a job (jet.md §1.4, S004)."""

    processing_guarantee: ProcessingGuarantee = ProcessingGuarantee.NONE
    snapshot_interval_ms: int = 10_000
    """Two recovery points (epochs) are never further apart than this."""
    suspend_on_failure: bool = False
    """On an error: SUSPENDED with its cause, instead of FAILED."""
    initial_snapshot: str | None = None
    partitions: int | None = None
    """Shuffle partitions of the query; None lets the engine take the number of cores."""
    state_store: StateStore = StateStore.ROCKSDB
    """A job that resumes saved state in the same form goes on in the store that it was saved from."""
    spark: dict[str, str] = field(default_factory=dict)
    """Further Spark SQL settings of this job's session, for experts; not those that saved state depends on."""
    renamed: dict[str, str] = field(default_factory=dict)
    """New name -> old name of stages whose state in ``initial_snapshot`` goes on under another name."""

    @classmethod
    def from_options(cls, options: dict[str, Any], base: JobConfig | None = None) -> JobConfig:
        """Build from user-written options, over ``base``; raises UsageError naming the wrong one.

        Accepted: processing_guarantee, snapshot_interval (text or seconds), snapshot_interval_ms,
        suspend_on_failure, initial_snapshot, partitions, state_store, spark, renamed (a mapping, or ``new=old,...``).
        None values are left out, so that a command line never overwrites what code has set with nothing (jet.md §5).
        """
        changes: dict[str, Any] = {}
        for key, value in options.items():
            if value is None:
                continue
            if key == "processing_guarantee":
                changes[key] = _guarantee(value)
            elif key == "snapshot_interval":
                changes["snapshot_interval_ms"] = durations.milliseconds(value, "snapshot_interval")
            elif key == "snapshot_interval_ms":
                changes[key] = _whole(key, value, least=0)
            elif key == "suspend_on_failure":
                changes[key] = _boolean(key, value)
            elif key == "initial_snapshot":
                changes[key] = str(value)
            elif key == "partitions":
                changes[key] = _whole(key, value, least=1)
            elif key == "state_store":
                changes[key] = _state_store(value)
            elif key == "spark":
                changes[key] = _spark_settings(value)
            elif key == "renamed":
                changes[key] = renamed_stages(value)
            else:
                raise UsageError(f"Unknown job option: {key}. There are: {', '.join(sorted(_OPTIONS))}.")
        return dataclasses.replace(base or cls(), **changes)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {
            "processing_guarantee": self.processing_guarantee.value,
            "state_store": self.state_store.value,
        }


_OPTIONS = (
    "processing_guarantee", "snapshot_interval", "suspend_on_failure", "initial_snapshot", "partitions", "state_store", "spark",
    "renamed",
)  # fmt: skip


_ENGINES_OWN = {
    "spark.sql.shuffle.partitions": "use the option partitions",
    "spark.sql.streaming.stateStore.providerClass": "use the option state_store",
} | dict.fromkeys(
    (
        "spark.sql.exchange.reuse",
        "spark.sql.optimizer.excludedRules",
        "spark.sql.streaming.join.stateFormatVersion",
        "spark.sql.streaming.offsetLog.formatVersion",
        "spark.sql.streaming.stateStore.encodingFormat",
        "spark.sql.streaming.unsupportedOperationCheck",
    ),
    "leave it out",
)
"""Spark settings that saved state and its results depend on (spark/base/session.py), and what to do instead."""


def _spark_settings(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise UsageError("The job option 'spark' is a mapping of Spark settings to values.")
    for key in value:
        if str(key) in _ENGINES_OWN:
            raise UsageError(f"The Spark setting {key} is the engine's own, state depends on it: {_ENGINES_OWN[str(key)]}.")
    return {str(k): str(v) for k, v in value.items()}


def renamed_stages(value: Any) -> dict[str, str]:
    """New name -> old name, from a mapping or from ``new=old,new=old``; UsageError if it is neither."""
    if isinstance(value, dict):
        return {str(new): str(old) for new, old in value.items()}
    found = {}
    for pair in filter(None, str(value).split(",")):
        new, equals, old = (part.strip() for part in pair.partition("="))
        if not (new and equals and old):
            raise UsageError(f"A renamed stage is told as new=old, not '{pair}'.")
        found[new] = old
    return found


def _guarantee(value: Any) -> ProcessingGuarantee:
    words = {"atleastonce": "at_least_once", "exactlyonce": "exactly_once"}
    text = str(value).strip().lower().replace("-", "_")
    try:
        return ProcessingGuarantee(words.get(text.replace("_", ""), text))
    except ValueError:
        raise UsageError(
            f"Unsupported value for processing_guarantee: {value}. Use none, at_least_once or exactly_once."
        ) from None


def _state_store(value: Any) -> StateStore:
    try:
        return StateStore(str(value).strip().lower())
    except ValueError:
        raise UsageError(f"Unsupported value for state_store: {value}. Use {' or '.join(StateStore)}.") from None


def _whole(key: str, value: Any, least: int) -> int:
    try:
        number = int(str(value))
    except ValueError:
        raise UsageError(f"Invalid number for {key}: {value}") from None
    if number < least:
        raise UsageError(f"{key} can't be {'negative' if number < 0 else f'less than {least}'}: {value}")
    return number


def _boolean(key: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise UsageError(f"Invalid value for {key}: {value}. Use true or false.")
    return text == "true"
