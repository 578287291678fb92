"""Names that carry a stage's name into Spark, so that state and observations can be traced to their stage."""

from __future__ import annotations

OBSERVED = "source:"
"""The prefix that names an observation of a source's rows; the stage's name follows."""

AHEAD = "ahead:"
"""The prefix that names an observation of rows too far ahead of the clock; the stage's name follows."""

FAILED = "failed:"
"""The prefix that names an observation of rows that a stage's function could not take; the stage's name follows."""

ROWS_IN, ROWS_OUT = "rows in:", "rows out:"
"""The prefixes that name observations of the rows that a stage takes, and of those that it gives.

The stage's name follows. For rows that it takes, the number of the input stands before the name: ``rows in:0:speeds``.
"""

LETTERS = "letters:"
"""The prefix that names an observation of the rows among which those that a stage leaves out are looked for.

The number of the input and the stage's name follow, as in ROWS_IN.
"""

LOOKED_AT, KEPT = "rows", "kept"
"""The columns of that observation: the number of rows that are looked at, and of those that are kept as dead letters."""

PARSED, REASON, TOMBSTONE = "__row", "__reason", "__tombstone"
"""The columns of what a source has parsed: the row; why there is none, null if there is one; whether it is left out as a
tombstone."""

WINDOW_ROLES = ("frames", "windows", "sessions")
"""Roles of operators whose state is keyed by a window column, which is named after the stage."""


def role_column(stage: str, role: str) -> str:
    """Return the name of a stage's operator, such as ``frames@speed``: also that of the window column in the key of its state."""
    return f"{role}@{stage}"


def parse_role_column(column: str) -> tuple[str, str] | None:
    """Return (stage, role) of a column made by :func:`role_column`, None for any other."""
    role, at, stage = column.partition("@")
    return (stage, role) if at and role in WINDOW_ROLES else None


def quoted(column: str) -> str:
    """Return a column name as SQL: ```a``b```."""
    return "`" + column.replace("`", "``") + "`"
