"""The order of an entry: a text that says which of two writes of a key is the newer one, kept beside the entry.

Texts of one form compare as the values do that they stand for. A form is the kinds of these values, a capital letter each,
with a digest of what a user orders by, and ends in ``:``; writes of different forms cannot be compared, and then the later
write wins.
"""

from __future__ import annotations


def is_older(order: str, held: str | None) -> bool:
    """Return True if a write of this order is older than an entry's; ``held`` is None for an entry without an order."""
    return held is not None and order < held and _form(order) == _form(held)


def _form(order: str) -> str:
    return order.partition(":")[0]
