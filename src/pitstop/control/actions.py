"""What the machine wants done. Each action may be done twice without harm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pitstop.model.operation import CommandKind, OperationState


@dataclass(frozen=True)
class StartRun:
    """Start the run of the job's present token."""


@dataclass(frozen=True)
class SendCommand:
    """Tell the present run something; its facts will answer."""

    kind: CommandKind
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class KillRun:
    """End the process of a run at once."""

    token: int


@dataclass(frozen=True)
class Finish:
    """Answer an operation."""

    operation: int
    state: OperationState
    error: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


@dataclass(frozen=True)
class FailExports:
    """Answer exports that can no longer happen (jet.md SN7)."""


@dataclass(frozen=True)
class RegisterSnapshot:
    """Make an exported snapshot known by its name; replaces the record of that name (jet.md §2.1)."""

    record: dict[str, Any]


@dataclass(frozen=True)
class ExportSuspended:
    """Copy the last good state of a job that is not running."""

    operation: int
    snapshot: str


@dataclass(frozen=True)
class CleanUp:
    """Remove what only a job that may run again needs: its checkpoints."""


@dataclass(frozen=True)
class DropCheckpoint:
    """Remove one checkpoint of a job that goes on with another."""

    lineage: str


Action = StartRun | SendCommand | KillRun | Finish | FailExports | RegisterSnapshot | ExportSuspended | CleanUp | DropCheckpoint
