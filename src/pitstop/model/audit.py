"""Who changed what, through which door."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pitstop.kit.wire import Moment, described

STATEMENT = "SQL"
"""The method of statements."""
USER_HEADER = "pitstop-user"
"""The header in which a client says who asks, percent-encoded."""


class Door(StrEnum):
    """What somebody has used, as it says of itself."""

    COMMAND_LINE = "command line"
    PYTHON = "python"
    PAGE = "page"
    SQL = "sql"
    """Statements, by ``pitstop sql`` or who says nothing of themselves."""
    POSTGRES = "postgres"
    """Statements of clients of PostgreSQL, by ``pitstop pgwire``."""
    KUBERNETES = "kubernetes"
    """The operator, for who has changed a resource there."""
    OTHER = "other"


@described
@dataclass(frozen=True)
class AuditEntry:
    """One request, or one statement of SQL, that was to change something, by somebody who was let in."""

    at: Moment
    """When it came."""
    role: str
    """Whose token it was: operator or viewer."""
    user: str | None
    """Who asked, as the client says; null if it says nothing. Nobody checks that."""
    door: Door
    """What they used, as it says of itself."""
    method: str
    """POST, PUT or DELETE; SQL for a statement."""
    path: str
    """What it was about; of a statement its verb and its object: ``DROP JOB speeds``."""
    status: int
    """How it was answered: below 400 it was done."""
    sequence: int = 0
    """Its number; 0 before it is recorded."""

    @property
    def text(self) -> str:
        """For people, in one line."""
        who = f"{self.user} ({self.role})" if self.user is not None else self.role
        return f"{who}, {self.door.value}: {self.method} {self.path} -> {self.status}"
