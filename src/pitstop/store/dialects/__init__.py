"""The differences between databases: one file for each database, found by the scheme of its URL.

All other statements of the store are SQLAlchemy Core, or SQL that SQLite and PostgreSQL share (``ON CONFLICT``, ``RETURNING``).
"""

from __future__ import annotations

from pitstop.errors import EngineError, UsageError
from pitstop.store.dialects.ports import Dialect


def dialect_of(url: str) -> Dialect:
    """Return the dialect of a store's URL. UsageError if there is none; EngineError if its driver is not installed."""
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        from pitstop.store.dialects.sqlite import Sqlite

        return Sqlite()
    if scheme == "postgresql":
        try:
            from pitstop.store.dialects.postgres import Postgres
        except ImportError as error:
            raise EngineError(
                f"A store in PostgreSQL needs its driver ({error}): install the extra 'postgres' (make install brings it)."
            ) from None
        return Postgres()
    raise UsageError(f"There is no store of the kind '{scheme}': the URL begins with sqlite:/// or postgresql://.")
