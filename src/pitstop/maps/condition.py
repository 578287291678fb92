"""Conditions on a field of the values of a map's entries, as people write them: ``speed > 80``."""

from __future__ import annotations

import json
import operator
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit.wire import from_json_text

FORM = (
    "a field, a sign (= != < <= > >= contains) and a value, as in speed > 80, fault.codes contains P0301; "
    "without a field it is the value itself, as in > 80"
)
"""The form of a condition, in words for people."""

_WRITTEN = re.compile(
    r"\s*(?P<field>(?:\\.|[^\s=!<>\\])*?)\s*(?P<sign>!=|<=|>=|=|<|>|(?<!\S)contains(?!\S))\s*(?P<value>.*\S)\s*", re.DOTALL
)
_STEP = re.compile(r"(?:\\.|[^.\\])*", re.DOTALL)
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_NOTHING = object()


@dataclass(frozen=True)
class Condition:
    """A condition that holds for values whose field exists and compares so with ``value``.

    Numbers are compared with numbers and texts with texts; what is of another kind is neither equal nor less nor greater.
    """

    path: tuple[str, ...]
    """The names of fields, and places in lists counted from 0, on the way to the field; none for the value itself."""
    sign: str
    value: Any
    text: str
    """``value`` as it was written. A text has to contain it."""

    def holds(self, value: str) -> bool:
        """Return True if the condition holds for the value of an entry, which is JSON text."""
        field = _at(from_json_text(value), self.path)
        if field is _NOTHING:
            return False
        if self.sign == "contains":
            return self._within(field)
        if self.sign in ("=", "!="):
            return _equal(field, self.value) == (self.sign == "=")
        return _kind(field) == _kind(self.value) in ("number", "text") and _ORDERS[self.sign](field, self.value)

    def _within(self, field: Any) -> bool:
        if isinstance(field, str):
            return (self.value if isinstance(self.value, str) else self.text) in field
        return isinstance(field, list) and any(_equal(each, self.value) for each in field)


def read_condition(text: str) -> Condition:
    """Return the condition that a text of the form FORM means. UsageError if it is none.

    A value that is no JSON is taken as a text. Steps to a field are parted by dots; a backslash before a dot, a blank or a sign
    makes it part of a name.
    """
    parts = _WRITTEN.fullmatch(text)
    if parts is None or (parts["sign"] != "contains" and text[parts.end("sign")] in "=<>!"):
        raise UsageError(f"The condition {text!r} cannot be read: write {FORM}.")
    return Condition(_steps(parts["field"]), parts["sign"], _value(parts["value"]), parts["value"])


def that_field_exists(text: str) -> tuple[str, str] | None:
    """Return the field of a condition as it was written, and a condition for all values with that field.

    None if the condition is about the value itself. UsageError if it is no condition.
    """
    if not read_condition(text).path:
        return None
    parts = _WRITTEN.fullmatch(text)
    assert parts is not None
    return parts["field"], f'{parts["field"]} != "{secrets.token_hex(16)}"'


def _steps(field: str) -> tuple[str, ...]:
    steps: list[str] = []
    place = 0
    while field and place <= len(field):
        step = _STEP.match(field, place)
        assert step is not None  # it matches nothing at all, too
        steps.append(re.sub(r"\\(.)", r"\1", step[0], flags=re.DOTALL))
        place = step.end() + 1
    return tuple(steps)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, _NOTHING)
        elif isinstance(value, list) and step.isascii() and step.isdigit() and len(step) < 10:
            value = value[int(step)] if int(step) < len(value) else _NOTHING
        else:
            return _NOTHING
    return value


def _equal(one: Any, other: Any) -> bool:
    return _kind(one) == _kind(other) and bool(one == other)


def _kind(value: Any) -> str:
    # True is 1 for Python, not in JSON.
    if isinstance(value, bool) or value is None:
        return str(value)
    return "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else type(value).__name__
