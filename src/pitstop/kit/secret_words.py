"""Names of options, and parts of URLs, whose values nobody is to see."""

from __future__ import annotations

import re

HIDDEN = "***"
_WORDS = r"passw|passphrase|token|secret|credential|authorization|signature|(?:api|access|private|account|shared|\b)[-_.]?key\b"
_SECRET = re.compile(_WORDS, re.IGNORECASE)
_IN_URL = re.compile(rf"([?&;][^=&;#]*(?:{_WORDS})[^=&;#]*=)([^&;#\s]*)", re.IGNORECASE)
_USER = re.compile(r"(?<=://)([^/?#\s]*)@")


def is_secret(name: str) -> bool:
    """Return True if nobody is to see the value of an option of this name. ``key`` alone names columns."""
    return _SECRET.search(name) is not None and name != "key"


def without_secrets(text: str) -> str:
    """Return a text without the secrets in its URLs."""
    return _IN_URL.sub(rf"\1{HIDDEN}", _USER.sub(f"{HIDDEN}@", text))


def secrets_in_urls(text: str) -> list[str]:
    """Return the secrets in the URLs of a text: passwords (a user's name stays with its password), and values behind ``?``."""
    users = [part for match in _USER.finditer(text) for part in (match[1], match[1].partition(":")[2])]
    return [value for value in (*users, *(match[2] for match in _IN_URL.finditer(text))) if value]
