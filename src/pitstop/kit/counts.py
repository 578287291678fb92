"""Numbers of things, as people write them."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return ``1 row``, ``1,234 rows``. ``many`` follows any number but 1; without it, ``one`` with an s does."""
    return f"{number:,} {one if number == 1 else f'{one}s' if many is None else many}"
