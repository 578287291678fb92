"""The port of the store: jobs, requests, facts and snapshots."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Protocol

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import Problem
from pitstop.model.job import Job, JobState, KeptVersion, Progress, Version
from pitstop.model.job_event import JobEvent
from pitstop.model.operation import Operation, Request, Result
from pitstop.model.run import Command, Observation, Order
from pitstop.model.sample import Sample
from pitstop.model.snapshot import SnapshotRecord


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
