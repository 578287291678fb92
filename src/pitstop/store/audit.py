"""The audit trail in the store."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, insert, select

from pitstop.model.audit import AuditEntry, Door
from pitstop.model.retention import USUAL, Retention
from pitstop.store import schema
from pitstop.store.database import Database

_TABLE = schema.audit
_SELDOM = 100
"""The number of entries after which those that are too old are removed."""


class SqlAudit:
    """service.audit.AuditTrail in a table."""

    def __init__(self, database: Database, retention: Retention = USUAL) -> None:
        self._database, self._keep = database, retention.audit

    def add(self, entries: Sequence[AuditEntry]) -> None:
        with self._database.write_beside() as connection:
            for entry in entries:
                values = {name: getattr(entry, name) for name in ("at", "role", "user", "method", "path", "status")}
                result = connection.execute(insert(_TABLE).values(**values, door=entry.door.value))
                number = int(result.inserted_primary_key[0]) if result.inserted_primary_key is not None else 0
                if number % _SELDOM == 0:
                    connection.execute(delete(_TABLE).where(_TABLE.c.sequence <= number - self._keep))

    def entries(self, before: int | None, limit: int) -> list[AuditEntry]:
        query = select(_TABLE).order_by(_TABLE.c.sequence.desc()).limit(limit)
        with self._database.read() as connection:
            rows = connection.execute(query if before is None else query.where(_TABLE.c.sequence < before)).mappings().all()
        return [AuditEntry(**{**row, "door": _door(row["door"])}) for row in rows]


def _door(word: str) -> Door:
    """Return the door of a word; a later release may know more of them."""
    return Door(word) if word in set(Door) else Door.OTHER
