"""The Python client: a connection, and handles of jobs and maps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Unpack

from pitstop.client.address import DEFAULT_URL
from pitstop.client.http import HttpService
from pitstop.client.listener import StatusListener, kept_events
from pitstop.client.rows import SqlRows, rows_of_last
from pitstop.errors import EngineError
from pitstop.kit.wire import json_text
from pitstop.maps.model import Entry
from pitstop.model.job import DisplayStatus, JobState, Progress
from pitstop.model.job_event import JobEvent, StateChange
from pitstop.model.operation import (
    Cancel,
    CancelAndExport,
    Configure,
    Discard,
    Export,
    Restart,
    Resume,
    Rollback,
    StateAtStart,
    Suspend,
)
from pitstop.model.option_values import places_to_seek
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.typed_options import JobOptions
from pitstop.service.api import Service, SubmitRequest
from pitstop.service.history import JobHistory, Step
from pitstop.service.job_views import JobGraph, JobVerb, JobVersion, OptionInForce
from pitstop.service.kept_artifacts import Artifact
from pitstop.service.results import JobStatus, JournalPage, LoggerLevel, UpdateResult

STARTED = (JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETED, JobState.FAILED)
ENDED = (JobState.COMPLETED, JobState.FAILED)


def connect(url: str | None = None, token: str | None = None) -> Client:
    """Return a client of the server at ``url`` (default: ``$PITSTOP_URL``, then http://127.0.0.1:8701).

    ``token`` defaults to ``$PITSTOP_TOKEN``. It can be left out for the user's own server on this machine if that server has made
    its token.
    """
    address = url or os.environ.get("PITSTOP_URL") or DEFAULT_URL
    return Client(HttpService(address, token or os.environ.get("PITSTOP_TOKEN"), names_folders=True))


class Client:
    """Submits jobs and finds them again. Use it in a ``with`` statement, or keep it as long as the process lives."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if isinstance(self.service, HttpService):
            self.service.close()

    def submit(
        self,
        artifact: str | Path,
        entry: str | None = None,
        args: tuple[str, ...] | list[str] = (),
        name: str | None = None,
        initial_snapshot: str | None = None,
        config: JobOptions | Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> JobHandle:
        """Submit an artifact and return at once: the job starts by itself (:meth:`JobHandle.wait_started`).

        ``artifact`` is a .py, .zip, .whl or .sql file of this machine, or a URL that the server reads. ``entry`` is
        ``module:function``; it can be left out if the artifact holds exactly one job. ``config`` overrides the options in the
        code; a value of None leaves what the code says. With an ``id`` of your own (16 hex digits in four groups, the first below
        8) you can submit again after a broken connection: a job that already has the id is returned. Raises ArtifactError,
        UsageError (unknown option), NotFoundError (snapshot) and ConflictError (an active job has that name).
        """
        request = SubmitRequest(str(artifact), None, entry, tuple(args), name, initial_snapshot, _plain(config), id)
        return JobHandle(self.service, self.service.submit(request).id)

    def jobs(self, include_ended: bool = False) -> list[JobHandle]:
        """Return the jobs that have not ended, or all that are remembered."""
        return [JobHandle(self.service, status.id) for status in self.service.jobs(include_ended)]

    def job(self, name_or_id: str) -> JobHandle:
        """Return the job of that name or id. NotFoundError if there is none."""
        return JobHandle(self.service, self.service.job(name_or_id).id)

    def snapshots(self) -> list[SnapshotRecord]:
        """Return the named snapshots, by name."""
        return self.service.snapshots()

    def artifacts(self) -> list[Artifact]:
        """Return the files of jobs that the server keeps, by name, each with the versions of jobs that use it."""
        return self.service.artifacts()

    def sql(self, statements: str) -> SqlRows:
        """Run SQL statements, separated by ``;``, and return the rows of the last one, as dicts by column.

        UsageError, with the place of the mistake, if the text cannot be read: no statement is run then. The first statement that
        fails ends the rest, with the error of the verb that it stands for.
        """
        return rows_of_last(self.service, statements)

    def query_state(self, snapshot: str, stage: str, sql: str = "SELECT * FROM state", limit: int = 1000) -> list[dict[str, Any]]:
        """Run Spark SQL on a stage's state in a snapshot (table ``state``), and return rows. UsageError if the SQL is wrong."""
        result = self.service.query_state(snapshot, stage, sql, limit)
        return [dict(zip([name for name, _ in result.columns], row, strict=True)) for row in result.rows]

    def export_state(self, snapshot: str, stage: str, file: str | Path) -> None:
        """Write the state of a stage in a snapshot to a parquet file."""
        Path(file).write_bytes(self.service.export_state(snapshot, stage))

    def import_state(self, snapshot: str, stage: str, file: str | Path, name: str | None = None) -> SnapshotRecord:
        """Replace a stage's state by the rows of a parquet file, in the same snapshot or in a new one called ``name``."""
        return self.service.import_state(snapshot, stage, Path(file).read_bytes(), name)

    def delete_snapshot(self, name: str) -> None:
        """Delete a snapshot. NotFoundError if there is none of that name."""
        self.service.delete_snapshot(name)

    def log_levels(self) -> list[LoggerLevel]:
        """Return the levels of loggers for servers and all runs."""
        return self.service.log_levels()

    def set_log_level(self, logger: str, level: str | None) -> None:
        """Set the level from which a logger writes, in servers and all runs. None restores the default. Nothing is restarted."""
        self.service.set_log_level(logger, level)

    def map(self, name: str) -> MapHandle:
        """Return a map. The map is made with its first entry."""
        return MapHandle(self.service, name)


class JobHandle:
    """A job, found by its id. A verb returns once it is carried out, and raises ConflictError if the job's state forbids it."""

    def __init__(self, service: Service, job_id: str) -> None:
        self._service = service
        self.id = job_id

    def __repr__(self) -> str:
        return f"JobHandle({self.id!r})"

    @property
    def details(self) -> JobStatus:
        """Everything that is known of the job now."""
        return self._service.job(self.id)

    @property
    def name(self) -> str:
        """The job's name; ``N/A`` if it has none."""
        return self.details.display_name

    @property
    def status(self) -> JobState:
        """The job's state now, in Jet's words: FAILED also if a user cancelled it."""
        return self.details.status

    @property
    def display_status(self) -> DisplayStatus:
        """The word for its state that people look at: CANCELLED if a user cancelled the job."""
        return self.details.display_status

    def metrics(self) -> Progress:
        """Return the progress of the run: epoch, rows, watermark, and each stage's numbers."""
        return self._service.job(self.id).progress

    def suspend(self) -> None:
        """Stop after the present epoch. The state is kept."""
        self._service.do(self.id, Suspend())

    def resume(self) -> None:
        """Continue a suspended, failed or cancelled job from its kept state.

        A job that runs stays as it is. ConflictError if the job has completed, or its state is gone.
        """
        self._service.do(self.id, Resume())

    def restart(self) -> None:
        """Stop after the present epoch and start again."""
        self._service.do(self.id, Restart())

    def cancel(self) -> None:
        """End at once. The state is kept for a while, a day by default, and :meth:`resume` brings the job back.

        A job that has ended stays as it is.
        """
        self._service.do(self.id, Cancel())

    def configure(self, **options: Unpack[JobOptions]) -> None:
        """Change options of the suspended job, such as ``snapshot_interval="1 second"``, for its next run.

        UsageError for an option that only an update may change; ConflictError if the job is not suspended.
        """
        self._service.do(self.id, Configure(dict(options)))

    def rollback(self) -> None:
        """Undo an update that is being prepared, starts or is watched: return to the version before it."""
        self._service.do(self.id, Rollback())

    def discard(self) -> None:
        """Remove the state that the ended job keeps. ConflictError if it has not ended."""
        self._service.do(self.id, Discard())

    def export_snapshot(self, name: str) -> SnapshotRecord:
        """Export a snapshot without ending the job."""
        return self._service.do(self.id, Export(name))

    def cancel_and_export_snapshot(self, name: str) -> SnapshotRecord:
        """Export a snapshot, and end the job exactly there."""
        return self._service.do(self.id, CancelAndExport(name))

    def update(
        self,
        artifact: str | Path,
        entry: str | None = None,
        args: tuple[str, ...] | list[str] = (),
        config: JobOptions | Mapping[str, Any] | None = None,
        snapshot: str | None = None,
        watch_seconds: float = 0.0,
    ) -> UpdateResult:
        """Replace the job's version by a new one.

        A suspended job stays suspended, and starts with the new version when it is resumed. ``entry`` and ``args`` default to
        those of the version before. ``config`` overrides its options. It may also hold ``renamed={"new": "old"}``,
        ``seek={"orders": "earliest"}`` with a time or offsets as well (such a place is dropped, which needs ``allow_drop``), and
        ``allow_drop=["speed"]`` or ``allow_drop=True``: without ``allow_drop``, an update that would drop saved state raises
        DropError. IncompatibleError is raised before anything stops. EngineError is raised if the new version fails before it is
        up, or within ``watch_seconds`` after: the old version then continues.
        """
        request = SubmitRequest(str(artifact), None, entry, tuple(args), None, snapshot, _plain(config))
        return self._service.update(self.id, request, watch_seconds)

    def log_levels(self) -> list[LoggerLevel]:
        """Return the levels of loggers for this job's runs."""
        return self._service.log_levels(self.id)

    def set_log_level(self, logger: str, level: str | None) -> None:
        """Set the level from which a logger writes in this job's runs. None: the level for all jobs. Nothing is restarted."""
        self._service.set_log_level(logger, level, self.id)

    def graph(self, version: int | None = None) -> JobGraph:
        """Return the pipeline of a version, by default of the present one: its stages, and the stages that each of them reads."""
        return self._service.graph(self.id, version)

    def versions(self) -> list[JobVersion]:
        """Return the versions that the job has and had, the newest first. By default 50 are kept."""
        return self._service.versions(self.id)

    def go_back(
        self,
        version: int,
        watch_seconds: float = 0.0,
        state: StateAtStart | Literal["present", "snapshot", "empty"] = "present",
        write_again: bool = False,
        **options: Unpack[JobOptions],
    ) -> UpdateResult:
        """Update the job to the code, arguments and options of an earlier version. ``options`` override these.

        The result is a new version that continues from the state of the present one. IncompatibleError if that state lacks any of
        the version's stages or sources. ``state="snapshot"`` starts from the version's own latest snapshot, and reads again what
        came since. ``state="empty"`` lets stages and sources that the present state lacks begin empty. Where a sink may then
        receive rows that it already has, ``write_again=True`` is needed. Raises as :meth:`update`.
        """
        return self._service.go_back(self.id, version, _plain(options), watch_seconds, StateAtStart(state), write_again)

    def verbs(self) -> list[JobVerb]:
        """Return the verbs for the job, each with the refusal that it would get now. No verb is carried out."""
        return self._service.verbs(self.id)

    def options(self) -> list[OptionInForce]:
        """Return all options of the job, each with the value in force and its origin."""
        return self._service.options(self.id)

    def history(self, step: Step | Literal["second", "minute"] = "second", after: float = 0.0) -> JobHistory:
        """Return the job's figures for each second, or each minute, after a time.

        Seconds are kept for the last 15 minutes, minutes for the last 24 hours, by default. The figures come in columns: rows,
        epochs, watermark and state, of the job and of each of its stages. ``after`` is in seconds since the epoch.
        """
        return self._service.history(self.id, Step(step), after)

    def events(self, after: int = 0) -> list[JobEvent]:
        """Return the events with a number above ``after``, oldest first.

        Events are changes of state with their reasons, updates and snapshots. By default the newest 1,000 are kept.
        """
        return list(kept_events(self._service, self.id, after))

    def add_status_listener(self, function: Callable[[StateChange], object], after: int | None = None) -> StatusListener:
        """Call ``function`` with each change of the job's state until the job has ended.

        The changes are those from now on, or those after event number ``after``. The calls come in the order of the changes, from
        a separate thread. No change is missed while the server is away.
        """
        return StatusListener(self._service, self.id, function, after)

    def logs(self) -> list[str]:
        """Return every line of the job's log so far."""
        lines: list[str] = []
        after = 0
        while True:
            page = self._service.logs(self.id, after, 10_000)
            if not page.lines:
                return lines
            lines, after = lines + page.lines, page.next

    def wait_started(self, timeout: float = 180.0) -> JobState:
        """Wait until the job runs. EngineError with its failure if it fails first, WaitTimeoutError after ``timeout`` seconds."""
        job = self._service.wait_for(self.id, STARTED, timeout)
        raise_failure(job)
        return job.status

    def join(self, timeout: float = 86_400.0) -> JobState:
        """Wait until the job has ended (a suspended job has not). EngineError if it failed and was not cancelled.

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
    """A map. Its values can be any objects that JSON can hold."""

    def __init__(self, service: Service, name: str) -> None:
        self._service = service
        self.name = name

    def put(self, key: str, value: Any, expected_version: int | None = None) -> None:
        """Write one entry.

        With ``expected_version``, the entry is written only if it still has that version (:meth:`entry`; 0: there is no entry).
        ConflictError if it was written meanwhile.
        """
        self._service.map_put(self.name, {key: self._text(key, value)}, expected_version)

    def put_all(self, entries: dict[str, Any]) -> None:
        """Write entries, all or none. UsageError if a value cannot be written as JSON."""
        self._service.map_put(self.name, {key: self._text(key, value) for key, value in entries.items()})

    def get(self, key: str) -> Any:
        """Return the value of an entry; None if there is no such entry."""
        value = self._service.map_get(self.name, key)
        return None if value is None else json.loads(value)

    def entry(self, key: str) -> Entry | None:
        """Return the entry with its version and times, and its value as JSON text; None if there is no such entry."""
        return self._service.map_entry(self.name, key)

    def delete(self, key: str, version: int | None = None) -> bool:
        """Delete an entry; False if there was none. With ``version``, ConflictError if the entry no longer has that version."""
        return self._service.map_delete(self.name, key, version)

    def entries(self, prefix: str = "") -> dict[str, Any]:
        """Return all entries whose key begins with ``prefix``, by key."""
        values: dict[str, Any] = {}
        after: str | None = None
        while page := self._service.map_entries(self.name, prefix, after, 1000):
            values |= {entry.key: json.loads(entry.value) for entry in page}
            after = page[-1].key
        return values

    def size(self) -> int:
        """Return the number of entries."""
        return self._service.map_size(self.name)

    def journal(self, after: int | None = None, limit: int = 1000) -> JournalPage:
        """Return a page of events with sequence > ``after`` (None: from the oldest that is kept). Their values are JSON text."""
        return self._service.map_journal(self.name, after, limit)

    def configure(self, journal_capacity: int | None = None, ttl_seconds: float | None = None) -> None:
        """Make the map or change its settings. None leaves a setting as it is; ``ttl_seconds`` 0 keeps entries for ever."""
        self._service.map_configure(self.name, journal_capacity, ttl_seconds)

    def _text(self, key: str, value: Any) -> str:
        return json_text(value, f"The value of '{key}' for map '{self.name}'")


def _plain(config: JobOptions | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return options as JSON has them: places may be times."""
    options: dict[str, Any] = dict(config or {})
    return options | ({"seek": places_to_seek("seek", options["seek"])} if options.get("seek") else {})
