"""Where something stands in a text of statements: lines and columns count from 1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """From the first letter to the last one."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def prefix(self) -> str:
        """What an error about it begins with (jet.md §4.4)."""
        return f"From line {self.line}, column {self.column} to line {self.end_line}, column {self.end_column}: "


@dataclass(frozen=True)
class Word:
    """A name or text, without its quotes."""

    text: str
    place: Place
