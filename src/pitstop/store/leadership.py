"""The lead among the control planes of one store (control.ports.leadership): held by a lease, by the store's own clock.

Taking the lead and deciding both happen in a :meth:`Database.write`, and these come one after another. So a decision of a leader
is either committed before another one takes over, or refused.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, Row, select, update

from pitstop.errors import FencedError
from pitstop.kit.clock import Clock
from pitstop.store import schema
from pitstop.store.database import Database, store_clock

_TABLE = schema.leadership


class SqlLeadership:
    """control.ports.leadership.Leadership of the control plane that has this address."""

    def __init__(self, database: Database, address: str, clock: Clock | None = None) -> None:
        self._database, self._address, self._now = database, address, store_clock(database, clock)

    def take(self, seconds: float) -> int | None:
        with self._database.read() as connection:
            if _row(connection).expires > self._now(connection):
                return None
        with self._database.write() as connection:
            row, now = _row(connection), self._now(connection)
            if row.expires > now:
                return None
            # The leader before may be renewing its lease just now.
            same = (_TABLE.c.epoch == row.epoch) & (_TABLE.c.expires == row.expires)
            values = {"epoch": row.epoch + 1, "leader": self._address, "expires": now + seconds}
            changed_rows = connection.execute(update(_TABLE).where(same).values(**values)).rowcount
        return int(row.epoch) + 1 if changed_rows else None

    def renew(self, epoch: int, seconds: float) -> bool:
        return self._set_lease(epoch, seconds)

    def release(self, epoch: int) -> None:
        self._set_lease(epoch, 0.0)

    def leader(self) -> str | None:
        with self._database.read() as connection:
            row = _row(connection)
            return str(row.leader) if row.expires > self._now(connection) else None

    def end_all(self) -> None:
        with self._database.write_beside() as connection:
            connection.execute(update(_TABLE).values(ends=_TABLE.c.ends + 1))

    def ends(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute(select(_TABLE.c.ends)).scalar_one())

    def fence(self, epoch: int) -> Callable[[Connection], None]:
        """Return a check that raises FencedError within a transaction if that lead is over."""

        def check(connection: Connection) -> None:
            row = _row(connection)
            if row.epoch != epoch or row.expires <= self._now(connection):
                raise FencedError(f"This control plane leads no more: {row.leader} was the last one that did.")

        return check

    def _set_lease(self, epoch: int, seconds: float) -> bool:
        # Beside the decisions, for which a lease that is to be kept must not wait.
        with self._database.write_beside() as connection:
            now = self._now(connection)
            mine = (_TABLE.c.epoch == epoch) & (_TABLE.c.expires > now)
            return connection.execute(update(_TABLE).where(mine).values(expires=now + seconds)).rowcount > 0


def _row(connection: Connection) -> Row[tuple[int, int, str, float, int]]:
    return connection.execute(select(_TABLE)).one()
