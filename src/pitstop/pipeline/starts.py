"""The places where sources begin, as users write them, in the form in which readers get them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pitstop.errors import UsageError


def kafka_start(start: str | datetime | Mapping[str, Mapping[int, int]]) -> str:
    """Return ``earliest``, ``latest``, milliseconds since 1970, or offsets as JSON. UsageError if it is none of these."""
    if isinstance(start, Mapping):
        return json.dumps({topic: {str(number): int(at) for number, at in offsets.items()} for topic, offsets in start.items()})
    if start in ("earliest", "latest"):
        return str(start)
    time_ms = _time_ms(start)
    if time_ms is None:
        raise UsageError(f"start is earliest, latest, a time such as 2026-11-01T00:00 or offsets, not {start!r}.")
    return str(time_ms)


def table_start(start: str | int | datetime) -> str:
    """Return ``earliest``, ``latest``, ``version:N``, or ``time:`` and milliseconds since 1970. UsageError if it is none."""
    if start in ("earliest", "latest"):
        return str(start)
    if isinstance(start, int) and not isinstance(start, bool) and start >= 0:
        return f"version:{start}"
    time_ms = _time_ms(start)
    if time_ms is None:
        raise UsageError(f"start is earliest, latest, a version or a time such as 2026-11-01T00:00, not {start!r}.")
    return f"time:{time_ms}"


def _time_ms(moment: Any) -> int | None:
    """Return a time, or its text in ISO 8601, in milliseconds since 1970, UTC where it names no zone; None if it is neither."""
    try:
        at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    except ValueError:
        return None
    if not isinstance(at, datetime):
        return None
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
