"""Addresses of databases, as users give them."""

from __future__ import annotations

from pitstop.errors import UsageError
from pitstop.machine.named_secrets import is_reference


def check_postgres_url(url: str, use: str) -> None:
    """Raise UsageError, which begins with the ``use``, unless this is a URL of PostgreSQL or names the secret of one."""
    if not url.startswith(("postgresql://", "postgres://")) and not is_reference(url):
        raise UsageError(f"{use} postgresql://user:${{secret:DB_PASSWORD}}@host:port/database.")
