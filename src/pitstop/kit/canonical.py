"""One JSON text and one hash for one value."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import date, datetime
from typing import Any


def dumps(value: Any) -> str:
    """Return JSON with sorted keys and no blanks: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: times as ISO 8601 text, decimals, NaN and infinities as text, bytes in hex."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def fingerprint(value: Any) -> str:
    """Return sixteen hex digits that stand for a JSON value."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:16]
