"""Spark's types as it writes them (``array<struct<by:int,value:double>>``): their parts, and the wider ones."""

from __future__ import annotations

WIDER = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
}
"""Types that hold every value of another."""
DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""The most digits of a whole number of the type."""


def widens(old: str, new: str) -> bool:
    """Return True if every value of one type is a value of the other, also within arrays, maps and structs of the same fields."""
    if old == new or new in WIDER.get(old, ()):
        return True
    if new.startswith("decimal("):
        if old not in DIGITS and not old.startswith("decimal("):
            return False
        (precision, scale), (to_precision, to_scale) = (
            (DIGITS[old], 0) if old in DIGITS else decimal_digits(old),
            decimal_digits(new),
        )
        return to_scale >= scale and to_precision - to_scale >= precision - scale
    (name, parts), (to_name, to_parts) = _opened(old), _opened(new)
    if not name or name != to_name or len(parts) != len(to_parts):
        return False
    if name == "struct":
        return all(
            a == b and widens(was, now) for (a, was), (b, now) in zip(map(_field, parts), map(_field, to_parts), strict=True)
        )
    if name == "map" and parts[0] != to_parts[0]:
        return False
    return all(map(widens, parts, to_parts))


def fields_of(kind: str) -> list[tuple[str, str]]:
    """Return (name, type) of the fields of a struct; none of any other type."""
    name, parts = _opened(kind)
    return [_field(part) for part in parts] if name == "struct" else []


def nameless(kind: str) -> str:
    """Return the type without the names of fields, which do not matter to Spark in state that it has kept."""
    name, parts = _opened(kind)
    if not name:
        return kind
    inner = [nameless(_field(part)[1] if name == "struct" else part) for part in parts]
    return f"{name}<{','.join(inner)}>"


def decimal_digits(kind: str) -> tuple[int, int]:
    """Return all digits of a decimal type, and those behind the point."""
    precision, scale = kind[len("decimal(") : -1].split(",")
    return int(precision), int(scale)


def _opened(kind: str) -> tuple[str, list[str]]:
    """Return (``array``, ``map`` or ``struct``, the parts within its brackets), or nothing."""
    name, bracket, rest = kind.partition("<")
    if name not in ("array", "map", "struct") or not bracket or not rest.endswith(">"):
        return "", []
    parts, depth, began, inside = [], 0, 0, rest[:-1]
    for at, letter in enumerate(inside):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append(inside[began:at])
            began = at + 1
    return name, [*parts, inside[began:]] if inside else []


def _field(part: str) -> tuple[str, str]:
    """Return (name, type) of a struct's field.

    If a name has a colon, its rest counts as the type, which only an equal one holds.
    """
    name, _, kind = part.partition(":")
    return name, kind
