"""What the brain needs of the world: small protocols that engines implement."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, Protocol, TypeVar

from pitstop.errors import Problem
from pitstop.model.cluster import Member, MemberState
from pitstop.model.job import Job, JobState, KeptVersion, Progress, Version
from pitstop.model.job_event import JobEvent
from pitstop.model.operation import Operation, Request, Result
from pitstop.model.run import Command, Observation, Order
from pitstop.model.sample import Sample
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import Compilation, Compile, ExportState, ImportState, QueryState, Rehearse, StateRows

T = TypeVar("T")
RunHandle = NewType("RunHandle", str)
"""Names the process of a run for as long as it is recorded; only the launcher that made it can read it."""

CONTROL = "control"
"""The control plane's name in :class:`Wake`; a run's is the id of its job."""


PROGRESS = "progress"
"""In :class:`Wake`, who shows how jobs get on: a run has reported its progress."""

CHANGED = "changed"
"""In :class:`Wake`, the control planes that do not lead: the one that does has decided something."""


class Waiter(Protocol):
    """One who can be woken."""

    def wait(self, seconds: float) -> bool:
        """Sleep until woken, at most ``seconds``; True if woken. Several wakes count as one."""
        ...

    def close(self) -> None:
        """Wait no more."""
        ...


class Wake(Protocol):
    """Tells processes that there is something new in the store. A wake carries no data and may get lost: who waits
    looks now and then anyway."""

    def wake(self, name: str) -> None:
        """Wake who waits under that name; nothing happens if nobody does. Never blocks, never fails."""
        ...

    def waiter(self, name: str) -> Waiter:
        """Be the one who is woken under that name, in the place of whoever was before."""
        ...


class Leadership(Protocol):
    """Which of the control planes of one store leads: the one whose lease has not ended. Raises StoreError as every read."""

    def take(self, seconds: float) -> int | None:
        """Lead for so long, if nobody does; the number of this lead, higher than all before, or None."""
        ...

    def renew(self, epoch: int, seconds: float) -> bool:
        """Lead for so long from now on; False if that lead is over."""
        ...

    def release(self, epoch: int) -> None:
        """Lead no more, so that another one can at once."""
        ...

    def leader(self) -> str | None:
        """The address of the control plane that leads; None if none does at this moment."""
        ...

    def end_all(self) -> None:
        """Let every control plane end that there is now."""
        ...

    def ends(self) -> int:
        """How often that has been asked for."""
        ...


class Outputs(Protocol):
    """What versions have written into files and maps that may be gone back from."""

    def withdraw(self, job_id: str, operation: int) -> tuple[int, int]:
        """Take out again what the new version of that update has written; how many files, and entries of maps, that concerned.

        May be cut off and done again; nothing writes for that version any more.
        """
        ...

    def forget(self, find: Callable[[str], Job | None]) -> None:
        """Drop what is kept for updates that no job may go back from any more. ``find`` reads a job by its id."""
        ...


class Members(Protocol):
    """Who lends cores to jobs."""

    def list(self) -> list[Member]:
        """Those whose heart beats, in the order of their names."""
        ...


class Membership(Members, Protocol):
    """What a member does to be one."""

    def join(self, member: Member) -> None:
        """Be a member from now on; ConflictError if one of that name lives already."""
        ...

    def beat(self, member_id: str) -> MemberState | None:
        """Tell that it lives, and hear what it is to do; None if the cluster has taken it for dead: it joins again."""
        ...

    def ask_to_leave(self, name: str) -> None:
        """NotFoundError if there is no such member."""
        ...

    def leave(self, member_id: str) -> None:
        """Be a member no more."""
        ...


class Registry(Protocol):
    """Jobs, wishes, facts and snapshots in one relational store. Each method alone is one transaction."""

    def transaction(self) -> AbstractContextManager[object]:
        """What this thread writes within it happens wholly or not at all."""
        ...

    def add_job(self, job: Job) -> None:
        """Insert; raises ConflictError if its name belongs to an active job (jet.md §1.3 submit), or its id to any."""
        ...

    def get_job(self, job_id: str) -> Job | None: ...

    def find_jobs(self, name_or_id: str) -> list[Job]:
        """Jobs of that id or name: active first, then newest submission."""
        ...

    def overview(self, include_ended: bool = True, named: str | None = None) -> list[tuple[Job, Progress]]:
        """Jobs with their progress, newest first, or those of that name or id as ``find_jobs``; quick for thousands.

        What has not changed since the last call may be the same objects as then.
        """
        ...

    def overview_of(self, names: Collection[str]) -> dict[str, tuple[Job, Progress]]:
        """The first of ``overview(named=...)`` for each of these names or ids, of those that there are; quick for hundreds."""
        ...

    def states(self, job_ids: Collection[str]) -> dict[str, JobState]:
        """The states of those of these jobs that there are; quick for thousands."""
        ...

    def unanswered(self, operations: Collection[int]) -> set[int]:
        """Those of these operations that are waiting or being carried out; quick for thousands."""
        ...

    def jobs(self, include_ended: bool = True) -> list[Job]:
        """All that this release can read, the newest first."""
        ...

    def unreadable_jobs(self) -> list[str]:
        """The ids of jobs that a later release has recorded, or versions of them: nothing of theirs may be removed."""
        ...

    def save_job(self, job: Job) -> None:
        """Write every field of an existing job but its progress; ConflictError if it is active and another one has its name."""
        ...

    def add_event(self, job_id: str, event: JobEvent) -> None:
        """Record what has happened to a job as its next event; so many of the newest are kept as a setting says.

        Within the transaction that saves the job: what is read here is then the whole way to the state that is read there.
        """
        ...

    def events(self, job_id: str, after: int, limit: int) -> list[JobEvent]:
        """At most ``limit`` events of a job with sequence > ``after``, oldest first."""
        ...

    def put_version(self, job_id: str, version: Version, now: float) -> None:
        """Record a version that the job has from ``now`` on, or what has become known of it since.

        One that was gone back from is overwritten by the next one, which has its number. So many of the newest are kept as a
        setting says.
        """
        ...

    def versions(self, job_id: str) -> list[KeptVersion]:
        """The versions that a job has and had, the newest first."""
        ...

    def version_artifacts(self) -> list[tuple[str, int, str]]:
        """Job, number and path of the artifact of all versions that are kept, each job's newest first; quick for thousands."""
        ...

    def samples(self, job_id: str, step: int, after: float) -> list[Sample]:
        """How a job did: samples ``step`` seconds apart (one of STEPS), later than a time, oldest first."""
        ...

    def newest_events(self, job_ids: Collection[str]) -> dict[str, int]:
        """The sequence of the last event of those of these jobs that there are, 0 before the first; quick for thousands."""
        ...

    def delete_ended(self, keep: int, older_than: float) -> list[str]:
        """Forget ended jobs but the ``keep`` that ended last, and those that ended before a time; returns their ids."""
        ...

    def prune(self, answered_before: float) -> None:
        """Forget operations that were answered before a time, and commands and leases of runs before each job's last two; and
        of events, versions and samples what is more than the settings say.

        A job that goes on for years is never forgotten with what belongs to it. Space that is free then is given back.
        """
        ...

    def progress(self, job_id: str) -> Progress: ...

    def add_operation(self, job_id: str, request: Request) -> Operation: ...

    def get_operation(self, operation_id: int) -> Operation | None: ...

    def pending_operations(self) -> list[Operation]:
        """Oldest first."""
        ...

    def open_operations(self, job_id: str) -> list[Operation]:
        """Pending and running ones of a job, oldest first."""
        ...

    def recent_operations(self, seconds: float, most: int) -> list[Operation]:
        """Those that are not answered, and those that were in the last so many seconds, of these the newest ``most``; by id.

        Quick, however many others there are.
        """
        ...

    def start_operation(self, operation_id: int) -> None:
        """Mark a pending one as running."""
        ...

    def finish_operation(self, operation_id: int, error: Problem | None = None, result: Result | None = None) -> None:
        """Answer an open one: FAILED if there is an error, else DONE. One that is answered already stays as it is."""
        ...

    def add_command(self, job_id: str, token: int, order: Order) -> Command: ...

    def take_observations(self) -> list[Observation]:
        """Unconsumed facts, oldest first; they stay until :meth:`consume`."""
        ...

    def consume(self, observation_id: int) -> None: ...

    def add_snapshot(self, record: SnapshotRecord) -> None:
        """Insert or replace by name."""
        ...

    def get_snapshot(self, name: str) -> SnapshotRecord | None: ...

    def snapshots(self) -> list[SnapshotRecord]:
        """Sorted by name."""
        ...

    def delete_snapshot(self, name: str) -> bool: ...

    def check_writable(self) -> None:
        """Raise StoreError if nothing can be written now; waits for the writers before it, as every write does."""
        ...

    def lease_left(self, job_id: str, token: int) -> float | None:
        """Seconds until the lease of that run ends, by the clock that it was given by; None if it never took one."""
        ...

    def handle_of(self, job_id: str, token: int) -> RunHandle | None:
        """The handle with which the run has claimed its job; None if it never did."""
        ...


class RunnerLink(Protocol):
    """What one run needs of the store. Every call but ``claim`` raises FencedError once the run has lost its job."""

    def claim(self, job_id: str, token: int, handle: RunHandle, lease_seconds: float) -> Job:
        """Take the lease of the run and read its job; FencedError if a higher token exists, or another process has the run."""
        ...

    def renew(self, lease_seconds: float) -> None: ...

    def commands(self, after: int) -> list[Command]:
        """Commands for this run with id > ``after``, oldest first."""
        ...

    def observe(self, observation: Observation) -> None:
        """Record a fact and wake the control plane."""
        ...

    def report(self, progress: Progress) -> None: ...

    def check(self) -> None:
        """Return if this run still owns its job; raise FencedError if not."""
        ...

    def held(self) -> AbstractContextManager[int | None]:
        """Within it no other run can take the job: checking and what is done then are one step. Others wait: be short.

        Gives the update whose new version's writes may have to be withdrawn (model.job.Job.withdrawable).
        """
        ...

    def get_snapshot(self, name: str) -> SnapshotRecord | None: ...

    def progress(self) -> Progress:
        """What the runs before this one had reported."""
        ...


class Ownership(Protocol):
    """What a run asks about its job while it writes an epoch. While the store is away, every call waits until it is back."""

    def check(self) -> None:
        """Return if the run still has its job; raise FencedError if not."""
        ...

    def held(self) -> AbstractContextManager[int | None]:
        """As RunnerLink.held: for what a run that has lost its job must not write. FencedError if it has."""
        ...

    def patiently(self, work: Callable[[], T]) -> T:
        """Do what needs the store, again and again until it is there; ``work`` has changed nothing if it raises StoreError."""
        ...


class NoOtherRun:
    """Ownership of a job that only this process knows."""

    def check(self) -> None:
        """Nobody can have taken it."""

    def held(self) -> AbstractContextManager[int | None]:
        return nullcontext()

    def patiently(self, work: Callable[[], T]) -> T:
        return work()


@dataclass(frozen=True)
class RunSpec:
    """Which run to start."""

    job_id: str
    token: int
    standby: str | None = None
    """The process that has made itself ready for this run; another one takes it if that is gone."""
    job_name: str | None = None
    """What the lines of its log say."""


class Launcher(Protocol):
    """Starts and ends runner processes; they survive the control plane that started them."""

    def start(self, spec: RunSpec) -> None:
        """Start a run (in a warm spare process if there is one); returns at once."""
        ...

    def start_failed(self, job_id: str, token: int) -> bool:
        """True if the process that was started for this run has ended. False if it lives or nothing is known of it."""
        ...

    def prepare(self) -> None:
        """Called while no run is being started: make ready for the next ones."""
        ...

    def alive(self, run: RunHandle) -> bool | None:
        """False once its process has ended; None if that cannot be seen from here, but only by its lease."""
        ...

    def kill(self, run: RunHandle) -> None:
        """End it at once, with all it has started, also where it is gone itself and what it started is not."""
        ...

    def watch(self, run: RunHandle) -> None:
        """Wake the control loop when that process ends."""
        ...


class Started(StrEnum):
    """How far a member is with a run that it was given."""

    ASKED = "asked"
    BEGUN = "begun"
    """Its process has been started."""
    FAILED = "failed"
    """Its process could not be started, or has ended, whether or not it had claimed its job."""


class Assignments(Protocol):
    """Which member is to start which run, and which processes of other machines are to be ended. StoreError as every write."""

    def assign(self, spec: RunSpec, member_id: str) -> None:
        """Let a member start a run; earlier runs of the job are forgotten."""
        ...

    def of_run(self, job_id: str, token: int) -> tuple[str, Started] | None:
        """The member that has been given a run, and how far it is; None if none has."""
        ...

    def runs_of(self, member_id: str) -> list[tuple[RunSpec, Started]]:
        """What a member has been given, of the jobs that have that run still."""
        ...

    def tell(self, job_id: str, token: int, state: Started) -> None: ...

    def load(self) -> dict[str, int]:
        """Member id -> how many runs it has, of the jobs that have that run still."""
        ...

    def ask_to_kill(self, run: RunHandle) -> None:
        """Let a member of that machine end it."""
        ...

    def to_kill(self) -> list[RunHandle]: ...

    def killed(self, run: RunHandle) -> None: ...


class Standby(Protocol):
    """A warm runner that is held back, and makes itself ready for one version of a job."""

    @property
    def id(self) -> str: ...

    def compile(self, task: Compile) -> Compilation:
        """Compile the version and keep it compiled; raises what is wrong with the version."""
        ...

    def rehearse(self, task: Rehearse) -> None:
        """Start the compiled version once from a copy of a checkpoint; raises what kept it from starting."""
        ...


class Workers(Protocol):
    """Processes that do one task each, and warm runners that can be held back for an update. Errors are PitstopError."""

    def compile(self, task: Compile) -> Compilation: ...

    def query_state(self, task: QueryState) -> StateRows: ...

    def export_state(self, task: ExportState) -> None: ...

    def import_state(self, task: ImportState) -> SnapshotRecord: ...

    def hold(self, seconds: float) -> Standby | None:
        """A warm runner that nothing else is given to; None if none is ready within so many seconds."""
        ...

    def release(self, standby: str) -> None:
        """End a held one, unless it has been given its run."""
        ...
