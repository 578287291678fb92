"""A registry in memory, and the runners' link to it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pitstop.control.ports.launcher import RunHandle
from pitstop.control.ports.wake import CONTROL, PROGRESS, Wake
from pitstop.control.trying import id_taken, name_taken
from pitstop.errors import FencedError, NotFoundError, Problem
from pitstop.kit.clock import Clock, SystemClock
from pitstop.model.job import Job, JobState, KeptVersion, Progress, Version
from pitstop.model.job_event import JobEvent
from pitstop.model.operation import Operation, OperationState, Request, Result
from pitstop.model.retention import USUAL, Retention
from pitstop.model.run import Command, Observation, Order
from pitstop.model.sample import STEPS, Sample
from pitstop.model.snapshot import SnapshotRecord

K = TypeVar("K")
V = TypeVar("V")
_OPEN = (OperationState.PENDING, OperationState.RUNNING)
Run = tuple[str, int]
"""A run: job id and token."""


@dataclasses.dataclass(frozen=True)
class Lease:
    """The lease of a process on a run, with its end (seconds since the epoch)."""

    handle: RunHandle
    expires: float


class MemoryRegistry:
    """A control.ports.registry.Registry in dicts. Values go in and out as they are: callers must not change them.

    A transaction keeps the values that it overwrites, and puts them back if it fails. One thread at a time is in a transaction.
    """

    def __init__(self, clock: Clock | None = None, retention: Retention = USUAL) -> None:
        self.clock, self._retention = clock or SystemClock(), retention
        self._lock = threading.RLock()
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        """(table, key, value before or None) of each write of the transaction under way."""
        self._depth = 0
        self._last_id = 0
        self._jobs: dict[str, Job] = {}
        self._progress: dict[str, Progress] = {}
        self._events: dict[str, tuple[JobEvent, ...]] = {}
        self._samples: dict[str, dict[tuple[int, int], Sample]] = {}
        self._versions: dict[str, dict[int, KeptVersion]] = {}
        self._operations: dict[int, Operation] = {}
        self._open: dict[int, Operation] = {}
        """The operations that are not answered."""
        self._commands: dict[Run, tuple[Command, ...]] = {}
        self._observations: dict[int, Observation] = {}
        self._snapshots: dict[str, SnapshotRecord] = {}
        self._leases: dict[Run, Lease] = {}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            begin, self._depth = len(self._undo), self._depth + 1
            try:
                yield
            except BaseException:
                self._roll_back(begin)
                raise
            finally:
                self._depth -= 1
                if not self._depth:
                    self._undo.clear()

    # jobs

    def add_job(self, job: Job) -> None:
        with self.transaction():
            if job.id in self._jobs:
                raise id_taken(job)
            self._check_name(job)
            self._put(self._jobs, job.id, job)

    def _check_name(self, job: Job) -> None:
        for other in self._jobs.values():
            if other.id != job.id and other.active and job.active and other.name is not None and other.name == job.name:
                raise name_taken(job, [other])

    def get_job(self, job_id: str) -> Job | None:
        with self._lock:
            return self._jobs.get(job_id)

    def find_jobs(self, name_or_id: str) -> list[Job]:
        jobs = [job for job in self.jobs() if name_or_id in (job.id, job.name)]
        return sorted(jobs, key=lambda job: (job.id != name_or_id, not job.active))

    def overview(self, include_ended: bool = True, named: str | None = None) -> list[tuple[Job, Progress]]:
        jobs = self.jobs(include_ended) if named is None else self.find_jobs(named)
        return [(job, self.progress(job.id)) for job in jobs]

    def overview_of(self, names: Collection[str]) -> dict[str, tuple[Job, Progress]]:
        return {name: entries[0] for name in names if (entries := self.overview(named=name))}

    def states(self, job_ids: Collection[str]) -> dict[str, JobState]:
        return {job.id: job.state for job in self.jobs() if job.id in job_ids}

    def unanswered(self, operations: Collection[int]) -> set[int]:
        with self._lock:
            return {number for number in operations if number in self._open}

    def jobs(self, include_ended: bool = True) -> list[Job]:
        with self._lock:
            jobs = [job for job in self._jobs.values() if include_ended or job.active]
        return sorted(jobs, key=lambda job: job.submission_time, reverse=True)

    def check_writable(self) -> None:
        """Do nothing: a dict always takes writes."""

    def unreadable_jobs(self) -> list[str]:
        return []

    def save_job(self, job: Job) -> None:
        with self.transaction():
            if job.id in self._jobs:
                self._check_name(job)
                self._put(self._jobs, job.id, job)

    def add_event(self, job_id: str, event: JobEvent) -> None:
        with self.transaction():
            before = self._events.get(job_id, ())
            number = before[-1].sequence + 1 if before else 1
            stored = (*before, dataclasses.replace(event, sequence=number))[-self._retention.events :]
            self._put(self._events, job_id, stored)

    def events(self, job_id: str, after: int, limit: int) -> list[JobEvent]:
        with self._lock:
            return [event for event in self._events.get(job_id, ()) if event.sequence > after][:limit]

    def newest_events(self, job_ids: Collection[str]) -> dict[str, int]:
        with self._lock:
            known_ids = [job_id for job_id in job_ids if job_id in self._jobs]
            return {job_id: self._events[job_id][-1].sequence if job_id in self._events else 0 for job_id in known_ids}

    def delete_ended(self, keep: int, older_than: float) -> list[str]:
        with self.transaction():
            ended = [job for job in self.jobs() if job.state.terminal]
            ended.sort(key=lambda job: job.completion_time or 0.0, reverse=True)
            removed_ids = [
                job.id for number, job in enumerate(ended) if number >= keep or (job.completion_time or 0.0) < older_than
            ]
            for job_id in removed_ids:
                self._drop(self._jobs, job_id)
                self._drop(self._progress, job_id)
                self._drop(self._samples, job_id)
                self._drop(self._versions, job_id)
                self._drop(self._events, job_id)
            for table in (self._operations, self._open):
                for number in [number for number, operation in table.items() if operation.job_id in removed_ids]:
                    self._drop(table, number)
            for run in [run for run in self._commands if run[0] in removed_ids]:
                self._drop(self._commands, run)
            for run in [run for run in self._leases if run[0] in removed_ids]:
                self._drop(self._leases, run)
            return removed_ids

    def prune(self, answered_before: float) -> None:
        with self.transaction():
            for number, operation in list(self._operations.items()):
                if operation.finished is not None and operation.finished < answered_before:
                    self._drop(self._operations, number)
            tables: tuple[dict[Run, Any], ...] = (self._commands, self._leases)
            for table in tables:
                for job_id, token in list(table):
                    job = self._jobs.get(job_id)
                    if job is not None and token < job.token - 1:
                        self._drop(table, (job_id, token))
            for job_id, events in list(self._events.items()):
                self._put(self._events, job_id, events[-self._retention.events :])
            for job_id, versions in list(self._versions.items()):
                oldest = max(versions, default=0) - self._retention.versions
                self._put(self._versions, job_id, {at: record for at, record in versions.items() if at > oldest})
            for job_id, samples in list(self._samples.items()):
                self._put(self._samples, job_id, self._new_enough(samples, self.clock.now()))

    def progress(self, job_id: str) -> Progress:
        with self._lock:
            return self._progress.get(job_id, Progress())

    def put_version(self, job_id: str, version: Version, now: float) -> None:
        with self.transaction():
            versions = dict(self._versions.get(job_id, {}))
            there = versions.get(version.number)
            since = there.since if there is not None and there.version.source == version.source else now
            versions[version.number] = KeptVersion(version, since)
            oldest = version.number - self._retention.versions
            self._put(self._versions, job_id, {at: record for at, record in versions.items() if at > oldest})

    def versions(self, job_id: str) -> list[KeptVersion]:
        with self._lock:
            versions = self._versions.get(job_id, {})
            return [versions[number] for number in sorted(versions, reverse=True)]

    def version_artifacts(self) -> list[tuple[str, int, str]]:
        with self._lock:
            of_jobs = sorted(self._versions.items())
            return [
                (job, number, of[number].version.source.artifact) for job, of in of_jobs for number in sorted(of, reverse=True)
            ]

    def samples(self, job_id: str, step: int, after: float) -> list[Sample]:
        with self._lock:
            samples = self._samples.get(job_id, {})
            return [samples[key] for key in sorted(samples) if key[0] == step and key[1] > after]

    def take_sample(self, job_id: str, token: int, progress: Progress) -> None:
        """Record what a progress says of the present second and minute, and forget what is too old."""
        with self.transaction():
            now, samples = self.clock.now(), dict(self._samples.get(job_id, {}))
            for step in STEPS:
                sample = Sample.of(progress, token, now, step)
                before = samples.get((step, sample.at))
                samples[step, sample.at] = sample if before is None else sample.after(before)
            self._put(self._samples, job_id, self._new_enough(samples, now))

    def set_progress(self, job_id: str, progress: Progress) -> None:
        with self.transaction():
            self._put(self._progress, job_id, progress)

    # operations and commands

    def add_operation(self, job_id: str, request: Request) -> Operation:
        with self.transaction():
            operation = Operation(self._next_id(), job_id, request, created=self.clock.now())
            self._put_operation(operation)
            return operation

    def get_operation(self, operation_id: int) -> Operation | None:
        with self._lock:
            return self._operations.get(operation_id)

    def pending_operations(self) -> list[Operation]:
        return [operation for operation in self._sorted(self._open) if operation.state is OperationState.PENDING]

    def open_operations(self, job_id: str) -> list[Operation]:
        return [operation for operation in self._sorted(self._open) if operation.job_id == job_id]

    def recent_operations(self, seconds: float, most: int) -> list[Operation]:
        since = self.clock.now() - seconds
        every = self._sorted(self._operations)
        answered = [operation for operation in every if operation.finished is not None and operation.finished >= since]
        newest = sorted(answered, key=lambda operation: operation.finished or 0.0, reverse=True)[:most]
        return sorted([*self._sorted(self._open), *newest], key=lambda operation: operation.id)

    def start_operation(self, operation_id: int) -> None:
        with self.transaction():
            operation = self._open.get(operation_id)
            if operation is not None and operation.state is OperationState.PENDING:
                self._put_operation(dataclasses.replace(operation, state=OperationState.RUNNING))

    def finish_operation(self, operation_id: int, error: Problem | None = None, result: Result | None = None) -> None:
        with self.transaction():
            operation = self._open.get(operation_id)
            if operation is not None:
                now, state = self.clock.now(), OperationState.DONE if error is None else OperationState.FAILED
                self._put_operation(dataclasses.replace(operation, state=state, error=error, result=result, finished=now))

    def add_command(self, job_id: str, token: int, order: Order) -> Command:
        with self.transaction():
            command, run = Command(self._next_id(), job_id, token, order), (job_id, token)
            self._put(self._commands, run, (*self._commands.get(run, ()), command))
            return command

    def commands(self, job_id: str, token: int) -> tuple[Command, ...]:
        """Return the commands that a run was given, oldest first."""
        with self._lock:
            return self._commands.get((job_id, token), ())

    # facts

    def add_observation(self, observation: Observation) -> None:
        with self.transaction():
            number = self._next_id()
            self._put(self._observations, number, dataclasses.replace(observation, id=number, at=self.clock.now()))

    def take_observations(self) -> list[Observation]:
        return self._sorted(self._observations)

    def consume(self, observation_id: int) -> None:
        with self.transaction():
            self._drop(self._observations, observation_id)

    # snapshots

    def add_snapshot(self, record: SnapshotRecord) -> None:
        with self.transaction():
            self._put(self._snapshots, record.name, record)

    def get_snapshot(self, name: str) -> SnapshotRecord | None:
        with self._lock:
            return self._snapshots.get(name)

    def snapshots(self) -> list[SnapshotRecord]:
        return self._sorted(self._snapshots)

    def delete_snapshot(self, name: str) -> bool:
        with self.transaction():
            return self._drop(self._snapshots, name)

    # leases

    def lease_left(self, job_id: str, token: int) -> float | None:
        lease = self.lease(job_id, token)
        return lease.expires - self.clock.now() if lease is not None else None

    def handle_of(self, job_id: str, token: int) -> RunHandle | None:
        lease = self.lease(job_id, token)
        return lease.handle if lease is not None else None

    def lease(self, job_id: str, token: int) -> Lease | None:
        with self._lock:
            return self._leases.get((job_id, token))

    def set_lease(self, job_id: str, token: int, lease: Lease) -> None:
        with self.transaction():
            self._put(self._leases, (job_id, token), lease)

    # inside

    def _put_operation(self, operation: Operation) -> None:
        self._put(self._operations, operation.id, operation)
        if operation.state in _OPEN:
            self._put(self._open, operation.id, operation)
        else:
            self._drop(self._open, operation.id)

    def _put(self, table: dict[K, V], key: K, value: V) -> None:
        self._undo.append((table, key, table.get(key)))
        table[key] = value

    def _drop(self, table: dict[K, V], key: K) -> bool:
        before = table.pop(key, None)
        if before is not None:
            self._undo.append((table, key, before))
        return before is not None

    def _roll_back(self, begin: int) -> None:
        while len(self._undo) > begin:
            table, key, before = self._undo.pop()
            if before is None:
                table.pop(key, None)
            else:
                table[key] = before

    def _sorted(self, table: dict[Any, V]) -> list[V]:
        # Values that a failed transaction has put back stand at the end of their dict.
        with self._lock:
            return [table[key] for key in sorted(table)]

    def _new_enough(self, samples: dict[tuple[int, int], Sample], now: float) -> dict[tuple[int, int], Sample]:
        history = self._retention.history
        return {(step, at): sample for (step, at), sample in samples.items() if at > now - history[step]}

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id


class MemoryRunnerLink:
    """A control.ports.ownership.RunnerLink to a :class:`MemoryRegistry`."""

    def __init__(self, registry: MemoryRegistry, wake: Wake) -> None:
        self._registry, self._wake = registry, wake
        self._job_id, self._token = "", 0

    def claim(self, job_id: str, token: int, handle: RunHandle, lease_seconds: float) -> Job:
        self._job_id, self._token = job_id, token
        with self._registry.transaction():
            job = self._registry.get_job(job_id)
            if job is None:
                raise NotFoundError(f"No job with name or id '{job_id}' was found")
            self.check()
            lease = self._registry.lease(job_id, token)
            if lease is not None and lease.handle != handle:
                raise FencedError(f"Run {token} of job {job_id} belongs to another process already ({lease.handle}).")
            self._set_lease(handle, lease_seconds)
        self._wake.wake(CONTROL)
        return job

    def renew(self, lease_seconds: float) -> None:
        with self._registry.transaction():
            self.check()
            lease = self._registry.lease(self._job_id, self._token)
            if lease is not None:
                self._set_lease(lease.handle, lease_seconds)

    def commands(self, after: int) -> list[Command]:
        with self._registry.transaction():
            self.check()
            return [command for command in self._registry.commands(self._job_id, self._token) if command.id > after]

    def observe(self, observation: Observation) -> None:
        with self._registry.transaction():
            self.check()
            self._registry.add_observation(observation)
        self._wake.wake(CONTROL)

    def report(self, progress: Progress) -> None:
        with self._registry.transaction():
            self.check()
            self._registry.set_progress(self._job_id, progress)
            self._registry.take_sample(self._job_id, self._token, progress)
        self._wake.wake(PROGRESS)

    def check(self) -> None:
        self._owned()

    def _owned(self) -> Job:
        job = self._registry.get_job(self._job_id)
        if job is None or job.token != self._token:
            now = job.token if job is not None else None
            raise FencedError(f"Run {self._token} of job {self._job_id} has been replaced by run {now}.")
        return job

    @contextmanager
    def held(self) -> Iterator[int | None]:
        with self._registry.transaction():
            yield self._owned().withdrawable

    def get_snapshot(self, name: str) -> SnapshotRecord | None:
        return self._registry.get_snapshot(name)

    def progress(self) -> Progress:
        return self._registry.progress(self._job_id)

    def _set_lease(self, handle: RunHandle, seconds: float) -> None:
        self._registry.set_lease(self._job_id, self._token, Lease(handle, self._registry.clock.now() + seconds))
