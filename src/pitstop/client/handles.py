"""The Python client: a connection, and handles of jobs and maps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from pitstop.client.http import DEFAULT_URL, HttpService
from pitstop.client.listener import StatusListener, kept_events
from pitstop.client.rows import SqlRows, rows_of_last
from pitstop.errors import EngineError
from pitstop.kit.wire import json_text
from pitstop.maps.model import Entry
from pitstop.model.job import JobState, Progress
from pitstop.model.job_event import JobEvent, StateChange
from pitstop.model.operation import StateAtStart
from pitstop.model.snapshot import SnapshotRecord
from pitstop.service.api import Service, SubmitRequest
from pitstop.service.history import JobHistory, Step
from pitstop.service.job_views import JobGraph, JobVerb, JobVersion, OptionInForce
from pitstop.service.kept_artifacts import Artifact
from pitstop.service.results import JobStatus, JournalPage, LoggerLevel, UpdateResult

STARTED = (JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETED, JobState.FAILED)
ENDED = (JobState.COMPLETED, JobState.FAILED)


def connect(url: str | None = None, token: str | None = None) -> Client:
    """A client of the server at ``url`` (default: ``$PITSTOP_URL``, then http://127.0.0.1:8701).

    ``token`` (default: ``$PITSTOP_TOKEN``) need not be given for a server of one's own on this machine that has made its token.
    """
    chosen = url or os.environ.get("PITSTOP_URL") or DEFAULT_URL
    return Client(HttpService(chosen, token or os.environ.get("PITSTOP_TOKEN")))


class Client:
    """Submit jobs and find them again. May be used with ``with``, or kept for as long as the process lives."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give back the connections."""
        if isinstance(self.service, HttpService):
            self.service.close()

    def submit(
        self,
        artifact: str | Path,
        entry: str | None = None,
        args: tuple[str, ...] | list[str] = (),
        name: str | None = None,
        initial_snapshot: str | None = None,
        config: dict[str, Any] | None = None,
        id: str | None = None,
    ) -> JobHandle:
        """Submit an artifact; returns at once, the job starts by itself (:meth:`JobHandle.wait_started`).

        ``artifact`` is a .py, .zip, .whl or .sql file of this machine, or a URL that the server reads. ``entry`` is
        ``module:function``; it may be left out if there is exactly one job. ``config`` goes over the options in the code;
        None in it leaves what the code says. With an ``id`` of your own (16 hex digits in four groups, the first below 8) the
        same may be submitted again after a broken connection: if there is the job already, it is returned. Raises
        ArtifactError, UsageError (unknown option), NotFoundError (snapshot) and ConflictError (an active job has that name).
        """
        request = SubmitRequest(str(artifact), None, entry, tuple(args), name, initial_snapshot, dict(config or {}), id)
        return JobHandle(self.service, self.service.submit(request).id)

    def jobs(self, include_ended: bool = False) -> list[JobHandle]:
        """Jobs that have not ended, or all that are remembered."""
        return [JobHandle(self.service, found.id) for found in self.service.jobs(include_ended)]

    def job(self, name_or_id: str) -> JobHandle:
        """NotFoundError if there is none of that name or id."""
        return JobHandle(self.service, self.service.job(name_or_id).id)

    def snapshots(self) -> list[SnapshotRecord]:
        """Named snapshots, by name."""
        return self.service.snapshots()

    def artifacts(self) -> list[Artifact]:
        """The files of jobs that the server keeps, by name, each with the versions of jobs that use it."""
        return self.service.artifacts()

    def sql(self, statements: str) -> SqlRows:
        """Carry out statements of SQL, with ``;`` between them; the rows of the last one, as dicts by column.

        UsageError with the place of what is wrong: nothing is done then. The first one that fails ends the rest, with the error
        of the verb that it stands for.
        """
        return rows_of_last(self.service, statements)

    def query_state(self, snapshot: str, stage: str, sql: str = "SELECT * FROM state", limit: int = 1000) -> list[dict[str, Any]]:
        """Rows of Spark SQL on the state of a stage in a snapshot: the table ``state``. UsageError if the SQL is wrong."""
        found = self.service.query_state(snapshot, stage, sql, limit)
        return [dict(zip([name for name, _ in found.columns], row, strict=True)) for row in found.rows]

    def export_state(self, snapshot: str, stage: str, file: str | Path) -> None:
        """Write the state of a stage in a snapshot to a parquet file."""
        Path(file).write_bytes(self.service.export_state(snapshot, stage))

    def import_state(self, snapshot: str, stage: str, file: str | Path, name: str | None = None) -> SnapshotRecord:
        """Put the rows of a parquet file in the place of a stage's state, in the same snapshot or in a new one of that name."""
        return self.service.import_state(snapshot, stage, Path(file).read_bytes(), name)

    def delete_snapshot(self, name: str) -> None:
        """NotFoundError if there is none of that name."""
        self.service.delete_snapshot(name)

    def log_levels(self) -> list[LoggerLevel]:
        """The levels of loggers that hold for servers and all runs."""
        return self.service.log_levels()

    def set_log_level(self, logger: str, level: str | None) -> None:
        """Let a logger of servers and all runs tell what is of this level and graver; None: as usual. Nothing is restarted."""
        self.service.set_log_level(logger, level)

    def map(self, name: str) -> MapHandle:
        """A map; it comes into being with its first entry."""
        return MapHandle(self.service, name)


class JobHandle:
    """One job, by its id. Verbs return once they are carried out; ConflictError if the job's state forbids them."""

    def __init__(self, service: Service, job_id: str) -> None:
        self._service = service
        self.id = job_id

    def __repr__(self) -> str:
        return f"JobHandle({self.id!r})"

    @property
    def details(self) -> JobStatus:
        """All that is known of it now."""
        return self._service.job(self.id)

    @property
    def name(self) -> str:
        """``N/A`` for a job without a name."""
        return self.details.display_name

    @property
    def status(self) -> JobState:
        """Its state now."""
        return self.details.status

    def metrics(self) -> Progress:
        """Progress of its run: epoch, rows, watermark, and each stage's numbers."""
        return self._service.job(self.id).progress

    def suspend(self) -> None:
        """Stop after the present epoch; the state is kept."""
        self._service.suspend(self.id)

    def resume(self) -> None:
        """Go on from the kept state: of a suspended job, or of one that has failed or was cancelled.

        Nothing happens to a job that runs; ConflictError if it has completed, or its state is gone.
        """
        self._service.resume(self.id)

    def restart(self) -> None:
        """Stop after the present epoch and start again."""
        self._service.restart(self.id)

    def cancel(self) -> None:
        """End at once; the state is kept for a while, a day by default, and :meth:`resume` brings it back.

        Nothing happens if it has ended.
        """
        self._service.cancel(self.id)

    def configure(self, **options: Any) -> None:
        """Change options of the suspended job, such as ``snapshot_interval="1 second"``: its next run has them.

        UsageError for an option that only an update may change; ConflictError if the job is not suspended.
        """
        self._service.configure(self.id, options)

    def rollback(self) -> None:
        """Go back to the version before an update that is being made ready, starts or is watched."""
        self._service.rollback(self.id)

    def discard(self) -> None:
        """Remove the state that the ended job keeps. ConflictError if it has not ended."""
        self._service.discard(self.id)

    def export_snapshot(self, name: str) -> SnapshotRecord:
        """Export while the job goes on."""
        return self._service.export_snapshot(self.id, name)

    def cancel_and_export_snapshot(self, name: str) -> SnapshotRecord:
        """Export, and end the job exactly there."""
        return self._service.export_snapshot(self.id, name, cancel=True)

    def update(
        self,
        artifact: str | Path,
        entry: str | None = None,
        args: tuple[str, ...] | list[str] = (),
        config: dict[str, Any] | None = None,
        snapshot: str | None = None,
        watch_seconds: float = 0.0,
    ) -> UpdateResult:
        """Put a new version in the place of the one before.

        A suspended job stays suspended, and starts with the new version when it is resumed.
        ``entry`` and ``args`` default to those of the version before; ``config`` goes over its options, and may say
        ``renamed={"new": "old"}``, and ``allow_drop=["speed"]`` or ``allow_drop=True``: without it DropError if any saved state
        would be dropped. IncompatibleError before anything stops; EngineError if the new version failed before it was up, or
        within ``watch_seconds`` after: the old one then goes on.
        """
        request = SubmitRequest(str(artifact), None, entry, tuple(args), None, snapshot, dict(config or {}))
        return self._service.update(self.id, request, watch_seconds)

    def log_levels(self) -> list[LoggerLevel]:
        """The levels of loggers that hold for its runs."""
        return self._service.log_levels(self.id)

    def set_log_level(self, logger: str, level: str | None) -> None:
        """Let a logger of its runs tell what is of this level and graver; None: as for all jobs. Nothing is restarted."""
        self._service.set_log_level(logger, level, self.id)

    def graph(self, version: int | None = None) -> JobGraph:
        """Its pipeline: the stages of a version, by default of its present one, and what they read of one another."""
        return self._service.graph(self.id, version)

    def versions(self) -> list[JobVersion]:
        """The versions that it has and had, the newest first; by default 50 are kept."""
        return self._service.versions(self.id)

    def go_back(
        self,
        version: int,
        watch_seconds: float = 0.0,
        state: StateAtStart | Literal["present", "snapshot", "empty"] = "present",
        write_again: bool = False,
        **options: Any,
    ) -> UpdateResult:
        """Update it to the code, arguments and options of an earlier version; ``options`` go over these.

        It becomes a new version, and goes on from the state of the present one; IncompatibleError if that has not all of its
        stages and sources. ``state="snapshot"`` starts it from its own latest snapshot, and reads again what came since;
        ``"empty"`` lets begin empty what the present state has not. Where rows would then be written into a sink that may have
        them, it wants ``write_again=True``. Raises as :meth:`update`.
        """
        return self._service.go_back(self.id, version, options, watch_seconds, StateAtStart(state), write_again)

    def verbs(self) -> list[JobVerb]:
        """What can be asked of it, and what each would be refused with as it is now; nothing is asked for."""
        return self._service.verbs(self.id)

    def options(self) -> list[OptionInForce]:
        """All its options, each with the value in force and where that comes from."""
        return self._service.options(self.id)

    def history(self, step: Step | Literal["second", "minute"] = "second", after: float = 0.0) -> JobHistory:
        """How it did in each second, by default of the last 15 minutes, or minute, of the last 24 hours, later than a time.

        In columns: rows, epochs, watermark and state, of the job and of each of its stages. ``after``: seconds since the epoch.
        """
        return self._service.history(self.id, Step(step), after)

    def events(self, after: int = 0) -> list[JobEvent]:
        """What happened to it after that number, oldest first: changes of its state with their reasons, updates and snapshots.

        By default the newest 1,000 are kept.
        """
        return list(kept_events(self._service, self.id, after))

    def add_status_listener(self, function: Callable[[StateChange], object], after: int | None = None) -> StatusListener:
        """Call ``function`` with each change of its state from now on, or after that number of its events, until it has ended.

        The calls come in the order of the changes, from a thread of their own, and none is missed while the server is away.
        """
        return StatusListener(self._service, self.id, function, after)

    def logs(self) -> list[str]:
        """Every line of its log so far."""
        lines: list[str] = []
        after = 0
        while True:
            page = self._service.logs(self.id, after, 10_000)
            if not page.lines:
                return lines
            lines, after = lines + page.lines, page.next

    def wait_started(self, timeout: float = 180.0) -> JobState:
        """Wait until it runs; EngineError with its failure if it does not come to that, WaitTimeoutError after ``timeout`` s."""
        job = self._service.wait_for(self.id, STARTED, timeout)
        raise_failure(job)
        return job.status

    def join(self, timeout: float = 86_400.0) -> JobState:
        """Wait until it has ended (a suspended job has not); EngineError if it failed and was not cancelled.

        WaitTimeoutError after ``timeout`` seconds.
        """
        job = self._service.wait_for(self.id, ENDED, timeout)
        if not job.user_cancelled:
            raise_failure(job)
        return job.status


def raise_failure(job: JobStatus) -> None:
    """Raise EngineError if the job has failed, or was suspended because it would have."""
    if job.status is JobState.FAILED:
        raise EngineError(job.failure or "The job failed.", trace=job.failure_details)
    if job.status is JobState.SUSPENDED and (job.suspension_cause or "").startswith("Execution failure"):
        cause = (job.suspension_cause or "").partition("\n")[2].partition("\n")[0]
        raise EngineError(f"Job '{job.display_name}' is suspended: {cause}", trace=job.failure_details)


class MapHandle:
    """One map; values are any JSON-able object."""

    def __init__(self, service: Service, name: str) -> None:
        self._service = service
        self.name = name

    def put(self, key: str, value: Any, expected_version: int | None = None) -> None:
        """Write one entry.

        With ``expected_version`` only if that is its version still (:meth:`entry`; 0: there is none): ConflictError if somebody
        else has written it meanwhile.
        """
        self._service.map_put(self.name, {key: self._text(key, value)}, expected_version)

    def put_all(self, entries: dict[str, Any]) -> None:
        """Write entries, all or none; UsageError if a value is no JSON."""
        self._service.map_put(self.name, {key: self._text(key, value) for key, value in entries.items()})

    def get(self, key: str) -> Any:
        """None if there is no such entry."""
        value = self._service.map_get(self.name, key)
        return None if value is None else json.loads(value)

    def entry(self, key: str) -> Entry | None:
        """The entry with its version and times, and its value as JSON text; None if there is no such entry."""
        return self._service.map_entry(self.name, key)

    def delete(self, key: str, version: int | None = None) -> bool:
        """False if there was no such entry. With a version only if that is its version still, else ConflictError."""
        return self._service.map_delete(self.name, key, version)

    def entries(self, prefix: str = "") -> dict[str, Any]:
        """All entries whose key begins with ``prefix``, by key."""
        found: dict[str, Any] = {}
        after: str | None = None
        while page := self._service.map_entries(self.name, prefix, after, 1000):
            found |= {entry.key: json.loads(entry.value) for entry in page}
            after = page[-1].key
        return found

    def size(self) -> int:
        """How many entries."""
        return self._service.map_size(self.name)

    def journal(self, after: int | None = None, limit: int = 1000) -> JournalPage:
        """A page of events with sequence > ``after`` (None: from the oldest that is kept); their values are JSON text."""
        return self._service.map_journal(self.name, after, limit)

    def configure(self, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        """Make the map or change its settings; None leaves one as it is, ``ttl_seconds`` 0 keeps entries for ever."""
        self._service.map_configure(self.name, journal_capacity, ttl_seconds)

    def _text(self, key: str, value: Any) -> str:
        return json_text(value, f"The value of '{key}' for map '{self.name}'")
