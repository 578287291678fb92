"""One JSON text and one hash for one value."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def dumps(value: Any) -> str:
    """JSON with sorted keys and no blanks: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(value: Any) -> str:
    """Sixteen hex digits that stand for a JSON value."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:16]


def file_checksum(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
