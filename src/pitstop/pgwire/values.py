"""Columns and values in the form of PostgreSQL's protocol."""

from __future__ import annotations

import json
from typing import Any

from pg_mimic import BOOL, FLOAT4, FLOAT8, INT2, INT4, INT8, TEXT, TIMESTAMPTZ, ResultColumn

from pitstop.service.sql_results import Column, SqlType

_OIDS = {
    "BOOLEAN": BOOL,
    "TINYINT": INT2,
    "SMALLINT": INT2,
    "INT": INT4,
    "BIGINT": INT8,
    "FLOAT": FLOAT4,
    "DOUBLE": FLOAT8,
    "TIMESTAMP": TIMESTAMPTZ,
    SqlType.TIMESTAMP.value: TIMESTAMPTZ,
}
"""The type of a column -> PostgreSQL's type. All others are texts; types with parts are JSON."""


def described(columns: tuple[Column, ...]) -> list[ResultColumn]:
    """Return the columns in the form for clients."""
    return [ResultColumn(column.name, _OIDS.get(str(column.type), TEXT)) for column in columns]


def row_of(values: tuple[Any, ...], columns: list[ResultColumn]) -> tuple[Any, ...]:
    """Return a row whose values have the types of ``columns``."""
    return tuple(_value(value, column.oid) for value, column in zip(values, columns, strict=True))


def _value(value: Any, oid: int) -> Any:
    if value is None:
        return None
    if oid == TEXT and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value
