"""The sessions of browsers that were signed out before their time was over."""

from __future__ import annotations

from typing import Protocol


class EndedSessions(Protocol):
    """Ids of sessions, each until the session would have ended by itself. Servers of one store share them."""

    def add(self, session: str, until: float) -> None:
        """Record that a session has ended which would have lasted until then (seconds since 1970)."""
        ...

    def all(self) -> dict[str, float]:
        """Return the recorded sessions, and the time at which each would have ended by itself."""
        ...
