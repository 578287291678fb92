"""The members of a cluster, in the store that they share (control.ports.members.Membership).

The store's own clock alone decides if a heart still beats: the clocks of the members' machines may differ.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, insert, select, update

from pitstop.errors import ConflictError, NotFoundError
from pitstop.kit.clock import Clock
from pitstop.model.cluster import Member, MemberState
from pitstop.store import schema
from pitstop.store.database import Database, store_clock

SILENT_SECONDS = 4.0
"""The seconds of silence after which a member counts as dead."""


class SqlMembers:
    """Membership over a :class:`Database`."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database, self._now = database, store_clock(database, clock)

    def list(self) -> list[Member]:
        table = schema.members
        with self._database.read() as connection:
            alive = table.c.seen > self._now(connection) - SILENT_SECONDS
            rows = connection.execute(select(table).where(alive).order_by(table.c.name)).mappings().all()
        return [_member(row) for row in rows]

    def join(self, member: Member) -> None:
        table = schema.members
        with self._database.write() as connection:
            now = self._now(connection)
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
            connection.execute(delete(table).where((table.c.seen <= now - SILENT_SECONDS) | (table.c.id == member.id)))
            address = connection.execute(select(table.c.address).where(table.c.name == member.name)).scalar()
            if address is not None:
                raise ConflictError(f"There is a member '{member.name}' already, at {address}: choose another name.")
            connection.execute(insert(table).values(**values))

    def beat(self, member_id: str) -> MemberState | None:
        table = schema.members
        with self._database.write_beside() as connection:
            now = self._now(connection)
            mine = (table.c.id == member_id) & (table.c.seen > now - SILENT_SECONDS)
            connection.execute(update(table).where(mine).values(seen=now))
            state = connection.execute(select(table.c.state).where(mine)).scalar()
        return MemberState(state) if state is not None else None

    def ask_to_leave(self, name: str) -> None:
        table = schema.members
        with self._database.write() as connection:
            result = connection.execute(update(table).where(table.c.name == name).values(state=MemberState.LEAVING.value))
            if result.rowcount == 0:
                raise NotFoundError(f"There is no member '{name}'.")

    def leave(self, member_id: str) -> None:
        table = schema.members
        with self._database.write() as connection:
            connection.execute(delete(table).where(table.c.id == member_id))


def _member(row: Any) -> Member:
    return Member(**(dict(row) | {"state": MemberState(row["state"])}))
