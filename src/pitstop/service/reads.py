"""Reads of jobs and snapshots, from the store and from the files that runs leave."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NoReturn

from pitstop.control.ports.registry import Registry
from pitstop.control.retention import has_begun, kept_until, state_bytes
from pitstop.errors import NotFoundError
from pitstop.kit.wire import check_text
from pitstop.machine.rotating import read_from
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobState, Progress
from pitstop.model.retention import Retention
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.plan.diff import compare
from pitstop.service.asked import Answered, Asked, JobHappened, JobIs, Sign, not_in_time, wait
from pitstop.service.changes import Changes
from pitstop.service.history import JobHistory, Step, history_of
from pitstop.service.job_results import JobEvents, JobStatus, KeptState, OperationStatus
from pitstop.service.job_views import (
    JobGraph,
    JobVerb,
    JobVersion,
    OptionInForce,
    graph_of,
    options_of,
    shown,
    verbs_of,
    version_of,
    versions_of,
)
from pitstop.service.kept_artifacts import Artifact, artifacts_of
from pitstop.service.log_results import LogPage
from pitstop.service.settings import ServerSettings
from pitstop.service.snapshot_facts import differences
from pitstop.service.snapshot_results import SnapshotDiff
from pitstop.snapshots import manifest

MOST_KEPT = 10_000
"""The number of views of jobs that are kept."""
ANSWERED_SECONDS = 60.0
"""The time for which an operation is shown after it was answered."""
MOST_ANSWERED = 1_000
"""The most answered operations that are shown."""
PAGE_BYTES = 1 << 20
"""The most bytes of a log in one page. A longer line is given in pieces of this size."""
_JOB = "The name of the job"


class Reads:
    """The part of the service that only reads jobs and snapshots."""

    def __init__(self, registry: Registry, data: DataFolder, changes: Changes, retention: Retention) -> None:
        self._registry, self._data, self.changes, self._retention = registry, data, changes, retention
        self._statuses = _Statuses(self._view)

    def jobs(self, include_ended: bool = False) -> list[JobStatus]:
        return [self._statuses.of(job, progress) for job, progress in self._registry.overview(include_ended)]

    def jobs_named(self, names: Collection[str]) -> dict[str, JobStatus]:
        return {name: self._statuses.of(*row) for name, row in self._registry.overview_of(names).items()}

    def job(self, name_or_id: str) -> JobStatus:
        rows = self._registry.overview(named=check_text(_JOB, name_or_id))
        return self._view(*rows[0]) if rows else self._status(self._find(name_or_id))

    def kept_states(self) -> list[KeptState]:
        states = []
        for job in self._registry.jobs():
            until = kept_until(job, self._retention)
            size = state_bytes(self._data, job) if until is not None else 0
            if until is not None and size:
                states.append(KeptState(job.id, job.name, job.user_cancelled, until, size))
        return sorted(states, key=lambda state: -state.bytes)

    def wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> JobStatus:
        return wait(self.ask_wait_for(name_or_id, states, timeout), self.changes)

    def ask_wait_for(self, name_or_id: str, states: tuple[JobState, ...], timeout: float) -> Asked[JobStatus]:
        job = self._find(name_or_id)

        def now() -> Job:
            return self._registry.get_job(job.id) or job

        def look() -> JobStatus | None:
            current = now()
            return self._status(current) if current.state in states else None

        def late() -> NoReturn:
            raise not_in_time(name_or_id, now().display_status, states, timeout)

        return Asked(JobIs(job.id, states), look, late, timeout)

    def job_events(self, name_or_id: str, after: int = 0, limit: int = 1000, wait_seconds: float = 0.0) -> JobEvents:
        return wait(self.ask_job_events(name_or_id, after, limit, wait_seconds), self.changes)

    def ask_job_events(self, name_or_id: str, after: int = 0, limit: int = 1000, wait_seconds: float = 0.0) -> Asked[JobEvents]:
        job = self._find(name_or_id)

        def page() -> JobEvents:
            # The job is read before its events: if it has ended, all its events are then there.
            current = self._registry.get_job(job.id)
            if current is None:
                raise NotFoundError(f"Job '{job.display_name}' was forgotten with its events.")
            return JobEvents.of(current, self._registry.events(job.id, after, limit), after, limit)

        def look() -> JobEvents | None:
            now = page()
            return now if now.events or now.ended else None

        return Asked(JobHappened(job.id, after), look, page, wait_seconds)

    def graph(self, name_or_id: str, version: int | None = None) -> JobGraph:
        job = self._find(name_or_id)
        return graph_of(job, job.version if version is None else version_of(job, self._registry.versions(job.id), version))

    def versions(self, name_or_id: str) -> list[JobVersion]:
        job = self._find(name_or_id)
        return [shown(job, record) for record in versions_of(job, self._registry.versions(job.id))]

    def verbs(self, name_or_id: str) -> list[JobVerb]:
        return verbs_of(self._registry, self._find(name_or_id))

    def options(self, name_or_id: str) -> list[OptionInForce]:
        return options_of(self._find(name_or_id))

    def history(self, name_or_id: str, step: Step = Step.SECOND, after: float = 0.0) -> JobHistory:
        job = self._find(name_or_id)
        return history_of(self._registry.samples(job.id, step.seconds, after), step)

    def shown(self, signs: Collection[Sign]) -> set[Sign]:
        """Return the signs that have come."""
        jobs = [sign for sign in signs if isinstance(sign, JobIs)]
        states = self._registry.states({sign.job_id for sign in jobs}) if jobs else {}
        operations = {sign.operation for sign in signs if isinstance(sign, Answered)}
        unanswered = self._registry.unanswered(operations) if operations else set()
        job_signs = [sign for sign in signs if isinstance(sign, JobHappened)]
        newest = self._registry.newest_events({sign.job_id for sign in job_signs}) if job_signs else {}
        arrivals: set[Sign] = {Answered(operation) for operation in operations - unanswered}
        arrivals |= {sign for sign in job_signs if newest.get(sign.job_id, sign.after + 1) > sign.after}
        return arrivals | {sign for sign in jobs if states.get(sign.job_id) in (None, *sign.states)}

    def logs(self, name_or_id: str, after: int = 0, limit: int = 1000) -> LogPage:
        path = self._data.job(self._find(name_or_id).id).log
        begin, page = read_from(path, max(0, after), PAGE_BYTES)
        lines, length = whole_lines(page, limit)
        # A reader from the beginning gets the lines that are kept; one that continues is told of missing bytes.
        return LogPage(lines, begin + length, max(0, begin - after) if after else 0)

    def operations(self) -> list[OperationStatus]:
        return [OperationStatus.of(operation) for operation in self._registry.recent_operations(ANSWERED_SECONDS, MOST_ANSWERED)]

    def artifacts(self) -> list[Artifact]:
        # The versions are read before the jobs: a version recorded in between is then its job's present one.
        version_artifacts = self._registry.version_artifacts()
        return artifacts_of(self._data, [job for job, _ in self._registry.overview()], version_artifacts)

    def settings(self) -> ServerSettings:
        return ServerSettings.of(self._retention)

    def snapshots(self) -> list[SnapshotRecord]:
        return self._registry.snapshots()

    def snapshot(self, name: str) -> SnapshotManifest:
        return manifest.read(self._snapshot_record(name).path)

    def snapshot_diff(self, first: str, second: str) -> SnapshotDiff:
        before, after = self.snapshot(first), self.snapshot(second)
        report = compare(before.plan, after.plan, before.partitions, None, before.watermark_ms, before.imported)
        return SnapshotDiff(differences(before, after), report)

    def _status(self, job: Job) -> JobStatus:
        return self._view(job, self._registry.progress(job.id))

    def _view(self, job: Job, progress: Progress) -> JobStatus:
        return JobStatus.of(job, progress, self._has_state(job), kept_until(job, self._retention))

    def _has_state(self, job: Job) -> bool:
        """True if the saved state exists. The files are checked, since a user may have removed them by hand."""
        lineage = job.saved.lineage
        return lineage is not None and not job.state_dropped and has_begun(self._data, job, lineage)

    def _find(self, name_or_id: str) -> Job:
        jobs = self._registry.find_jobs(check_text(_JOB, name_or_id))
        if not jobs:
            raise NotFoundError(f"No job with name or id '{name_or_id}' was found", job=name_or_id)
        return jobs[0]

    def _snapshot_record(self, name: str) -> SnapshotRecord:
        record = self._registry.get_snapshot(check_text("The name of the snapshot", name))
        if record is None:
            raise NotFoundError(f"Didn't find a snapshot named '{name}'")
        return record


class _Statuses:
    """The views of jobs. A view is made anew only if the job's record or progress has changed: lists are asked for often."""

    def __init__(self, view: Callable[[Job, Progress], JobStatus]) -> None:
        self._view = view
        self._entries: dict[str, tuple[Job, Progress, JobStatus]] = {}

    def of(self, job: Job, progress: Progress) -> JobStatus:
        entry = self._entries.get(job.id)
        if entry is None or entry[0] is not job or entry[1] is not progress:
            if len(self._entries) > MOST_KEPT:
                self._entries.clear()
            entry = self._entries[job.id] = job, progress, self._view(job, progress)
        return entry[2]


def whole_lines(page: bytes, limit: int) -> tuple[list[str], int]:
    """Return at most so many lines, and the number of their bytes. A line without an end counts only if it fills the page."""
    lines: list[str] = []
    end_of_lines = 0
    while len(lines) < limit and (end := page.find(b"\n", end_of_lines)) >= 0:
        lines.append(_text(page[end_of_lines:end]))
        end_of_lines = end + 1
    if not lines and len(page) == PAGE_BYTES:
        piece = page[: _before_last_character(page)]
        return [_text(piece)], len(piece)
    return lines, end_of_lines


def _before_last_character(page: bytes) -> int:
    """Return the place of a page's last character, which may go on in the next page. Bytes that are no UTF-8 are cut anywhere."""
    for back in range(1, 5):
        if page[-back] & 0xC0 != 0x80:
            return len(page) - back
    return len(page)


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace")
