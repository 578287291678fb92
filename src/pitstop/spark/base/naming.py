"""Names that carry a stage's name into Spark, so that state and observations tell whose they are."""

from __future__ import annotations

OBSERVED = "source:"
"""What the name of an observation of a source's rows begins with; the stage's name follows."""

AHEAD = "ahead:"
"""What the name of an observation of rows that are too far ahead of the clock begins with; the stage's name follows."""

FAILED = "failed:"
"""What the name of an observation of rows that a stage's function could not take begins with; the stage's name follows."""

ROWS_IN, ROWS_OUT = "rows in:", "rows out:"
"""What the names of observations of the rows that a stage takes, and gives, begin with.

The stage's name follows; of rows that it takes, the number of the input stands before that: ``rows in:0:speeds``.
"""

LETTERS = "letters:"
"""What the name of an observation of the rows begins with among which the late ones of a stage are looked for.

As in ROWS_IN, the number of the input and the stage's name follow.
"""

WINDOW_ROLES = ("frames", "windows", "sessions")
"""Roles of operators whose state is keyed by a window column, which is named after the stage."""


def role_column(stage: str, role: str) -> str:
    """The name of the window column in the key of a stage's state, such as ``frames@speed``."""
    return f"{role}@{stage}"


def parse_role_column(column: str) -> tuple[str, str] | None:
    """(stage, role) of a column made by :func:`role_column`, None for any other."""
    role, at, stage = column.partition("@")
    return (stage, role) if at and role in WINDOW_ROLES else None


def quoted(column: str) -> str:
    """A column name as SQL: ```a``b```."""
    return "`" + column.replace("`", "``") + "`"
