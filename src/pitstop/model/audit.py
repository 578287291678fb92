"""The audit trail: the requests that changed something, their users and doors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pitstop.kit.wire import Moment, described

STATEMENT = "SQL"
"""The method of statements."""
USER_HEADER = "pitstop-user"
"""The header in which a client says who asks, percent-encoded."""


class Door(StrEnum):
    """A kind of client, as the client says of itself."""

    COMMAND_LINE = "command line"
    PYTHON = "python"
    PAGE = "page"
    SQL = "sql"
    """Statements, by ``pitstop sql`` or by a client that says nothing of itself."""
    POSTGRES = "postgres"
    """Statements of clients of PostgreSQL, by ``pitstop pgwire``."""
    KUBERNETES = "kubernetes"
    """The operator, on behalf of the user who changed a resource there."""
    OTHER = "other"


@described
@dataclass(frozen=True)
class AuditEntry:
    """One request, or one statement of SQL, by which a user who was let in meant to change something."""

    at: Moment
    """The time at which it came."""
    role: str
    """The role of its token: operator or viewer."""
    user: str | None
    """The user, as the client says; null if it says nothing. Nobody checks that."""
    door: Door
    """The kind of client, as the client says of itself."""
    method: str
    """POST, PUT or DELETE; SQL for a statement."""
    path: str
    """The path of the request; of a statement its verb and its object: ``DROP JOB speeds``."""
    status: int
    """The status of its answer: below 400 it was done."""
    sequence: int = 0
    """Its number; 0 before it is recorded."""

    @property
    def text(self) -> str:
        """For people, in one line."""
        who = f"{self.user} ({self.role})" if self.user is not None else self.role
        return f"{who}, {self.door.value}: {self.method} {self.path} -> {self.status}"
