"""Schemas as users give them: DDL, a StructType of Spark, or a dataclass. Pitstop keeps them as DDL."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Union

from pitstop.errors import UsageError

_TYPES = {
    str: "string",
    int: "bigint",
    float: "double",
    bool: "boolean",
    bytes: "binary",
    datetime: "timestamp",
    date: "date",
    timedelta: "interval day to second",
    Decimal: "decimal(38,18)",
}
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FIRST = re.compile(r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^\s:`]+))")
"""Matches the name at the start of a column of DDL."""


def ddl(schema: Any) -> str:
    """Return a schema as DDL: a text as it is, a StructType, or a dataclass by the annotations of its fields.

    Annotations are ``str int float bool bytes datetime date timedelta Decimal``, lists and dicts of them, dataclasses, and ``|
    None``. ``Annotated[int, "smallint"]`` names a type of Spark. Columns may be null, whatever the StructType says. UsageError
    if it is none of these, or has a field of another type.
    """
    if isinstance(schema, str):
        return schema
    if dataclasses.is_dataclass(schema) and isinstance(schema, type):
        return ", ".join(f"{_quoted(name)} {kind}" for name, kind in _fields(schema))
    if hasattr(schema, "fields") and hasattr(schema, "jsonValue"):
        return ", ".join(f"{_quoted(field.name)} {_spark_type(field.dataType)}" for field in schema.fields)
    raise UsageError(f"A schema is DDL such as 'id bigint, name string', a StructType or a dataclass, not {schema!r}.")


def optional_ddl(schema: Any) -> str | None:
    """Return a schema as DDL; None if there is none."""
    return None if schema is None else ddl(schema)


def column_names(schema: str) -> tuple[str, ...]:
    """Return the names of the columns of DDL."""
    names = []
    for column in _columns(schema):
        match = _FIRST.match(column)
        if match is not None:
            names.append(match["quoted"].replace("``", "`") if match["quoted"] else match["plain"])
    return tuple(names)


def _columns(schema: str) -> Iterator[str]:
    """Yield the columns of DDL: its parts between commas that are in no brackets and no quotes."""
    depth, start, quoted = 0, 0, False
    for place, letter in enumerate(schema):
        if letter == "`":
            quoted = not quoted
        elif not quoted and letter in "<(":
            depth += 1
        elif not quoted and letter in ">)":
            depth -= 1
        elif letter == "," and depth == 0 and not quoted:
            yield schema[start:place]
            start = place + 1
    yield schema[start:]


def _fields(kind: type) -> Iterator[tuple[str, str]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        type_ = _python_type(hints[field.name])
        if type_ is None:
            raise UsageError(
                f"Field '{field.name}' of {kind.__name__} is {hints[field.name]!r}, which is no type of a column: use "
                f"{', '.join(each.__name__ for each in _TYPES)}, a list, a dict or a dataclass, or name the type of Spark: "
                'Annotated[int, "smallint"].'
            )
        yield field.name, type_


def _python_type(hint: Any) -> str | None:
    """Return Spark's type for an annotation; None if there is none."""
    if typing.get_origin(hint) is Annotated:
        named = next((each for each in hint.__metadata__ if isinstance(each, str)), None)
        return named or _python_type(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (Union, types.UnionType):
        options = [each for each in typing.get_args(hint) if each is not type(None)]
        return _python_type(options[0]) if len(options) == 1 else None
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return f"struct<{', '.join(f'{_quoted(name)}: {kind}' for name, kind in _fields(hint))}>"
    parts = [_python_type(each) for each in typing.get_args(hint)]
    if typing.get_origin(hint) in (list, dict) and None not in parts:
        return f"{'array' if typing.get_origin(hint) is list else 'map'}<{', '.join(map(str, parts))}>"
    return _TYPES.get(hint)


def _spark_type(kind: Any) -> str:
    """Return a type of Spark as DDL. Its own text has names without quotes."""
    name = kind.typeName()
    if name == "struct":
        return f"struct<{', '.join(f'{_quoted(field.name)}: {_spark_type(field.dataType)}' for field in kind.fields)}>"
    if name == "array":
        return f"array<{_spark_type(kind.elementType)}>"
    if name == "map":
        return f"map<{_spark_type(kind.keyType)}, {_spark_type(kind.valueType)}>"
    return str(kind.simpleString())


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"
