"""The URL of a store in PostgreSQL, and connections past SQLAlchemy."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, make_url

REACH = {
    "connect_timeout": "5",
    "keepalives_idle": "3",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "9000",
}
"""Options of libpq, unless the URL has others. By them a server that is cut off is noticed within 9 seconds."""


def driver_url(url: str) -> URL:
    """Return the URL for SQLAlchemy with this driver, and with the options that notice a server that is cut off."""
    driver = make_url(url).set(drivername="postgresql+psycopg")
    return driver.set(query={**REACH, **driver.query})


def connect(url: str) -> psycopg.Connection[Any]:
    """Return a connection past SQLAlchemy; each statement is a transaction."""
    parts_of_url = driver_url(url)
    parts: dict[str, Any] = {**parts_of_url.translate_connect_args(username="user", database="dbname"), **parts_of_url.query}
    return psycopg.connect(make_conninfo(**parts), autocommit=True)
