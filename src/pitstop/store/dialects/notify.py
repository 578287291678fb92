"""Waking the processes of several machines by PostgreSQL's LISTEN and NOTIFY."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from pitstop.store.dialects.postgres_url import connect

RETRY_SECONDS = 1.0
"""The time that a waiter with a lost connection waits before it makes another one, in seconds."""


class NotifyWake:
    """control.ports.wake.Wake by a channel for each name. All waiters under a name are woken, on whatever machine they are."""

    def __init__(self, engine: Engine, url: str) -> None:
        self._engine, self._url = engine, url

    def wake(self, name: str) -> None:
        # A transaction of its own, which nobody waits for: a NOTIFY keeps other commits waiting until its own is done.
        with contextlib.suppress(SQLAlchemyError, psycopg.Error), self._engine.connect() as connection:
            connection.exec_driver_sql("SELECT pg_notify(%s, '')", (_channel(name),))

    def waiter(self, name: str) -> NotifyWaiter:
        return NotifyWaiter(self._url, name)


class NotifyWaiter:
    """control.ports.wake.Waiter on its own connection. A lost connection is made anew."""

    def __init__(self, url: str, name: str) -> None:
        self._url, self._channel = url, _channel(name)
        self._connection: psycopg.Connection[Any] | None = None
        with contextlib.suppress(psycopg.Error):
            self._connection = self._listen()

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + max(0.0, seconds)
        try:
            if self._connection is None:
                self._connection = self._listen()
                return True  # what was told meanwhile is lost
            return self._heard(self._connection, until)
        except psycopg.Error:
            self.close()
            time.sleep(max(0.0, min(RETRY_SECONDS, until - time.monotonic())))
            return False

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _heard(self, connection: psycopg.Connection[Any], until: float) -> bool:
        if not list(connection.notifies(timeout=max(0.0, until - time.monotonic()), stop_after=1)):
            return False
        # Before the answer to any statement comes all that was told until then: it counts as one.
        connection.execute("SELECT 1")
        list(connection.notifies(timeout=0))
        return True

    def _listen(self) -> psycopg.Connection[Any]:
        connection = connect(self._url)
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
        return connection


def _channel(name: str) -> str:
    return f"pitstop_{name}"
