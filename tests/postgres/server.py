"""Databases of the PostgreSQL that scripts/with-postgres has started. Without it, there are none."""

import itertools
import os
from functools import cache

import psycopg
from psycopg import sql

SERVER = os.environ.get("PITSTOP_TEST_POSTGRES")
"""URL of its superuser."""
KEPT = 4
"""So many of the newest databases stay: no test has more, and what each leaves would fill the disk."""
TEMPLATE = f"pitstop_template_{os.getpid()}"
_numbers = itertools.count()
_made: list[str] = []


def new_database() -> str:
    """URL of a new database with the tables of the store."""
    template()
    name = f"pitstop_{os.getpid()}_{next(_numbers)}"
    _create(name, TEMPLATE)
    _made.append(name)
    while len(_made) > KEPT:
        _execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(_made.pop(0))))
    return _url(name)


def empty_database() -> str:
    """URL of a new database without tables."""
    name = f"pitstop_empty_{os.getpid()}_{next(_numbers)}"
    _create(name, "template0")
    return _url(name)


@cache
def template() -> None:
    """The tables are made once: copying them takes a tenth of the time."""
    from pitstop.store.database import open_database

    _create(TEMPLATE, "template0")
    open_database(_url(TEMPLATE)).close()


def _create(name: str, template_name: str) -> None:
    _execute(
        sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(sql.Identifier(name), sql.Identifier(template_name))
    )


def _execute(statement: sql.Composed) -> None:
    assert SERVER is not None, "there is no server: make test-postgres"
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(statement)


def _url(name: str) -> str:
    assert SERVER is not None
    return f"{SERVER.rpartition('/')[0]}/{name}"
