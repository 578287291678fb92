"""Operations: the requests of users about a job, written down before anything is done, and their outcome."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, get_args

from pitstop.errors import Problem, UsageError
from pitstop.kit.ids import check_name
from pitstop.model.config import JobConfig, StateStore
from pitstop.model.job import JobSource
from pitstop.model.report import Report
from pitstop.model.snapshot import SnapshotRecord

Answer = TypeVar("Answer")


class Verb(StrEnum):
    """The name of a request, in the store and in messages."""

    SUBMIT = "submit"
    SUSPEND = "suspend"
    RESUME = "resume"
    RESTART = "restart"
    CANCEL = "cancel"
    EXPORT = "export"
    CANCEL_AND_EXPORT = "cancel_and_export"
    UPDATE = "update"
    CONFIGURE = "configure"
    DISCARD = "discard"
    ROLLBACK = "rollback"
    RESCALE = "rescale"


class UserRequest(Generic[Answer]):
    """A request about an existing job that every door passes on as it is. Its type parameter is the type of its answer."""

    verb: ClassVar[Verb]
    repeatable: ClassVar[bool] = False
    """True if a second request changes nothing: a client that has lost the answer may ask again."""

    def checked(self) -> Self:
        """Return the request as it is stored. UsageError if it cannot be right, whatever the job."""
        return self


class PlainRequest(UserRequest[None]):
    """A request that needs nothing but the job. Each has a route of its verb's name, and is made without arguments."""


@dataclass(frozen=True)
class Submit:
    """Start a job that has just been recorded."""

    verb: ClassVar = Verb.SUBMIT


@dataclass(frozen=True)
class Suspend(PlainRequest):
    """Stop at an epoch boundary and keep the state."""

    verb: ClassVar[Verb] = Verb.SUSPEND
    because: str | None = None
    """The reason for which the control plane asks for it itself; None if a user does."""


@dataclass(frozen=True)
class Resume(PlainRequest):
    """Go on from the kept state: a suspended job, or one that has failed or was cancelled."""

    verb: ClassVar[Verb] = Verb.RESUME
    repeatable: ClassVar[bool] = True


@dataclass(frozen=True)
class Restart(PlainRequest):
    """Stop at an epoch boundary and start again from there."""

    verb: ClassVar[Verb] = Verb.RESTART
    because: str | None = None
    """The reason for which the control plane asks for it itself; None if a user does."""


@dataclass(frozen=True)
class Cancel(PlainRequest):
    """End at once, without a snapshot."""

    verb: ClassVar[Verb] = Verb.CANCEL
    repeatable: ClassVar[bool] = True


@dataclass(frozen=True)
class Export(UserRequest[SnapshotRecord]):
    """Save the state under a name; the job goes on, or stays suspended."""

    verb: ClassVar[Verb] = Verb.EXPORT
    snapshot: str

    def checked(self) -> Self:
        check_name("snapshot", self.snapshot)
        return self


@dataclass(frozen=True)
class CancelAndExport(UserRequest[SnapshotRecord]):
    """Stop at an epoch boundary, save the state under a name, and end."""

    verb: ClassVar[Verb] = Verb.CANCEL_AND_EXPORT
    snapshot: str

    def checked(self) -> Self:
        check_name("snapshot", self.snapshot)
        return self


class StateAtStart(StrEnum):
    """The state from which an earlier version starts when a job goes back to it."""

    PRESENT = "present"
    """The state that the job has now. It is refused if that has not all of the version's stages and sources."""
    SNAPSHOT = "snapshot"
    """The latest snapshot that was taken of that version: what came since is read again."""
    EMPTY = "empty"
    """The state that the job has now. What it has not starts empty, and is read from its beginning."""


@dataclass(frozen=True)
class GoingBack:
    """An update to an earlier version of the job."""

    version: int
    """Its number."""
    start: StateAtStart = StateAtStart.PRESENT
    write_again: bool = False
    """Rows may be written into sinks that have them already."""
    allow_drop: tuple[str, ...] = ()
    """Of the present state, where the version starts from its own snapshot: that has nothing to drop."""


@dataclass(frozen=True)
class UpdateJob:
    """Put a new version in the place of the one that runs, or is suspended."""

    verb: ClassVar = Verb.UPDATE
    source: JobSource
    options: dict[str, Any]
    """All options of the new version, as written by users."""
    snapshot: str
    """The name under which the old version's state is saved, and from which the new one starts."""
    watch_seconds: float = 0.0
    """Seconds after its start in which a failure of the new version still brings back the old one."""
    back: GoingBack | None = None
    """The earlier version that it is; None if it is a new one."""
    start_from: str | None = None
    """The name of another snapshot from which the new version starts."""


@dataclass(frozen=True)
class Configure(UserRequest[None]):
    """Change options of a suspended job, without a new version."""

    verb: ClassVar[Verb] = Verb.CONFIGURE
    options: dict[str, Any]
    """The options that change, as written by users."""

    def checked(self) -> Self:
        changes = {name: value for name, value in self.options.items() if value is not None}
        if not changes:
            raise UsageError("Name the options that are to change, as key=value.")
        JobConfig.refuse_fixed(changes)
        return replace(self, options=changes)


@dataclass(frozen=True)
class Rollback(PlainRequest):
    """Go back to the version before: while the new one is made ready, starts or is watched, or waits for its job's resume."""

    verb: ClassVar[Verb] = Verb.ROLLBACK


@dataclass(frozen=True)
class Discard(PlainRequest):
    """Remove the state that an ended job keeps; it cannot be brought back after that."""

    verb: ClassVar[Verb] = Verb.DISCARD


@dataclass(frozen=True)
class Rescale:
    """Plan the job anew: for the members that there are now, or for a state that has outgrown the memory.

    The control plane asks for it itself.
    """

    verb: ClassVar = Verb.RESCALE
    snapshot: str
    """The name under which the state goes over; it is removed afterwards."""
    state_store: StateStore | None = None
    """The place of the state from then on; None: where it is."""


def rescaling_snapshot(job_id: str) -> str:
    """The name under which a job's state goes over to other members, or to disk."""
    return f"rescaling-{job_id}"


Request = (
    Submit | Suspend | Resume | Restart | Cancel | Export | CancelAndExport | UpdateJob | Configure | Rollback | Discard | Rescale
)
REQUESTS: dict[Verb, type[Request]] = {kind.verb: kind for kind in get_args(Request)}
PLAIN_REQUESTS = tuple(cast(type[PlainRequest], kind) for kind in REQUESTS.values() if issubclass(kind, PlainRequest))
"""The kinds of requests that need nothing but the job, in the order of :data:`Request`."""


def snapshot_of(request: Request) -> str | None:
    """The name of the snapshot that a request makes, if it makes one."""
    return request.snapshot if isinstance(request, Export | CancelAndExport | UpdateJob | Rescale) else None


def moves_state(request: Request) -> bool:
    """True for one by which a state that has outgrown the memory goes to disk: its job may hold still until it is there."""
    return isinstance(request, Rescale) and request.state_store is not None


@dataclass(frozen=True)
class Updated:
    """The outcome of an update."""

    version: int
    snapshot: str
    gap_seconds: float | None
    """From the old version's last commit to the new one's first; None if the job was suspended."""
    report: Report | None = None
    """The fate of each stage; None in operations of releases that did not keep it."""


Result = SnapshotRecord | Updated
RESULTS: dict[Verb, type[Result]] = {
    Verb.EXPORT: SnapshotRecord,
    Verb.CANCEL_AND_EXPORT: SnapshotRecord,
    Verb.UPDATE: Updated,
}
"""The type of a request's answer; the other requests have no answer."""


class OperationState(StrEnum):
    """The phase of an operation between its request and its answer."""

    PENDING = "pending"
    RUNNING = "running"
    """Begun; a fact will end it."""
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Operation:
    """One request, written before anything is done about it, and how it ended."""

    id: int
    job_id: str
    request: Request
    state: OperationState = OperationState.PENDING
    error: Problem | None = None
    """The error by which it failed."""
    result: Result | None = None
    created: float = 0.0
    """Seconds since the epoch, as is ``finished``."""
    finished: float | None = None

    @property
    def verb(self) -> Verb:
        return self.request.verb
