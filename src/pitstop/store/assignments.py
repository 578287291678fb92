"""The assignments of runs to the members that start them (control.ports.assignments), in the store that they share."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, func, insert, select, update

from pitstop.control.ports.assignments import AssignmentState
from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.kit.clock import Clock
from pitstop.store import schema
from pitstop.store.database import Database, store_clock

LOST_SECONDS = 24 * 3600.0
"""The seconds after which a process that nobody has ended counts as lost: its machine will not be back."""


class SqlAssignments:
    """Assignments over a :class:`Database`."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database, self._now = database, store_clock(database, clock)

    def assign(self, spec: RunSpec, member_id: str) -> None:
        table, jobs = schema.assignments, schema.jobs
        values = {
            "job_id": spec.job_id,
            "token": spec.token,
            "member_id": member_id,
            "job_name": spec.job_name,
            "state": AssignmentState.ASKED.value,
        }
        with self._database.write() as connection:
            of_ended_job = table.c.job_id.not_in(select(jobs.c.id).where(jobs.c.active))
            earlier = (table.c.job_id == spec.job_id) & (table.c.token <= spec.token)
            connection.execute(delete(table).where(earlier | of_ended_job))
            connection.execute(insert(table).values(**values))

    def of_run(self, job_id: str, token: int) -> tuple[str, AssignmentState] | None:
        table = schema.assignments
        with self._database.read() as connection:
            row = connection.execute(
                select(table.c.member_id, table.c.state).where((table.c.job_id == job_id) & (table.c.token == token))
            ).first()
        return (row.member_id, AssignmentState(row.state)) if row is not None else None

    def runs_of(self, member_id: str) -> list[tuple[RunSpec, AssignmentState]]:
        table = schema.assignments
        with self._database.read() as connection:
            rows = connection.execute(select(table).where(_is_current() & (table.c.member_id == member_id))).all()
        return [(RunSpec(row.job_id, row.token, None, row.job_name), AssignmentState(row.state)) for row in rows]

    def tell(self, job_id: str, token: int, state: AssignmentState) -> None:
        table = schema.assignments
        with self._database.write_beside() as connection:
            mine = (table.c.job_id == job_id) & (table.c.token == token)
            connection.execute(update(table).where(mine).values(state=state.value))

    def load(self) -> dict[str, int]:
        table = schema.assignments
        with self._database.read() as connection:
            rows = connection.execute(
                select(table.c.member_id, func.count()).where(_is_current()).group_by(table.c.member_id)
            ).all()
        return {row[0]: row[1] for row in rows}

    def ask_to_kill(self, run: RunHandle) -> None:
        table = schema.kills
        with self._database.write_beside() as connection:
            now = self._now(connection)
            connection.execute(delete(table).where(table.c.asked < now - LOST_SECONDS))
            connection.execute(self._database.dialect.upsert(table, ("handle",), {"handle": run, "asked": now}))

    def to_kill(self) -> list[RunHandle]:
        with self._database.read() as connection:
            return [RunHandle(handle) for handle in connection.execute(select(schema.kills.c.handle)).scalars()]

    def killed(self, run: RunHandle) -> None:
        with self._database.write_beside() as connection:
            connection.execute(delete(schema.kills).where(schema.kills.c.handle == run))


def _is_current() -> Any:
    """Return the condition that an assignment is of its job's present run."""
    table, jobs = schema.assignments, schema.jobs
    return select(jobs.c.id).where((jobs.c.id == table.c.job_id) & (jobs.c.token == table.c.token) & jobs.c.active).exists()
