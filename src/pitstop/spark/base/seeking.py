"""Places of sources other than the saved ones, and what has become of the saved ones, as kinds of sources tell them."""

from __future__ import annotations

from dataclasses import dataclass


class NoSuchPlaceError(Exception):
    """A source cannot be put to a place. Its text is a clause that goes on ``Source 'name' (place) cannot ...: ``."""

    def __init__(self, clause: str, may_pass: bool = False) -> None:
        """Create it. ``may_pass``: another try may succeed, because servers were away."""
        super().__init__(clause)
        self.clause, self.may_pass = clause, may_pass


@dataclass(frozen=True)
class Sought:
    """A place to which a source is put."""

    offset: str
    """The place as the kind's offset, in JSON."""
    clause: str
    """The change as a clause that goes on ``source, ``: the place, and how much is skipped or read again."""
    again: bool
    """True if rows are read again."""
    planned: str = ""
    """The end of the epoch that was cut off, if there is one: sinks that have it do not take it again. Empty: as ``offset``, so
    that the epoch reads nothing of the source."""
