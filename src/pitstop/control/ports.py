"""The protocols through which the control plane reaches the world. Engines implement them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, Protocol, TypeVar

from pitstop.errors import Problem
from pitstop.model.adoption import Adoption
from pitstop.model.cluster import Member, MemberState
from pitstop.model.job import Job, JobState, KeptVersion, Progress, Version
from pitstop.model.job_event import JobEvent
from pitstop.model.operation import Operation, Request, Result
from pitstop.model.run import Command, Observation, Order
from pitstop.model.sample import Sample
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import Adopt, Compilation, Compile, ExportState, ImportState, QueryState, Rehearse, StateRows

T = TypeVar("T")
RunHandle = NewType("RunHandle", str)
"""The name of a run's process for as long as the process is recorded. Only the launcher that made it can read it."""

CONTROL = "control"
"""The control plane's name in :class:`Wake`; a run's is the id of its job."""


PROGRESS = "progress"
"""The name in :class:`Wake` of those who show how jobs get on. It is woken when a run has reported its progress."""

CHANGED = "changed"
"""The name in :class:`Wake` of the control planes that do not lead. It is woken when the leader has decided something."""


class Waiter(Protocol):
    """A sleeper that can be woken."""

    def wait(self, seconds: float) -> bool:
        """Sleep until woken, at most ``seconds``; return True if woken. Several wakes count as one."""
        ...

    def close(self) -> None:
        """Stop waiting."""
        ...


class Wake(Protocol):
    """Tells processes that there is something new in the store. A wake carries no data and may get lost: a waiting process
    looks now and then anyway."""

    def wake(self, name: str) -> None:
        """Wake the waiter of that name; do nothing if there is none. Never blocks, never fails."""
        ...

    def waiter(self, name: str) -> Waiter:
        """Return the waiter of that name, which replaces any earlier one."""
        ...


class Leadership(Protocol):
    """The lead of the control planes of one store: the one whose lease has not ended has it. Raises StoreError as every read."""

    def take(self, seconds: float) -> int | None:
        """Take the lead for ``seconds`` if nobody has it. Return the number of this lead, higher than all before, or None."""
        ...

    def renew(self, epoch: int, seconds: float) -> bool:
        """Keep the lead for ``seconds`` from now on; return False if that lead is over."""
        ...

    def release(self, epoch: int) -> None:
        """Give up the lead, so that another control plane can take it at once."""
        ...

    def leader(self) -> str | None:
        """Return the address of the control plane that leads; None if none does at this moment."""
        ...

    def end_all(self) -> None:
        """Ask every control plane that exists now to end."""
        ...

    def ends(self) -> int:
        """Return the number of times that ``end_all`` has been called."""
        ...


class Outputs(Protocol):
    """The output that versions of jobs have written into files and maps, as long as their jobs may go back from them."""

    def withdraw(self, job_id: str, operation: int) -> tuple[int, int]:
        """Remove what the new version of that update has written. Return the numbers of files and of map entries concerned.

        The call may be cut off and repeated; nothing writes for that version any more.
        """
        ...

    def forget(self, find: Callable[[str], Job | None]) -> None:
        """Drop what is kept for updates that no job can go back from any more. ``find`` reads a job by its id."""
        ...


class Members(Protocol):
    """The members that lend cores to jobs."""

    def list(self) -> list[Member]:
        """Return the members whose heart beats, in the order of their names."""
        ...


class Membership(Members, Protocol):
    """The calls by which a process joins a cluster, stays in it and leaves it."""

    def join(self, member: Member) -> None:
        """Join as a member; ConflictError if a member of that name lives already."""
        ...

    def beat(self, member_id: str) -> MemberState | None:
        """Report that the member lives; return what it is to do, or None if the cluster took it for dead: it joins again."""
        ...

    def ask_to_leave(self, name: str) -> None:
        """Ask the member of that name to leave; NotFoundError if there is none."""
        ...

    def leave(self, member_id: str) -> None:
        """End the membership of a member."""
        ...


class Registry(Protocol):
    """Jobs, requests, facts and snapshots in one relational store. Each method alone is one transaction."""

    def transaction(self) -> AbstractContextManager[object]:
        """Return a context in which all that this thread writes happens wholly or not at all."""
        ...

    def add_job(self, job: Job) -> None:
        """Insert a job; ConflictError if its name belongs to an active job, or its id to any."""
        ...

    def get_job(self, job_id: str) -> Job | None: ...

    def find_jobs(self, name_or_id: str) -> list[Job]:
        """Return the jobs of that id or name: active ones first, then the newest submissions."""
        ...

    def overview(self, include_ended: bool = True, named: str | None = None) -> list[tuple[Job, Progress]]:
        """Return jobs with their progress, newest first, or those of that name or id as ``find_jobs``; quick for thousands.

        Jobs that have not changed since the last call may be the same objects as then.
        """
        ...

    def overview_of(self, names: Collection[str]) -> dict[str, tuple[Job, Progress]]:
        """Return the first of ``overview(named=...)`` for each of these names or ids that exists; quick for hundreds."""
        ...

    def states(self, job_ids: Collection[str]) -> dict[str, JobState]:
        """Return the states of these jobs, without the jobs that do not exist; quick for thousands."""
        ...

    def unanswered(self, operations: Collection[int]) -> set[int]:
        """Return the ids, out of these, of operations that wait or are being carried out; quick for thousands."""
        ...

    def jobs(self, include_ended: bool = True) -> list[Job]:
        """Return all jobs that this release can read, the newest first."""
        ...

    def unreadable_jobs(self) -> list[str]:
        """Return the ids of jobs of which a later release has recorded anything. Nothing of theirs may be removed."""
        ...

    def save_job(self, job: Job) -> None:
        """Write every field of an existing job but its progress; ConflictError if it is active and another one has its name."""
        ...

    def add_event(self, job_id: str, event: JobEvent) -> None:
        """Record what has happened to a job as its next event. A setting says how many of the newest events are kept.

        Call it within the transaction that saves the job: the events then always lead up to the state that is saved.
        """
        ...

    def events(self, job_id: str, after: int, limit: int) -> list[JobEvent]:
        """Return at most ``limit`` events of a job with sequence > ``after``, oldest first."""
        ...

    def put_version(self, job_id: str, version: Version, now: float) -> None:
        """Record a version that the job has from ``now`` on, or what has become known of it since.

        After the job has gone back from a version, the next one has the same number, and overwrites it. A setting says how
        many of the newest versions are kept.
        """
        ...

    def versions(self, job_id: str) -> list[KeptVersion]:
        """Return the versions that a job has and had, the newest first."""
        ...

    def version_artifacts(self) -> list[tuple[str, int, str]]:
        """Return job, number and artifact path of each version that is kept, each job's newest first; quick for thousands."""
        ...

    def samples(self, job_id: str, step: int, after: float) -> list[Sample]:
        """Return the samples of a job that are ``step`` seconds apart (one of STEPS) and later than ``after``, oldest first."""
        ...

    def newest_events(self, job_ids: Collection[str]) -> dict[str, int]:
        """Return the sequence of the last event of each of these jobs that exists, 0 before the first; quick for thousands."""
        ...

    def delete_ended(self, keep: int, older_than: float) -> list[str]:
        """Forget all ended jobs but the ``keep`` last ones, and all that ended before ``older_than``; return their ids."""
        ...

    def prune(self, answered_before: float) -> None:
        """Forget operations that were answered before a time, and commands and leases of all but each job's last two runs.

        Also forget the events, versions and samples beyond what the settings keep: a job that goes on for years is never
        forgotten with what belongs to it. The space that becomes free is given back.
        """
        ...

    def progress(self, job_id: str) -> Progress: ...

    def add_operation(self, job_id: str, request: Request) -> Operation: ...

    def get_operation(self, operation_id: int) -> Operation | None: ...

    def pending_operations(self) -> list[Operation]:
        """Return the pending operations, oldest first."""
        ...

    def open_operations(self, job_id: str) -> list[Operation]:
        """Return the pending and running operations of a job, oldest first."""
        ...

    def recent_operations(self, seconds: float, most: int) -> list[Operation]:
        """Return the open operations, and the newest ``most`` of those that were answered in the last ``seconds``; by id.

        Quick, however many other operations there are.
        """
        ...

    def start_operation(self, operation_id: int) -> None:
        """Mark a pending operation as running."""
        ...

    def finish_operation(self, operation_id: int, error: Problem | None = None, result: Result | None = None) -> None:
        """Answer an open operation: FAILED if there is an error, else DONE. An answered one stays as it is."""
        ...

    def add_command(self, job_id: str, token: int, order: Order) -> Command: ...

    def take_observations(self) -> list[Observation]:
        """Return the unconsumed facts, oldest first; they stay until :meth:`consume`."""
        ...

    def consume(self, observation_id: int) -> None: ...

    def add_snapshot(self, record: SnapshotRecord) -> None:
        """Insert a snapshot, or replace the one of that name."""
        ...

    def get_snapshot(self, name: str) -> SnapshotRecord | None: ...

    def snapshots(self) -> list[SnapshotRecord]:
        """Return all snapshots, sorted by name."""
        ...

    def delete_snapshot(self, name: str) -> bool: ...

    def check_writable(self) -> None:
        """Raise StoreError if nothing can be written now; waits for the writers before it, as every write does."""
        ...

    def lease_left(self, job_id: str, token: int) -> float | None:
        """Return the seconds until the lease of that run ends, by the clock that granted it; None if the run never took one."""
        ...

    def handle_of(self, job_id: str, token: int) -> RunHandle | None:
        """Return the handle with which the run has claimed its job; None if it never did."""
        ...


class RunnerLink(Protocol):
    """The access of one run to the store. Every call but ``claim`` raises FencedError once the run has lost its job."""

    def claim(self, job_id: str, token: int, handle: RunHandle, lease_seconds: float) -> Job:
        """Take the lease of the run and read its job; FencedError if a higher token exists, or another process has the run."""
        ...

    def renew(self, lease_seconds: float) -> None: ...

    def commands(self, after: int) -> list[Command]:
        """Return the commands for this run with id > ``after``, oldest first."""
        ...

    def observe(self, observation: Observation) -> None:
        """Record a fact and wake the control plane."""
        ...

    def report(self, progress: Progress) -> None: ...

    def check(self) -> None:
        """Return if this run still owns its job; raise FencedError if not."""
        ...

    def held(self) -> AbstractContextManager[int | None]:
        """Return a context in which no other run can take the job, so that check and write are one step. Others wait: be short.

        The context gives the update whose new version's writes may have to be withdrawn (model.job.Job.withdrawable).
        """
        ...

    def get_snapshot(self, name: str) -> SnapshotRecord | None: ...

    def progress(self) -> Progress:
        """Return the progress that the runs before this one had reported."""
        ...


class Ownership(Protocol):
    """A run's claim to its job while the run writes an epoch. While the store is away, every call waits until it is back."""

    def check(self) -> None:
        """Return if the run still has its job; raise FencedError if not."""
        ...

    def held(self) -> AbstractContextManager[int | None]:
        """Return a context as RunnerLink.held, for writes that only the job's owner may make; FencedError if the job is lost."""
        ...

    def patiently(self, work: Callable[[], T]) -> T:
        """Repeat ``work`` until the store is there, and return its result. If it raises StoreError it has changed nothing."""
        ...


class NoOtherRun:
    """The ownership of a job that only this process knows."""

    def check(self) -> None:
        """Do nothing: no other run can have taken the job."""

    def held(self) -> AbstractContextManager[int | None]:
        return nullcontext()

    def patiently(self, work: Callable[[], T]) -> T:
        return work()


@dataclass(frozen=True)
class RunSpec:
    """A run that is to be started."""

    job_id: str
    token: int
    standby: str | None = None
    """The process that has made itself ready for this run; if it is gone, another one takes the run."""
    job_name: str | None = None
    """The job's name as the lines of the run's log give it."""
    engine: str | None = None
    """The engine in which it is to run (option engine); None: the server's usual one."""


class Launcher(Protocol):
    """Starts and ends runner processes; they survive the control plane that started them."""

    def start(self, spec: RunSpec) -> None:
        """Start a run, in a warm spare process if there is one; return at once."""
        ...

    def start_failed(self, job_id: str, token: int) -> bool:
        """Return True if the process that was started for this run has ended; False if it lives or is not known."""
        ...

    def prepare(self) -> None:
        """Get ready for the next runs. Called while no run is being started."""
        ...

    def alive(self, run: RunHandle) -> bool | None:
        """Return False once the run's process has ended; None if that can only be told by its lease, and not from here."""
        ...

    def kill(self, run: RunHandle) -> None:
        """End a run's process at once, with all that it has started, even if the process itself is gone already."""
        ...

    def watch(self, run: RunHandle) -> None:
        """Wake the control loop when the run's process ends."""
        ...


class Started(StrEnum):
    """The progress of a member with a run that was assigned to it."""

    ASKED = "asked"
    BEGUN = "begun"
    """The run's process has been started."""
    FAILED = "failed"
    """The run's process could not be started, or has ended, before or after it had claimed its job."""


class Assignments(Protocol):
    """The runs that each member is to start, and the processes that it is to end. Raises StoreError as every write."""

    def assign(self, spec: RunSpec, member_id: str) -> None:
        """Assign a run to a member, which starts it; earlier runs of the job are forgotten."""
        ...

    def of_run(self, job_id: str, token: int) -> tuple[str, Started] | None:
        """Return the member that a run is assigned to, and how far it is; None if the run is assigned to none."""
        ...

    def runs_of(self, member_id: str) -> list[tuple[RunSpec, Started]]:
        """Return the runs that are assigned to a member and are still the present runs of their jobs."""
        ...

    def tell(self, job_id: str, token: int, state: Started) -> None: ...

    def load(self) -> dict[str, int]:
        """Return member id -> the number of its runs that are still the present runs of their jobs."""
        ...

    def ask_to_kill(self, run: RunHandle) -> None:
        """Ask a member on the run's machine to end its process."""
        ...

    def to_kill(self) -> list[RunHandle]: ...

    def killed(self, run: RunHandle) -> None: ...


class Standby(Protocol):
    """A warm runner that is held back and gets ready for one version of a job."""

    @property
    def id(self) -> str: ...

    def compile(self, task: Compile) -> Compilation:
        """Compile the version and keep it compiled; raise the error of a faulty version."""
        ...

    def rehearse(self, task: Rehearse) -> None:
        """Start the compiled version once from a copy of a checkpoint; raise the error that keeps it from starting."""
        ...


class Workers(Protocol):
    """Processes that do one task each, and warm runners that can be held back for an update. Errors are PitstopError."""

    def compile(self, task: Compile) -> Compilation: ...

    def query_state(self, task: QueryState) -> StateRows: ...

    def export_state(self, task: ExportState) -> None: ...

    def import_state(self, task: ImportState) -> SnapshotRecord: ...

    def adopt(self, task: Adopt) -> Adoption: ...

    def hold(self, seconds: float) -> Standby | None:
        """Reserve a warm runner and return it; None if none is ready within ``seconds``."""
        ...

    def release(self, standby: str) -> None:
        """End a held runner, unless it has been given its run."""
        ...
