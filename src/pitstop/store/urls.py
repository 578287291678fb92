"""The URL by which all processes of a cluster open their store."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from pitstop.errors import UsageError
from pitstop.kit.urls import KEY_PASSWORD, PASSWORD
from pitstop.machine.private import write_private
from pitstop.model.data_folder import DataFolder
from pitstop.store.database import sqlite_url

SHARED_FILE = "shared-file"
"""The value that makes the file in the data folder the store although processes have addresses of their own, as containers do."""


def store_url(text: str | None, data: DataFolder, environment: Mapping[str, str]) -> str:
    """Return the URL of a store, with no secret in it: processes get it as an argument, and messages show it.

    ``text`` is the URL that users give; None, or SHARED_FILE, means the SQLite file of the data folder. A password goes into a
    file of the data folder, to which the URL leads.
    """
    if text is None or text == SHARED_FILE:
        return sqlite_url(data.store)
    try:
        url = make_url(text)
    except ArgumentError:
        raise UsageError("The store's URL cannot be read: give one such as postgresql://pitstop@host/pitstop.") from None
    if url.drivername != "postgresql":
        raise UsageError(f"A store by URL is in PostgreSQL, not '{url.drivername}': give one such as postgresql://host/pitstop.")
    if not url.host or not url.database:
        raise UsageError("The store's URL names no host, or no database: give one such as postgresql://pitstop@host/pitstop.")
    if KEY_PASSWORD in url.query:
        raise UsageError(
            f"{KEY_PASSWORD} in the store's URL would be seen by others: use a key that only you may read, without one."
        )
    # As libpq has it, what is behind the question mark goes first.
    given_password, url = url.query.get(PASSWORD) or url.password, url.difference_update_query([PASSWORD])
    password = given_password or environment.get("PGPASSWORD")
    if password is not None:
        password = password if isinstance(password, str) else password[-1]
        escaped = password.replace("\\", "\\\\").replace(":", "\\:")
        write_private(data.store_password, f"*:*:*:*:{escaped}\n")
        query = {**url.query, "passfile": str(data.store_password)}
        url = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, query)
    elif "PGPASSFILE" in environment and "passfile" not in url.query:
        url = url.update_query_dict({"passfile": environment["PGPASSFILE"]})
    return url.render_as_string(hide_password=False)
