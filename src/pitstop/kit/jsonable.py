"""Frozen dataclasses to JSON values and back, by their type hints. Used where values are kept: store, files and pipes.

What is sent over HTTP has a form of its own (kit.wire).
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from pitstop.kit.wire import KEPT

T = TypeVar("T")


def to_json(value: object) -> Any:
    """Return the JSON value of a dataclass: enums by their value, tuples as lists."""
    return _adapter(type(value)).dump_python(value, mode="json", context=KEPT)


def from_json(kind: type[T], data: Any) -> T:
    """Return the value of that type. Names that the type does not know are left out, so that older releases' data is read.

    Raises pydantic.ValidationError (a ValueError) if the data is not of that form.
    """
    value: T = _adapter(kind).validate_python(data, context=KEPT)
    return value


def _adapter(kind: Any) -> TypeAdapter[Any]:
    return _made(kind)


_made = cache(TypeAdapter)
"""Making one takes milliseconds, using it microseconds."""
