"""Places in a text of statements: lines and columns count from 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """The place of a part of the text, from its first letter to its last one."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def prefix(self) -> str:
        """The beginning of an error about this place."""
        return f"From line {self.line}, column {self.column} to line {self.end_line}, column {self.end_column}: "


@dataclass(frozen=True)
class Word:
    """A name or text, without its quotes."""

    text: str
    place: Place
