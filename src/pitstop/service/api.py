"""The one layer that every door uses: verbs and reads, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from pitstop.model.job import Job, JobState, Progress
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord


@dataclass(frozen=True)
class SubmitRequest:
    """``artifact`` is the name and bytes of a file, or a path or URL that the server can read."""

    artifact_name: str
    artifact_bytes: bytes | None = None
    entry: str | None = None
    args: tuple[str, ...] = ()
    name: str | None = None
    initial_snapshot: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JobView:
    """A job and what its run says of itself."""

    job: Job
    progress: Progress


class Service(Protocol):
    """Verbs wait until they are carried out unless told otherwise; errors are PitstopError."""

    def submit(self, request: SubmitRequest) -> Job:
        """Record the job and let it start; returns at once, in state NOT_RUNNING."""
        ...

    def check(self, request: SubmitRequest, job: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """Compile and compare with a job or snapshot; touches nothing. Returns {plan, report}."""
        ...

    def update(self, name_or_id: str, request: SubmitRequest, watch_seconds: float = 0.0) -> dict[str, Any]:
        """Put a new version in the place of a running or suspended job's; the old one goes on if it is refused or fails.

        A suspended job stays suspended: the new version starts when it is resumed. Its ``gap_seconds`` is None.

        ``request``: what it runs (entry and arguments default to those of the version before), options over those it was
        submitted with, ``initial_snapshot`` the name of the snapshot to take. Returns {version, snapshot, gap_seconds,
        report, text}. IncompatibleError before anything stops; EngineError if the new version failed before it was up, or
        within ``watch_seconds`` after.
        """
        ...

    def jobs(self, include_ended: bool = False) -> list[JobView]: ...

    def job(self, name_or_id: str) -> JobView:
        """NotFoundError ``No job with name or id '<x>' was found``."""
        ...

    def suspend(self, name_or_id: str) -> None: ...

    def resume(self, name_or_id: str) -> None: ...

    def restart(self, name_or_id: str) -> None: ...

    def cancel(self, name_or_id: str) -> None: ...

    def export_snapshot(self, name_or_id: str, snapshot: str, cancel: bool = False) -> SnapshotRecord: ...

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobView:
        """Block until the job is in one of the states; WaitTimeoutError after ``timeout`` seconds."""
        ...

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> tuple[list[str], int]:
        """Lines of the job's log from byte ``after`` on, and the byte to go on from."""
        ...

    def snapshots(self) -> list[SnapshotRecord]: ...

    def snapshot(self, name: str) -> SnapshotManifest: ...

    def delete_snapshot(self, name: str) -> None: ...

    def query_state(self, snapshot: str, stage: str, sql: str, limit: int = 1000) -> dict[str, Any]:
        """Spark SQL on the rows of a stage's state, as the table ``state``: ``{columns: [[name, type]], rows: [[value]], more}``.

        Values are JSON values, times ISO 8601 text; ``more`` tells of rows beyond ``limit``. UsageError if the SQL is wrong.
        """
        ...

    def export_state(self, snapshot: str, stage: str) -> bytes:
        """A parquet file of the rows of a stage's state."""
        ...

    def import_state(self, snapshot: str, stage: str, content: bytes, name: str | None = None) -> SnapshotRecord:
        """Make snapshot ``name`` (default: the same, replaced) with the rows of a parquet file as the stage's state.

        UsageError if they do not have the form of the stage's state.
        """
        ...

    def maps(self) -> list[dict[str, Any]]: ...

    def map_get(self, name: str, key: str) -> str | None: ...

    def map_put(self, name: str, entries: dict[str, str]) -> None: ...

    def map_delete(self, name: str, key: str) -> bool: ...

    def map_entries(self, name: str, prefix: str = "", after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]: ...

    def map_size(self, name: str) -> int: ...

    def map_configure(self, name: str, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None: ...

    def map_journal(self, name: str, after: int | None = None, limit: int = 1000) -> dict[str, Any]: ...

    def server_info(self) -> dict[str, Any]:
        """State, version, size (members) and addresses of the cluster."""
        ...
