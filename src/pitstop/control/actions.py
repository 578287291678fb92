"""What a decision wants done. Each action may be done twice without harm."""

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
    """It starts a checkpoint of its own, so it need not wait until the processes of the run before are gone."""


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
    """Answer an operation: with an error if there is one, else well."""

    operation: int
    error: Problem | None = None
    result: Result | None = None


@dataclass(frozen=True)
class Ask:
    """Ask something of the job itself, as if a user had."""

    request: Request


@dataclass(frozen=True)
class FailExports:
    """Answer exports that can no longer happen (jet.md SN7)."""


@dataclass(frozen=True)
class RegisterSnapshot:
    """Make an exported snapshot known by its name; replaces the record of that name (jet.md §2.1)."""

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
    """Remove what only a job that may run again needs: its checkpoints. CleanedUp answers."""


@dataclass(frozen=True)
class DropCheckpoint:
    """Remove one checkpoint of a job that goes on with another."""

    lineage: str


@dataclass(frozen=True)
class DropSnapshot:
    """Remove a snapshot by which state has only gone over to other members."""

    snapshot: str


@dataclass(frozen=True)
class Withdraw:
    """Take what the version of a rolled back update has written out of files and maps. Withdrawn answers."""

    operation: int


StoreAction = Finish | Ask | FailExports | RegisterSnapshot | DropSnapshot | SendCommand
"""Done in the transaction that records the decision."""
WorldAction = StartRun | KillRun | ExportSuspended | PrepareUpdate | CleanUp | DropCheckpoint | Withdraw
"""Done after it, off the loop's thread: what it touches may be slow, or away."""
Action = StoreAction | WorldAction
