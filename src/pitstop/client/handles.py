"""What a Python user holds: a client, jobs, maps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pitstop.client.http import DEFAULT_URL, HttpService
from pitstop.errors import EngineError
from pitstop.model.job import Job, JobState, Progress
from pitstop.model.snapshot import SnapshotRecord
from pitstop.service.api import Service, SubmitRequest

STARTED = (JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETED, JobState.FAILED)
ENDED = (JobState.COMPLETED, JobState.FAILED)


def connect(url: str | None = None, token: str | None = None) -> Client:
    """A client of the server at ``url`` (default: ``$PITSTOP_URL``, then http://127.0.0.1:8701)."""
    chosen = url or os.environ.get("PITSTOP_URL") or DEFAULT_URL
    return Client(HttpService(chosen, token or os.environ.get("PITSTOP_TOKEN")))


class Client:
    """Submit jobs and find them again."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def submit(
        self,
        artifact: str | Path,
        entry: str | None = None,
        args: tuple[str, ...] | list[str] = (),
        name: str | None = None,
        initial_snapshot: str | None = None,
        config: dict[str, Any] | None = None,
    ) -> JobHandle:
        """Submit an artifact (.py, .zip, .whl); returns at once."""
        request = SubmitRequest(str(artifact), None, entry, tuple(args), name, initial_snapshot, dict(config or {}))
        return JobHandle(self.service, self.service.submit(request).id)

    def jobs(self, include_ended: bool = False) -> list[JobHandle]:
        return [JobHandle(self.service, view.job.id) for view in self.service.jobs(include_ended)]

    def job(self, name_or_id: str) -> JobHandle:
        """NotFoundError if there is none of that name or id."""
        return JobHandle(self.service, self.service.job(name_or_id).job.id)

    def snapshots(self) -> list[SnapshotRecord]:
        return self.service.snapshots()

    def delete_snapshot(self, name: str) -> None:
        self.service.delete_snapshot(name)

    def map(self, name: str) -> MapHandle:
        return MapHandle(self.service, name)


class JobHandle:
    """One job."""

    def __init__(self, service: Service, job_id: str) -> None:
        self._service = service
        self.id = job_id

    @property
    def details(self) -> Job:
        return self._service.job(self.id).job

    @property
    def name(self) -> str:
        return self.details.display_name

    @property
    def status(self) -> JobState:
        return self.details.state

    def metrics(self) -> Progress:
        return self._service.job(self.id).progress

    def suspend(self) -> None:
        self._service.suspend(self.id)

    def resume(self) -> None:
        self._service.resume(self.id)

    def restart(self) -> None:
        self._service.restart(self.id)

    def cancel(self) -> None:
        self._service.cancel(self.id)

    def export_snapshot(self, name: str) -> SnapshotRecord:
        """Export while the job goes on."""
        return self._service.export_snapshot(self.id, name)

    def cancel_and_export_snapshot(self, name: str) -> SnapshotRecord:
        """Export, and end the job exactly there."""
        return self._service.export_snapshot(self.id, name, cancel=True)

    def logs(self) -> list[str]:
        lines, _ = self._service.logs(self.id, 0, 100_000)
        return lines

    def wait_started(self, timeout: float = 180.0) -> JobState:
        """Until it runs; EngineError with its failure if it fails."""
        job = self._service.wait_for(self.id, STARTED, timeout).job
        if job.state is JobState.FAILED:
            raise EngineError(job.failure or "The job failed.", trace=job.failure_details)
        return job.state

    def join(self, timeout: float = 86_400.0) -> JobState:
        """Until it has ended (a suspended job has not); EngineError if it failed and was not cancelled."""
        job = self._service.wait_for(self.id, ENDED, timeout).job
        if job.state is JobState.FAILED and not job.user_cancelled:
            raise EngineError(job.failure or "The job failed.", trace=job.failure_details)
        return job.state


class MapHandle:
    """One map; values are any JSON-able object."""

    def __init__(self, service: Service, name: str) -> None:
        self._service = service
        self.name = name

    def put(self, key: str, value: Any) -> None:
        self.put_all({key: value})

    def put_all(self, entries: dict[str, Any]) -> None:
        self._service.map_put(self.name, {key: json.dumps(value) for key, value in entries.items()})

    def get(self, key: str) -> Any:
        """None if there is no such entry."""
        value = self._service.map_get(self.name, key)
        return None if value is None else json.loads(value)

    def delete(self, key: str) -> bool:
        return self._service.map_delete(self.name, key)

    def entries(self, prefix: str = "") -> dict[str, Any]:
        """All entries, page by page."""
        found: dict[str, Any] = {}
        after: str | None = None
        while page := self._service.map_entries(self.name, prefix, after, 1000):
            found |= {entry["key"]: json.loads(entry["value"]) for entry in page}
            after = page[-1]["key"]
        return found

    def size(self) -> int:
        return self._service.map_size(self.name)

    def journal(self, after: int | None = None, limit: int = 1000) -> dict[str, Any]:
        return self._service.map_journal(self.name, after, limit)

    def configure(self, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        self._service.map_configure(self.name, journal_capacity, ttl_seconds)
