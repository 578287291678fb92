"""The PostgreSQL protocol as a door: psql, psycopg and JDBC run the statements of docs/sql.md.

This process is a client of the server. Its users may do what the server allows to the token of this process.

pg_mimic speaks the protocol. It would answer queries on the catalogue by ``sqlglot.executor``, which turns a client's text into
Python and evaluates it. That module is not used here. To rule out its use, it is not loaded: an empty module has its name.
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
