"""The actions that a decision asks for. Each action may be done twice without harm."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.errors import Problem
from pitstop.model.operation import Request, Result
from pitstop.model.run import Order
from pitstop.model.snapshot import SnapshotRecord


@dataclass(frozen=True)
class StartRun:
    """Start the run of the job's present token."""

    standby: str | None = None
    """The warm runner that has made itself ready for it."""
    own_checkpoint: bool = False
    """True if the run starts its own checkpoint, so that it need not wait until the processes of the previous run are gone."""


@dataclass(frozen=True)
class SendCommand:
    """Tell the present run something; its facts will answer."""

    order: Order


@dataclass(frozen=True)
class KillRun:
    """End the process of a run at once."""

    token: int


@dataclass(frozen=True)
class Finish:
    """Answer an operation: with the error if there is one, else with success."""

    operation: int
    error: Problem | None = None
    result: Result | None = None


@dataclass(frozen=True)
class Ask:
    """Ask something of the job itself, as if a user had."""

    request: Request


@dataclass(frozen=True)
class FailExports:
    """Answer exports that can no longer happen."""


@dataclass(frozen=True)
class RegisterSnapshot:
    """Make an exported snapshot known by its name; it replaces the record of that name."""

    record: SnapshotRecord


@dataclass(frozen=True)
class ExportSuspended:
    """Copy the last good state of a job that is not running; Exported or ExportFailed answers."""

    operation: int
    snapshot: str


@dataclass(frozen=True)
class PrepareUpdate:
    """Compile, compare and rehearse a new version while the old one goes on; UpdatePrepared or PreparationFailed answers."""

    operation: int
    moves_state: bool = False
    """True if it is the same version, with its state on disk."""


@dataclass(frozen=True)
class CleanUp:
    """Remove the checkpoints of a job, which it needs only if it runs again. CleanedUp answers."""


@dataclass(frozen=True)
class DropCheckpoint:
    """Remove one checkpoint of a job that goes on with another."""

    lineage: str


@dataclass(frozen=True)
class DropSnapshot:
    """Remove a snapshot that was only taken to move state to other members."""

    snapshot: str


@dataclass(frozen=True)
class Withdraw:
    """Remove from files and maps what the version of a rolled back update has written. Withdrawn answers."""

    operation: int


StoreAction = Finish | Ask | FailExports | RegisterSnapshot | DropSnapshot | SendCommand
"""Actions that are done in the transaction that records the decision."""
WorldAction = StartRun | KillRun | ExportSuspended | PrepareUpdate | CleanUp | DropCheckpoint | Withdraw
"""Actions that are done after that transaction, off the loop's thread: what they touch may be slow, or away."""
Action = StoreAction | WorldAction
