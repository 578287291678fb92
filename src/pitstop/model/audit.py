"""Who changed what, through which door."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pitstop.kit.wire import Moment, described

USER_HEADER = "pitstop-user"
"""The header in which a client says who asks, percent-encoded."""


class Door(StrEnum):
    """What somebody has used, as it says of itself."""

    COMMAND_LINE = "command line"
    PYTHON = "python"
    PAGE = "page"
    OTHER = "other"


@described
@dataclass(frozen=True)
class AuditEntry:
    """One request that was to change something, by somebody who was let in."""

    at: Moment
    """When it came."""
    role: str
    """Whose token it was: operator or viewer."""
    user: str | None
    """Who asked, as the client says; null if it says nothing. Nobody checks that."""
    door: Door
    """What they used, as it says of itself."""
    method: str
    """POST, PUT or DELETE."""
    path: str
    """What it was about."""
    status: int
    """How it was answered: below 400 it was done."""
    sequence: int = 0
    """Its number; 0 before it is recorded."""

    @property
    def text(self) -> str:
        """For people, in one line."""
        who = f"{self.user} ({self.role})" if self.user is not None else self.role
        return f"{who}, {self.door.value}: {self.method} {self.path} -> {self.status}"
