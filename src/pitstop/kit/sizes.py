"""Sizes as people write them."""

from __future__ import annotations

from pitstop.errors import UsageError


def bytes_of(name: str, size: str | int) -> int:
    """Return a size in bytes: 1000, or a text such as "128 MB" or "1 GiB". UsageError if it is none, or not above 0."""
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        number = int(TypeAdapter(ByteSize).validate_python(size)) if not isinstance(size, bool) else 0
    except ValidationError:
        number = 0
    if number < 1:
        raise UsageError(f'{name} is a size above 0, such as "128 MB" or "1 GiB", not {size!r}.')
    return number
