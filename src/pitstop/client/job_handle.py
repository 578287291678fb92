"""A job, for people who write Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Unpack

from pitstop.client.listener import StatusListener, kept_events
from pitstop.errors import EngineError
from pitstop.model.execution import EPOCHS, ExecutionFacts
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
from pitstop.service.job_results import JobStatus, UpdateResult
from pitstop.service.job_views import JobGraph, JobVerb, JobVersion, OptionInForce
from pitstop.service.log_results import LoggerLevel

STARTED = (JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETED, JobState.FAILED)
ENDED = (JobState.COMPLETED, JobState.FAILED)


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
        request = SubmitRequest(str(artifact), None, entry, tuple(args), None, snapshot, plain_options(config))
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

    def execution(self, epochs: int = EPOCHS) -> ExecutionFacts:
        """Return the times and the skew of the tasks of the last epochs, and Spark's plan. The job must be RUNNING."""
        return self._service.execution(self.id, epochs)

    def peek(self, stage: str, limit: int = 20, wait_seconds: float = 30.0) -> list[dict[str, Any]]:
        """Return rows that a stage gives in the next epoch that gives any. The job must be RUNNING.

        The stage must be the last one with state before a sink, or behind it, or it must feed several sinks: Spark keeps the rows
        of no other.
        """
        result = self._service.peek(self.id, stage, limit, wait_seconds)
        return [dict(zip((name for name, _ in result.columns), row, strict=True)) for row in result.rows]

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
        return self._service.go_back(self.id, version, plain_options(options), watch_seconds, StateAtStart(state), write_again)

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


def plain_options(config: JobOptions | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return options as JSON has them: places may be times."""
    options: dict[str, Any] = dict(config or {})
    return options | ({"seek": places_to_seek("seek", options["seek"])} if options.get("seek") else {})
