"""The options of a job as type checkers and editors know them. ``model.config`` says what each one means, and reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from pitstop.kit.durations import Duration
from pitstop.model.config import Execution, ProcessingGuarantee, StateStore


class CommonOptions(TypedDict, total=False):
    """The options that may be given in each place."""

    processing_guarantee: ProcessingGuarantee | Literal["none", "at_least_once", "exactly_once"] | None
    snapshot_interval: Duration | None
    snapshot_interval_ms: int | None
    max_latency: Duration | None
    max_latency_ms: int | None
    metrics_enabled: bool | None
    max_ahead: Duration | Literal["unlimited"] | None
    require_snapshot_before_processing: bool | None
    auto_scaling: bool | None
    partitions: int | None
    state_store: StateStore | Literal["auto", "memory", "rocksdb"] | None
    renamed: dict[str, str] | str | None


Place = str | datetime | Mapping[str, Mapping[int, int]]
"""A place of a source: a word or a time, or offsets by topic and partition."""


class RunOptions(CommonOptions, total=False):
    """The options that a run in this process carries out: those of ``ps.run``."""

    allow_drop: bool | str | Sequence[str] | None
    seek: Mapping[str, Place] | str | None


class CodeOptions(CommonOptions, total=False):
    """The options that a job's code may ask for: those of ``@ps.job``."""

    initial_snapshot: str | None
    suspend_on_failure: bool | None
    timeout: Duration | None
    timeout_ms: int | None
    store_metrics_after_completion: bool | None
    max_accumulated_records: int | Literal["none"] | None
    split_brain_protection: bool | None
    compile_timeout: Duration | None
    first_epoch_timeout: Duration | None
    epoch_timeout: Duration | None
    restart: str | Mapping[str, Any] | None
    allow_shared: bool | None
    engine: str | None
    weight: int | None
    execution: Execution | Literal["epochs", "realtime"] | None
    spark: dict[str, Any] | None


class JobOptions(CodeOptions, total=False):
    """All options: those that a job may be submitted, updated or configured with."""

    requirements: Sequence[str] | str | None
    allow_drop: bool | str | Sequence[str] | None
    seek: Mapping[str, Place] | str | None
