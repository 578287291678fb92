"""The sessions of browsers that were signed out, in the store."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import delete, insert, select

from pitstop.store import schema
from pitstop.store.database import Database

_TABLE = schema.ended_sessions


class SqlEndedSessions:
    """service.sessions.EndedSessions in a table. A row goes once its session would have ended by itself."""

    def __init__(self, database: Database, now: Callable[[], float] = time.time) -> None:
        self._database, self._now = database, now

    def add(self, session: str, until: float) -> None:
        with self._database.write_beside() as connection:
            connection.execute(delete(_TABLE).where((_TABLE.c.until <= self._now()) | (_TABLE.c.id == session)))
            connection.execute(insert(_TABLE).values(id=session, until=until))

    def all(self) -> dict[str, float]:
        with self._database.read() as connection:
            return {row.id: row.until for row in connection.execute(select(_TABLE).where(_TABLE.c.until > self._now()))}
