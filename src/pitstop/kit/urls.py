"""Passwords in URLs of a database, where libpq takes them."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

PASSWORD, KEY_PASSWORD = "password", "sslpassword"
"""Arguments behind the question mark: the user's password, and the password of the file with their key."""


def holds_password(url: str) -> bool:
    """Return True if the URL shows a password."""
    parts = urlsplit(url)
    return parts.password is not None or not {PASSWORD, KEY_PASSWORD}.isdisjoint(parse_qs(parts.query, keep_blank_values=True))
