"""The members of a cluster, in the store that they share (control.ports.Membership)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, insert, select, update

from pitstop.errors import ConflictError, NotFoundError
from pitstop.kit.clock import Clock, SystemClock
from pitstop.model.cluster import Member, MemberState
from pitstop.store import schema
from pitstop.store.database import Database

SILENT_SECONDS = 4.0
"""A member that has not told anything for so long counts as dead."""


class SqlMembers:
    """Membership over a :class:`Database`."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database, self._clock = database, clock or SystemClock()

    def list(self) -> list[Member]:
        table, alive_since = schema.members, self._clock.now() - SILENT_SECONDS
        with self._database.read() as connection:
            rows = connection.execute(select(table).where(table.c.seen > alive_since).order_by(table.c.name)).mappings().all()
        return [_member(row) for row in rows]

    def join(self, member: Member) -> None:
        table, now = schema.members, self._clock.now()
        values = {
            "id": member.id,
            "name": member.name,
            "address": member.address,
            "version": member.version,
            "cores": member.cores,
            "state": member.state.value,
            "joined": now,
            "seen": now,
        }
        with self._database.write() as connection:
            connection.execute(delete(table).where((table.c.seen <= now - SILENT_SECONDS) | (table.c.id == member.id)))
            taken = connection.execute(select(table.c.address).where(table.c.name == member.name)).scalar()
            if taken is not None:
                raise ConflictError(f"There is a member '{member.name}' already, at {taken}: choose another name.")
            connection.execute(insert(table).values(**values))

    def beat(self, member_id: str) -> MemberState | None:
        table, now = schema.members, self._clock.now()
        with self._database.write() as connection:
            mine = (table.c.id == member_id) & (table.c.seen > now - SILENT_SECONDS)
            connection.execute(update(table).where(mine).values(seen=now))
            state = connection.execute(select(table.c.state).where(mine)).scalar()
        return MemberState(state) if state is not None else None

    def ask_to_leave(self, name: str) -> None:
        table = schema.members
        with self._database.write() as connection:
            told = connection.execute(update(table).where(table.c.name == name).values(state=MemberState.LEAVING.value))
            if told.rowcount == 0:
                raise NotFoundError(f"There is no member '{name}'.")

    def leave(self, member_id: str) -> None:
        table = schema.members
        with self._database.write() as connection:
            connection.execute(delete(table).where(table.c.id == member_id))


def _member(row: Any) -> Member:
    return Member(**(dict(row) | {"state": MemberState(row["state"])}))
