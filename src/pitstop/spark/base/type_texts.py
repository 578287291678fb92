"""Spark's types as a plan writes them, ``struct<user-id:string>``, with names as they are, and as Spark can read them."""

from __future__ import annotations

import re

from pyspark.sql.types import DataType

from pitstop.spark.base.naming import quoted

_TYPES = (
    "string|bigint|int|smallint|tinyint|double|float|boolean|binary|date|timestamp|time|interval|decimal|void|variant|char|varchar|"
    "geography|geometry"
)
_NAME = re.compile(rf"(.+?):(?=struct<|array<|map<|(?:{_TYPES})\b)", re.DOTALL)
"""A name of a field, which may hold what separates it from its type: up to where a type begins."""


def type_of(text: str) -> DataType:
    """The type that a plan writes so. Needs a session."""
    return DataType.fromDDL(ddl_of(text))


def ddl_of(text: str) -> str:
    """The type with the names within it quoted, as Spark reads it in SQL and DDL."""
    found, rest = _read(text)
    return found + rest


def _read(text: str) -> tuple[str, str]:
    """(the type with which a text begins, with its names quoted; what follows it)."""
    for nested in ("struct<", "array<", "map<"):
        if text.startswith(nested):
            return _read_nested(nested, text.removeprefix(nested))
    end = re.search(r"[,>](?![^(]*\))", text)  # those of decimal(10,2) are its own
    return (text[: end.start()], text[end.start() :]) if end else (text, "")


def _read_nested(opening: str, rest: str) -> tuple[str, str]:
    parts = []
    while rest and not rest.startswith(">"):
        rest, name = rest.removeprefix(","), ""
        if opening == "struct<":
            named = _NAME.match(rest)
            if named is None:
                return opening, rest  # no type that we know: Spark is to say so
            name, rest = f"{quoted(named[1])}:", rest[named.end() :]
        kind, rest = _read(rest)
        parts.append(name + kind)
    return f"{opening}{','.join(parts)}>", rest.removeprefix(">")
