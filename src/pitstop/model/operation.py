"""Wishes and facts: operations that users ask for, commands to a runner, observations it makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verb(StrEnum):
    """What can be asked of a job."""

    SUBMIT = "submit"
    SUSPEND = "suspend"
    RESUME = "resume"
    RESTART = "restart"
    CANCEL = "cancel"
    EXPORT = "export"
    CANCEL_AND_EXPORT = "cancel_and_export"
    UPDATE = "update"


class OperationState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    """Dispatched; a fact will end it."""
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Operation:
    """One wish, written before anything is done about it, and how it ended."""

    id: int
    job_id: str
    verb: Verb
    args: dict[str, Any] = field(default_factory=dict)
    state: OperationState = OperationState.PENDING
    error: dict[str, Any] | None = None
    """The travelling form of a PitstopError."""
    result: dict[str, Any] | None = None
    created: float = 0.0
    finished: float | None = None


class CommandKind(StrEnum):
    """What the control plane tells a runner. Both are repeatable: told twice, done once."""

    STOP = "stop"
    """End at the next epoch boundary; with ``snapshot``, export under that name after the last epoch."""
    EXPORT = "export"
    """Export a snapshot of the last committed epoch and go on."""


@dataclass(frozen=True)
class Command:
    id: int
    job_id: str
    token: int
    """Which run it is for; a runner with another token ignores it."""
    kind: CommandKind
    args: dict[str, Any] = field(default_factory=dict)
    """STOP: ``{snapshot: name?, operation: id?}``; EXPORT: ``{snapshot: name, operation: id}``."""


class ObservationKind(StrEnum):
    """What a runner, or the launcher that watches it, has seen happen."""

    COMPILED = "compiled"
    """``{plan, lineage, report?}``: the pipeline is compiled and fits the state it starts from."""
    RUNNING = "running"
    """``{epoch, committed_at?}``: the query is up (first epoch done, or idle and waiting)."""
    EPOCH = "epoch"
    """``{epoch}``: progress was made; sent with the first committed epoch of a run."""
    EXPORTED = "exported"
    """``{operation, snapshot: SnapshotRecord as dict}``"""
    EXPORT_FAILED = "export_failed"
    """``{operation, error}``; the job goes on."""
    STOPPED = "stopped"
    """``{epoch, committed_at?, snapshot?: record, operation?, error?}``: ended at an epoch boundary, as commanded."""
    COMPLETED = "completed"
    """All sources are bounded and at their end."""
    FAILED = "failed"
    """``{error, details, restartable}``: the query or the pipeline failed."""
    DIED = "died"
    """``{reason}``: the process is gone or its lease has run out."""


@dataclass(frozen=True)
class Observation:
    """A fact, never edited. ``token`` tells which run it is about: facts of older runs are ignored."""

    job_id: str
    token: int
    kind: ObservationKind
    payload: dict[str, Any] = field(default_factory=dict)
    id: int = 0
    at: float = 0.0
