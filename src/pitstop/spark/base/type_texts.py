"""Spark's types as a plan writes them, ``struct<user-id:string>``, with names as they are, and as Spark can read them."""

from __future__ import annotations

import re
from functools import cache

from pyspark.sql.types import DataType

from pitstop.spark.base.naming import quoted

_SIMPLE = re.compile(
    r"(?:string(?: collate \w+)?|char\(\d+\)|varchar\(\d+\)|binary|boolean|tinyint|smallint|int|bigint|float|double|"
    r"decimal\(\d+,-?\d+\)|date|timestamp|timestamp_ntz|time\(\d+\)|"
    r"interval(?: (?:year|month|day|hour|minute|second)(?: to (?:month|hour|minute|second))?)?|"
    r"void|variant|(?:geography|geometry)\((?:any|\d+)\))(?=[,>]|\Z)"
)
"""The text of a type without others in it, up to its end: a text that only begins like one is part of a name."""
_COLON = re.compile(":")
_NESTED = re.compile("struct<>|struct<|array<|map<")


def type_of(text: str) -> DataType:
    """Return the type that a plan writes as this text. Needs a session."""
    return DataType.fromDDL(ddl_of(text))


def ddl_of(text: str) -> str:
    """Return the type with the names within it quoted, as Spark reads it in SQL and DDL.

    A text is returned as it is if not all of it is understood: Spark then says so, and nothing is left out.
    """

    @cache  # a name may hold colons, and what follows each of them is looked at
    def type_at(begin: int) -> tuple[str, int] | None:
        """Return (the type that begins there, where it ends)."""
        if simple := _SIMPLE.match(text, begin):
            return simple[0], simple.end()
        nested = _NESTED.match(text, begin)
        if nested is None or nested[0] == "struct<>":
            return nested and (nested[0], nested.end())
        parts: list[str] = []
        end = nested.end() - 1
        while not parts or text.startswith(",", end):
            part = (field_at if nested[0] == "struct<" else type_at)(end + 1)
            if part is None:
                return None
            parts.append(part[0])
            end = part[1]
        return (f"{nested[0]}{','.join(parts)}>", end + 1) if text.startswith(">", end) else None

    def field_at(begin: int) -> tuple[str, int] | None:
        for colon in _COLON.finditer(text, begin):
            name, kind = text[begin : colon.start()], type_at(colon.end())
            if "," in name.partition(":")[2]:
                return None  # rather another field, whose type we do not know, than such a name
            if kind is not None and text[kind[1] : kind[1] + 1] in (",", ">"):
                return f"{quoted(name)}:{kind[0]}", kind[1]
        return None

    outer = type_at(0)
    return outer[0] if outer is not None and outer[1] == len(text) else text
