"""The PostgreSQL protocol as a door: psql, psycopg and JDBC carry out the statements of docs/sql.md.

It is a client of the server: what a user may do is what the server allows to the token that this process was given.

pg_mimic speaks the protocol, and would answer queries on the catalogue by ``sqlglot.executor``, which makes Python of a client's
text and evaluates it. None of that is used here, and so that it cannot be used, that module is not loaded: an empty one has its
name.
"""

import sys
from types import ModuleType
from typing import Any, NoReturn


def _execute(*arguments: Any, **options: Any) -> NoReturn:
    raise RuntimeError("No text of a client is evaluated")


if "sqlglot.executor" not in sys.modules:
    for _name in ("sqlglot.executor", "sqlglot.executor.env"):
        sys.modules[_name] = ModuleType(_name, "Empty on purpose: pitstop.pgwire.")
    _empty: Any = sys.modules["sqlglot.executor"]
    _empty.execute = _execute
    _empty.env = sys.modules["sqlglot.executor.env"]
    _empty.env.ENV = {}
