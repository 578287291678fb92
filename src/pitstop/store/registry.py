"""Jobs, operations, commands, observations, snapshots and leases (control.ports.registry.Registry)."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Any

import structlog
from sqlalchemy import Connection, Select, Table, delete, func, insert, select, union_all, update
from sqlalchemy.exc import IntegrityError

from pitstop.control.ports.launcher import RunHandle
from pitstop.control.trying import id_taken, name_taken
from pitstop.errors import ConflictError, EngineError, Problem, StoreError
from pitstop.kit.clock import Clock, SystemClock
from pitstop.kit.jsonable import to_json
from pitstop.model.job import Job, JobState, KeptVersion, Progress, Version
from pitstop.model.job_event import JobEvent
from pitstop.model.operation import Operation, OperationState, Request, Result
from pitstop.model.retention import USUAL, Retention
from pitstop.model.run import Command, Observation, Order
from pitstop.model.sample import Sample
from pitstop.model.snapshot import SnapshotRecord
from pitstop.store import schema
from pitstop.store.database import Database, store_clock
from pitstop.store.overview import Overview, newest_events, open_among, states_of, version_artifacts
from pitstop.store.records import event_of, job_of, observation_of, operation_of, progress_of, readable, version_of
from pitstop.store.samples import forget_old, samples_of

log = structlog.get_logger("pitstop.store")

_OF_JOBS = (
    schema.job_progress,
    schema.operations,
    schema.commands,
    schema.leases,
    schema.job_events,
    schema.samples,
    schema.job_versions,
)
"""The tables whose rows go with their job."""
_AT_ONCE = 500
"""The number of jobs named in one statement: databases take a limited number of values."""
_OPEN = (OperationState.PENDING.value, OperationState.RUNNING.value)


class SqlRegistry:
    """Registry over a :class:`Database`."""

    def __init__(self, database: Database, clock: Clock | None = None, retention: Retention = USUAL) -> None:
        self._database, self._clock, self._retention = database, clock or SystemClock(), retention
        self._lease_clock = store_clock(database, clock)
        self._overview = Overview()

    def transaction(self) -> AbstractContextManager[object]:
        return self._database.write()

    def add_job(self, job: Job) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(insert(schema.jobs).values(**_row(job)))
        except IntegrityError:
            raise self._taken(job) from None

    def _taken(self, job: Job) -> ConflictError:
        return self._name_taken(job) if self.get_job(job.id) is None else id_taken(job)

    def _name_taken(self, job: Job) -> ConflictError:
        others = [other for other in self.find_jobs(job.name or "") if other.active]
        return name_taken(job, others)

    def get_job(self, job_id: str) -> Job | None:
        with self._database.read() as connection:
            row = connection.execute(select(schema.jobs).where(schema.jobs.c.id == job_id)).first()
        return job_of(row) if row else None

    def find_jobs(self, name_or_id: str) -> list[Job]:
        table = schema.jobs.c
        with self._database.read() as connection:
            rows = connection.execute(
                select(schema.jobs)
                .where((table.id == name_or_id) | (table.name == name_or_id))
                # No job can stand before another one by taking its id for a name.
                .order_by((table.id == name_or_id).desc(), table.active.desc(), table.submission_time.desc())
            ).all()
        jobs = readable(job_of, rows)
        return jobs if jobs or not rows else [job_of(rows[0])]

    def jobs(self, include_ended: bool = True) -> list[Job]:
        with self._database.read_rows() as cursor:
            return self._overview.jobs(cursor, include_ended)

    def overview(self, include_ended: bool = True, named: str | None = None) -> list[tuple[Job, Progress]]:
        with self._database.read_rows() as cursor:
            return self._overview.read(cursor, include_ended, named)

    def overview_of(self, names: Collection[str]) -> dict[str, tuple[Job, Progress]]:
        with self._database.read_rows() as cursor:
            return self._overview.read_first(cursor, names)

    def states(self, job_ids: Collection[str]) -> dict[str, JobState]:
        with self._database.read_rows() as cursor:
            return states_of(cursor, job_ids, self._database.dialect.json_text("body", "state"))

    def unanswered(self, operations: Collection[int]) -> set[int]:
        with self._database.read_rows() as cursor:
            return open_among(cursor, operations, _OPEN)

    def unreadable_jobs(self) -> list[str]:
        with self._database.read() as connection:
            rows = connection.execute(select(schema.jobs)).all()
            versions = connection.execute(select(schema.job_versions)).all()
        damaged = [row.id for row in rows if not readable(job_of, [row])]
        return [*damaged, *(row.job_id for row in versions if not readable(version_of, [row]))]

    def save_job(self, job: Job) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(update(schema.jobs).where(schema.jobs.c.id == job.id).values(**_row(job)))
        except IntegrityError:
            raise self._name_taken(job) from None

    def add_event(self, job_id: str, event: JobEvent) -> None:
        table = schema.job_events
        with self._database.write() as connection:
            last = connection.execute(select(func.max(table.c.sequence)).where(table.c.job_id == job_id)).scalar()
            number = (last or 0) + 1
            numbered = dataclasses.replace(event, sequence=number)
            connection.execute(insert(table).values(job_id=job_id, sequence=number, body=to_json(numbered)))
            if number > self._retention.events:
                old = (table.c.job_id == job_id) & (table.c.sequence <= number - self._retention.events)
                connection.execute(delete(table).where(old))

    def events(self, job_id: str, after: int, limit: int) -> list[JobEvent]:
        table = schema.job_events
        later = (table.c.job_id == job_id) & (table.c.sequence > after)
        with self._database.read() as connection:
            rows = connection.execute(select(table).where(later).order_by(table.c.sequence).limit(limit)).all()
        return readable(event_of, rows)

    def newest_events(self, job_ids: Collection[str]) -> dict[str, int]:
        with self._database.read_rows() as cursor:
            return newest_events(cursor, job_ids)

    def delete_ended(self, keep: int, older_than: float) -> list[str]:
        ended_jobs = [job for job in self.jobs() if job.state.terminal]
        ended_jobs.sort(key=lambda job: job.completion_time or 0.0, reverse=True)
        job_ids = [job.id for number, job in enumerate(ended_jobs) if number >= keep or (job.completion_time or 0.0) < older_than]
        with self._database.write() as connection:
            # A job may have been resumed while this waited for the lock.
            still = {row.id for row in connection.execute(select(schema.jobs.c.id).where(~schema.jobs.c.active))}
            job_ids = [job_id for job_id in job_ids if job_id in still]
            for begin in range(0, len(job_ids), _AT_ONCE):
                for table in (schema.jobs, *_OF_JOBS):
                    column = table.c.id if table is schema.jobs else table.c.job_id
                    connection.execute(delete(table).where(column.in_(job_ids[begin : begin + _AT_ONCE])))
        return job_ids

    def prune(self, answered_before: float) -> None:
        operations = schema.operations
        with self._database.write() as connection:
            connection.execute(delete(operations).where(operations.c.finished < answered_before))
            for table in (schema.commands, schema.leases):
                last = select(schema.jobs.c.token).where(schema.jobs.c.id == table.c.job_id).scalar_subquery()
                connection.execute(delete(table).where(table.c.token < last - 1))
            # Of jobs, too, to which nothing happens since fewer are to be kept.
            _keep_newest(connection, schema.job_events, "sequence", self._retention.events)
            _keep_newest(connection, schema.job_versions, "number", self._retention.versions)
            forget_old(connection, self._clock.now(), self._retention)
        try:
            self._database.give_back_space()
        except StoreError as error:  # a copy of what is live needs room, too, or somebody writes for very long
            log.warning("space that is free in the store was not given back", reason=error.message)

    def put_version(self, job_id: str, version: Version, now: float) -> None:
        table = schema.job_versions
        mine = table.c.job_id == job_id
        with self._database.write() as connection:
            there = connection.execute(select(table).where(mine & (table.c.number == version.number))).first()
            goes_on = there is not None and there.body["source"] == to_json(version.source)
            since = there.since if there is not None and goes_on else now
            values = {"job_id": job_id, "number": version.number, "since": since, "body": to_json(version)}
            connection.execute(self._database.dialect.upsert(table, ("job_id", "number"), values))
            connection.execute(delete(table).where(mine & (table.c.number <= version.number - self._retention.versions)))

    def versions(self, job_id: str) -> list[KeptVersion]:
        table = schema.job_versions
        with self._database.read() as connection:
            rows = connection.execute(select(table).where(table.c.job_id == job_id).order_by(table.c.number.desc())).all()
        return readable(version_of, rows)

    def version_artifacts(self) -> list[tuple[str, int, str]]:
        with self._database.read_rows() as cursor:
            return version_artifacts(cursor, self._database.dialect.json_text("body", "source"))

    def samples(self, job_id: str, step: int, after: float) -> list[Sample]:
        return samples_of(self._database, job_id, step, after)

    def progress(self, job_id: str) -> Progress:
        with self._database.read() as connection:
            row = connection.execute(select(schema.job_progress).where(schema.job_progress.c.job_id == job_id)).first()
        return progress_of(row) if row else Progress()

    def add_operation(self, job_id: str, request: Request) -> Operation:
        now = self._clock.now()
        with self._database.write() as connection:
            result = connection.execute(
                insert(schema.operations).values(
                    job_id=job_id,
                    verb=request.verb.value,
                    args=to_json(request),
                    state=OperationState.PENDING.value,
                    created=now,
                )
            )
            number = _key_of(result)
        return Operation(number, job_id, request, created=now)

    def get_operation(self, operation_id: int) -> Operation | None:
        with self._database.read() as connection:
            row = connection.execute(select(schema.operations).where(schema.operations.c.id == operation_id)).first()
        return operation_of(row) if row else None

    def pending_operations(self) -> list[Operation]:
        table = schema.operations
        query = select(table).where(table.c.state == OperationState.PENDING.value).order_by(table.c.id)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return [operation for operation in map(self._operation_or_failed, rows) if operation is not None]

    def _operation_or_failed(self, row: Any) -> Operation | None:
        """Return the operation. If this release cannot read it, fail it, so that its caller gets an answer."""
        try:
            return operation_of(row)
        except EngineError as error:
            self.finish_operation(row.id, error.problem)
            return None

    def open_operations(self, job_id: str) -> list[Operation]:
        table = schema.operations
        query = select(table).where((table.c.job_id == job_id) & table.c.state.in_(_OPEN)).order_by(table.c.id)
        with self._database.read() as connection:
            return readable(operation_of, connection.execute(query))

    def recent_operations(self, seconds: float, most: int) -> list[Operation]:
        table = schema.operations
        newest_first = table.c.finished.desc()
        latest = select(table).where(table.c.finished >= self._clock.now() - seconds).order_by(newest_first).limit(most)
        # Two looks into two indexes: of one condition with an OR, a database may make a walk through the table.
        query = union_all(select(table).where(table.c.state.in_(_OPEN)), select(latest.subquery()))
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return sorted(readable(operation_of, rows), key=lambda operation: operation.id)

    def start_operation(self, operation_id: int) -> None:
        table = schema.operations
        with self._database.write() as connection:
            connection.execute(
                update(table)
                .where((table.c.id == operation_id) & (table.c.state == OperationState.PENDING.value))
                .values(state=OperationState.RUNNING.value)
            )

    def finish_operation(self, operation_id: int, error: Problem | None = None, result: Result | None = None) -> None:
        table = schema.operations
        values = {
            "state": (OperationState.FAILED if error is not None else OperationState.DONE).value,
            "error": to_json(error) if error is not None else None,
            "result": to_json(result) if result is not None else None,
            "finished": self._clock.now(),
        }
        with self._database.write() as connection:
            connection.execute(update(table).where((table.c.id == operation_id) & table.c.state.in_(_OPEN)).values(**values))

    def add_command(self, job_id: str, token: int, order: Order) -> Command:
        with self._database.write() as connection:
            values = {"job_id": job_id, "token": token, "kind": order.kind, "args": to_json(order)}
            number = _key_of(connection.execute(insert(schema.commands).values(**values)))
        return Command(number, job_id, token, order)

    def take_observations(self) -> list[Observation]:
        table = schema.observations
        with self._database.read() as connection:
            rows = connection.execute(select(table).order_by(table.c.id)).all()
        return readable(observation_of, rows)

    def consume(self, observation_id: int) -> None:
        with self._database.write() as connection:
            connection.execute(delete(schema.observations).where(schema.observations.c.id == observation_id))

    def add_snapshot(self, record: SnapshotRecord) -> None:
        values = dataclasses.asdict(record)
        with self._database.write() as connection:
            connection.execute(self._database.dialect.upsert(schema.snapshots, ("name",), values))

    def get_snapshot(self, name: str) -> SnapshotRecord | None:
        return snapshot_of(self._database, name)

    def snapshots(self) -> list[SnapshotRecord]:
        with self._database.read() as connection:
            rows = connection.execute(select(schema.snapshots).order_by(schema.snapshots.c.name)).mappings().all()
        return [SnapshotRecord(**row) for row in rows]

    def delete_snapshot(self, name: str) -> bool:
        with self._database.write() as connection:
            return connection.execute(delete(schema.snapshots).where(schema.snapshots.c.name == name)).rowcount > 0

    def check_writable(self) -> None:
        with self._database.write():
            pass  # an empty transaction takes the lock of one that writes

    def lease_left(self, job_id: str, token: int) -> float | None:
        with self._database.read() as connection:
            row = connection.execute(_lease(job_id, token)).first()
            return row.expires - self._lease_clock(connection) if row else None

    def handle_of(self, job_id: str, token: int) -> RunHandle | None:
        with self._database.read() as connection:
            row = connection.execute(_lease(job_id, token)).first()
        return RunHandle(row.handle) if row else None


def _lease(job_id: str, token: int) -> Select[Any]:
    return select(schema.leases).where((schema.leases.c.job_id == job_id) & (schema.leases.c.token == token))


def _keep_newest(connection: Connection, table: Table, column: str, most: int) -> None:
    """Remove the rows of each job that are older than its newest ``most``."""
    number, mine = table.c[column], table.c.job_id == schema.jobs.c.id
    # Two looks into the index for each job, however much it has.
    ends = (select(end(number)).where(mine).scalar_subquery() for end in (func.min, func.max))
    for job_id, oldest, newest in connection.execute(select(schema.jobs.c.id, *ends)).all():
        if newest is not None and oldest <= newest - most:
            connection.execute(delete(table).where((table.c.job_id == job_id) & (number <= newest - most)))


def _key_of(result: Any) -> int:
    return int(result.inserted_primary_key[0])


def snapshot_of(database: Database, name: str) -> SnapshotRecord | None:
    """Return the registry's record of a snapshot."""
    with database.read() as connection:
        row = connection.execute(select(schema.snapshots).where(schema.snapshots.c.name == name)).mappings().first()
    return SnapshotRecord(**row) if row else None


def _row(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "name": job.name,
        "active": job.active,
        "token": job.token,
        "submission_time": job.submission_time,
        "withdrawable": job.withdrawable,
        "body": to_json(job),
    }
