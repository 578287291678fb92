"""How Spark is to write rows as the JSON that values of maps are."""

from __future__ import annotations

TIMESTAMP_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""Spark by itself writes times to the millisecond, and drops the rest."""
LOCAL_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
"""Of timestamps without a zone."""
IN_MICROSECONDS = {"timestampFormat": TIMESTAMP_FORMAT, "timestampNTZFormat": LOCAL_FORMAT}
WITH_NULLS = {"ignoreNullFields": "false", **IN_MICROSECONDS}
"""A null column is a value like any other: it must not vanish from the object."""
