"""What strangers and clients may take of this process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Of the listener."""

    startup_bytes: int = 10_000
    """Of the first packet, and of each one before the password is right, as PostgreSQL has it."""
    message_bytes: int = 8 << 20
    """Of a message afterwards: a text of statements has 2^20 letters at most, of four bytes each."""
    seconds_without_password: float = 60.0
    strangers: int = 100
    """Connections without a password; one more ends the oldest of them, so that nobody keeps others out by staying."""
    clients: int = 100
    """Connections with one, as PostgreSQL has them: each may hold a thread, and a catalogue of a megabyte."""
    statements: int = 1000
    """That one connection has prepared."""
    prepared_letters: int = 16 << 20
    """Of their texts."""
    portals: int = 50
    """Results that one connection reads side by side."""
