"""The form of JSON in which Spark writes rows as values of maps."""

from __future__ import annotations

TIMESTAMP_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""Spark by itself writes times to the millisecond, and drops the rest."""
LOCAL_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
"""The form of timestamps without a zone."""
_OPTIONS = {
    # A null column is a value like any other: it must not vanish from the object.
    "ignoreNullFields": "false",
    "timestampFormat": TIMESTAMP_FORMAT,
    "timestampNTZFormat": LOCAL_FORMAT,
}


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


OPTIONS = f"map({', '.join(_literal(part) for option in _OPTIONS.items() for part in option)})"
"""The options of Spark's ``to_json``, as SQL."""
