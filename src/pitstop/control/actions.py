"""The actions that a decision asks for. Each action may be done twice without harm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar

from pitstop.errors import Problem
from pitstop.model.operation import Request, Result
from pitstop.model.run import Order
from pitstop.model.snapshot import SnapshotRecord


class StoreAction:
    """An action that is done in the transaction that records the decision."""


class Retry(Enum):
    """Rules for trying a failed action again."""

    WHILE_ASKED = auto()
    """As long as the job is in the state, and has the token, for which the action was decided."""
    UNTIL_DONE = auto()
    """Whatever has become of the job."""
    NEVER = auto()
    """Housekeeping makes up for it."""


class WorldAction:
    """An action that is done after that transaction, off the loop's thread: what it touches may be slow, or away."""

    retry: ClassVar[Retry] = Retry.WHILE_ASKED

    def lanes(self, job_id: str) -> tuple[str, ...]:
        """Return the lanes that the action waits in, one after another. It is done in the last one."""
        return (job_id,)


Action = StoreAction | WorldAction


@dataclass(frozen=True)
class StartRun(WorldAction):
    """Start the run of the job's present token."""

    standby: str | None = None
    """The warm runner that has made itself ready for it."""
    own_checkpoint: bool = False
    """True if the run starts its own checkpoint, so that it need not wait until the processes of the previous run are gone."""


@dataclass(frozen=True)
class SendCommand(StoreAction):
    """Tell the present run something; its facts will answer."""

    order: Order


@dataclass(frozen=True)
class KillRun(WorldAction):
    """End the process of a run at once."""

    retry: ClassVar[Retry] = Retry.UNTIL_DONE

    token: int


@dataclass(frozen=True)
class Finish(StoreAction):
    """Answer an operation: with the error if there is one, else with success."""

    operation: int
    error: Problem | None = None
    result: Result | None = None


@dataclass(frozen=True)
class Ask(StoreAction):
    """Ask something of the job itself, as if a user had."""

    request: Request


@dataclass(frozen=True)
class FailExports(StoreAction):
    """Answer exports that can no longer happen."""


@dataclass(frozen=True)
class RegisterSnapshot(StoreAction):
    """Make an exported snapshot known by its name; it replaces the record of that name."""

    record: SnapshotRecord


@dataclass(frozen=True)
class ExportSuspended(WorldAction):
    """Copy the last good state of a job that is not running; Exported or ExportFailed answers."""

    operation: int
    snapshot: str


@dataclass(frozen=True)
class PrepareUpdate(WorldAction):
    """Compile, compare and rehearse a new version while the old one goes on; UpdatePrepared or PreparationFailed answers."""

    operation: int
    moves_state: bool = False
    """True if it is the same version, with its state on disk."""

    def lanes(self, job_id: str) -> tuple[str, ...]:
        return (f"{job_id} update",)  # nothing else of the job waits until a new version is ready


@dataclass(frozen=True)
class CleanUp(WorldAction):
    """Remove the checkpoints of a job, which it needs only if it runs again. CleanedUp answers."""

    retry: ClassVar[Retry] = Retry.UNTIL_DONE


@dataclass(frozen=True)
class DropCheckpoint(WorldAction):
    """Remove one checkpoint of a job that goes on with another."""

    retry: ClassVar[Retry] = Retry.UNTIL_DONE

    lineage: str

    def lanes(self, job_id: str) -> tuple[str, ...]:
        # After earlier actions, such as the end of the run that uses the checkpoint; and nothing waits for it.
        return job_id, f"{job_id} drop"


@dataclass(frozen=True)
class DropSnapshot(StoreAction):
    """Remove a snapshot that was only taken to move state to other members."""

    snapshot: str


@dataclass(frozen=True)
class Withdraw(WorldAction):
    """Remove from files and maps what the version of a rolled back update has written. Withdrawn answers."""

    retry: ClassVar[Retry] = Retry.UNTIL_DONE

    operation: int


@dataclass(frozen=True)
class ReleaseStandby(WorldAction):
    """End the warm runner that waited for an update, unless it has got its run."""

    retry: ClassVar[Retry] = Retry.UNTIL_DONE

    standby: str

    def lanes(self, job_id: str) -> tuple[str, ...]:
        return (f"standby {self.standby}",)


@dataclass(frozen=True)
class RemoveReplaced(WorldAction):
    """Remove the files of the snapshot that a new one of its name has replaced, unless a run may be reading them."""

    retry: ClassVar[Retry] = Retry.NEVER

    record: SnapshotRecord

    def lanes(self, job_id: str) -> tuple[str, ...]:
        return (f"snapshot {self.record.name}",)


@dataclass(frozen=True)
class RemoveSnapshot(WorldAction):
    """Remove the files of a snapshot that the store does not know any more."""

    retry: ClassVar[Retry] = Retry.NEVER

    snapshot: str

    def lanes(self, job_id: str) -> tuple[str, ...]:
        return (f"snapshot {self.snapshot}",)
