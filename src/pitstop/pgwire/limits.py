"""The limits on the use of this process by strangers and clients."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of the listener."""

    startup_bytes: int = 10_000
    """The most bytes of the first packet, and of each packet before the password is right, as in PostgreSQL."""
    message_bytes: int = 8 << 20
    """The most bytes of a later message. A text of statements has at most 2^20 letters of four bytes each."""
    seconds_without_password: float = 60.0
    strangers: int = 100
    """The most connections without a password. One more ends the oldest, so that an idle stranger keeps nobody out."""
    clients: int = 100
    """The most connections with a password, as in PostgreSQL. Each may hold a thread, and a catalogue of a megabyte."""
    statements: int = 1000
    """The most statements that one connection prepares."""
    prepared_letters: int = 16 << 20
    """The most letters of these statements' texts."""
    portals: int = 50
    """The most results that one connection reads side by side."""
