"""The service in the process that has the store: what the doors of a server need beside the verbs and reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Protocol

from pitstop.control.ports.wake import Waiter
from pitstop.model.audit import AuditEntry
from pitstop.model.job import JobState
from pitstop.model.operation import Answer, Operation, StateAtStart, UserRequest
from pitstop.model.origin import ELSEWHERE, PathOrigin
from pitstop.model.selecting import OPERATOR, Asker
from pitstop.service.api import Service, SubmitRequest
from pitstop.service.asked import Asked, Sign
from pitstop.service.changes import Changes
from pitstop.service.cluster_results import Backup, ClusterInfo
from pitstop.service.job_results import JobEvents, JobStatus, OperationStatus, UpdateResult
from pitstop.service.sql_results import Result
from pitstop.sql.statements import Statement


class Cluster(Protocol):
    """The cluster of a server: its description, and changes to it."""

    def info(self) -> ClusterInfo: ...

    def add_member(self) -> str: ...

    def remove_member(self, name: str) -> None: ...

    def replace_engine(self, name: str) -> list[str]: ...

    def shut_down(self) -> None:
        """Begin to shut down. Return at once."""
        ...


class BackupDesk(Protocol):
    """Takes backups of a server."""

    def take(self, target: Path) -> Backup:
        """Take a backup, as Service.backup does."""
        ...


class SupportBundles(Protocol):
    """Makes support bundles of a server."""

    def bundle(self, service: Service) -> bytes:
        """Return a bundle, as Service.support_bundle does."""
        ...


class ServerService(Service, Protocol):
    """The service in the process that has the store. A slow verb can also be asked now and awaited later, without a thread.

    ``ask...`` carries out the verb of that name, and returns when the verb would begin to wait.
    """

    changes: Changes
    """The signal that tells when to look for an answer."""

    def note_audit(self, entries: Sequence[AuditEntry]) -> None:
        """Record entries of the audit."""
        ...

    def end_session(self, session: str, until: float) -> None:
        """Record that a browser's session has ended which would have lasted until then, for all servers of the store."""
        ...

    def ended_sessions(self) -> dict[str, float]:
        """Return the sessions that have ended before their time, and when each would have ended by itself."""
        ...

    def carry_out(self, statement: Statement, asker: Asker = OPERATOR, origin: PathOrigin = ELSEWHERE) -> Result:
        """Run one SQL statement.

        ``asker``: whose it is, if it is a query; ``origin``: what the relative paths of a new mapping count from.
        """
        ...

    def is_look(self, statement: Statement) -> bool:
        """True if a statement does no more than the reads that viewers may ask for."""
        ...

    def progress_waiter(self) -> Waiter:
        """Return a waiter that is woken when a run has reported its progress. There can be one at a time."""
        ...

    def operations(self) -> list[OperationStatus]:
        """Return the operations on jobs that are not answered, or were answered in the last minute, by number."""
        ...

    def jobs_named(self, names: Collection[str]) -> dict[str, JobStatus]:
        """Return the jobs of these names and ids. Names without a job are left out."""
        ...

    def shown(self, signs: Collection[Sign]) -> set[Sign]:
        """Return the signs that have come. This is fast even for thousands."""
        ...

    def ask(self, name_or_id: str, request: UserRequest[Answer]) -> Asked[Operation]:
        """Write a request down, as :meth:`do` does. The result of the operation is its answer."""
        ...

    def ask_update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> Asked[UpdateResult]: ...

    def ask_go_back(
        self,
        name_or_id: str,
        version: int,
        options: dict[str, Any] | None = None,
        watch_seconds: float = 0.0,
        start: StateAtStart = StateAtStart.PRESENT,
        write_again: bool = False,
    ) -> Asked[UpdateResult]: ...

    def ask_job_events(
        self, name_or_id: str, after: int = 0, limit: int = 1000, wait_seconds: float = 0.0
    ) -> Asked[JobEvents]: ...

    def ask_wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> Asked[JobStatus]: ...
