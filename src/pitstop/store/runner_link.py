"""The access of one run to the store, fenced by its token (control.ports.ownership.RunnerLink)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, insert, select, update

from pitstop.control.ports.launcher import RunHandle
from pitstop.control.ports.wake import CONTROL, PROGRESS, Wake
from pitstop.errors import FencedError, NotFoundError
from pitstop.kit.clock import Clock
from pitstop.kit.jsonable import to_json
from pitstop.model.job import Job, Progress
from pitstop.model.retention import Retention
from pitstop.model.run import Command, Observation
from pitstop.model.snapshot import SnapshotRecord
from pitstop.store import schema
from pitstop.store.database import Database, store_clock
from pitstop.store.records import command_of, job_of, progress_of
from pitstop.store.registry import snapshot_of
from pitstop.store.samples import SampleWriter


class SqlRunnerLink:
    """RunnerLink over a :class:`Database`. A recorded fact wakes the control plane; progress wakes its followers.

    ``retention`` is asked with each progress how long the samples of its job are kept.
    """

    def __init__(
        self, database: Database, wake: Wake, clock: Clock | None = None, retention: Callable[[], Retention] = Retention
    ) -> None:
        self._database, self._wake, self._now = database, wake, store_clock(database, clock)
        self._retention = retention
        self._job_id, self._token = "", 0
        self._samples = SampleWriter(database.dialect, "", 0)

    def claim(self, job_id: str, token: int, handle: RunHandle, lease_seconds: float) -> Job:
        self._job_id, self._token = job_id, token
        self._samples = SampleWriter(self._database.dialect, job_id, token)
        with self._database.write_beside() as connection:
            # For this one alone: another process may be claiming the same run.
            row = connection.execute(select(schema.jobs).where(schema.jobs.c.id == job_id).with_for_update()).first()
            if row is None:
                raise NotFoundError(f"No job with name or id '{job_id}' was found")
            self._check(connection)
            self._check_unclaimed(connection, handle)
            values = {"job_id": job_id, "token": token, "handle": handle, "expires": self._now(connection) + lease_seconds}
            connection.execute(self._database.dialect.upsert(schema.leases, ("job_id", "token"), values))
        self._wake.wake(CONTROL)
        return job_of(row)

    def renew(self, lease_seconds: float) -> None:
        table = schema.leases
        with self._database.write_beside() as connection:
            self._hold(connection)
            connection.execute(
                update(table)
                .where((table.c.job_id == self._job_id) & (table.c.token == self._token))
                .values(expires=self._now(connection) + lease_seconds)
            )

    def commands(self, after: int) -> list[Command]:
        table = schema.commands
        with self._database.read() as connection:
            self._check(connection)
            rows = connection.execute(
                select(table)
                .where((table.c.job_id == self._job_id) & (table.c.token == self._token) & (table.c.id > after))
                .order_by(table.c.id)
            ).all()
        return [command_of(row) for row in rows]

    def observe(self, observation: Observation) -> None:
        with self._database.write_beside() as connection:
            self._hold(connection)
            connection.execute(
                insert(schema.observations).values(
                    job_id=observation.job_id,
                    token=observation.token,
                    kind=observation.fact.kind,
                    payload=to_json(observation.fact),
                    at=self._now(connection),
                )
            )
        self._wake.wake(CONTROL)

    def report(self, progress: Progress) -> None:
        values, retention = {"job_id": self._job_id, "body": to_json(progress)}, self._retention()
        with self._database.write_beside() as connection:
            self._hold(connection)
            connection.execute(self._database.dialect.upsert(schema.job_progress, ("job_id",), values))
            self._samples.write(connection, progress, self._now(connection), retention)
        self._wake.wake(PROGRESS)

    def progress(self) -> Progress:
        with self._database.read() as connection:
            row = connection.execute(select(schema.job_progress).where(schema.job_progress.c.job_id == self._job_id)).first()
        return progress_of(row) if row else Progress()

    def check(self) -> None:
        with self._database.read() as connection:
            self._check(connection)

    @contextmanager
    def held(self) -> Iterator[int | None]:
        with self._database.write_beside() as connection:
            yield self._hold(connection)

    def get_snapshot(self, name: str) -> SnapshotRecord | None:
        return snapshot_of(self._database, name)

    def _hold(self, connection: Connection) -> int | None:
        """Check as :meth:`_check`, and keep other runs from taking the job until the transaction ends."""
        return self._check(connection, hold=True)

    def _check(self, connection: Connection, hold: bool = False) -> int | None:
        """Raise FencedError if the run has lost its job.

        Returns the update whose writes may have to be withdrawn, if there is one.
        """
        table = schema.jobs.c
        query = select(table.token, table.withdrawable).where(table.id == self._job_id)
        row = connection.execute(query.with_for_update(read=True) if hold else query).first()
        if row is None or int(row.token) != self._token:
            now = row.token if row is not None else None
            raise FencedError(f"Run {self._token} of job {self._job_id} has been replaced by run {now}.")
        return row.withdrawable if row.withdrawable is None else int(row.withdrawable)

    def _check_unclaimed(self, connection: Connection, handle: RunHandle) -> None:
        """Keep a run that was started twice by mistake from running twice: the first process has it."""
        table = schema.leases
        row = connection.execute(select(table).where((table.c.job_id == self._job_id) & (table.c.token == self._token))).first()
        if row is not None and row.handle != handle:
            raise FencedError(f"Run {self._token} of job {self._job_id} belongs to another process already ({row.handle}).")
