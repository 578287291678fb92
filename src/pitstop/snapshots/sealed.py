"""JSON that begins with the checksum of all its other bytes."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

_BEFORE, _AFTER = b'{\n "sha256": "', b'",\n'
_SEAL = re.compile(rb"\A" + re.escape(_BEFORE) + rb"([0-9a-f]{64})" + re.escape(_AFTER))


class SealError(ValueError):
    """The text does not match its checksum."""


def seal(fields: dict[str, Any]) -> bytes:
    """Return the text of some fields, with a checksum before them."""
    rest = json.dumps(fields, indent=1).encode().removeprefix(b"{\n")
    return _BEFORE + _digest(_BEFORE, _AFTER + rest) + _AFTER + rest


def unseal(content: bytes) -> tuple[dict[str, Any], bool]:
    """Return the fields of a text, and True if it begins with a checksum.

    SealError if it does not match that, ValueError if it is no text of fields.
    """
    match = _SEAL.match(content)
    if match is not None and _digest(content[: match.start(1)], content[match.end(1) :]) != match[1]:
        raise SealError("it does not match its checksum")
    fields = json.loads(content)
    if not isinstance(fields, dict):
        raise ValueError("it has no fields")
    return fields, match is not None


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).hexdigest().encode()
