"""The jobs of a server, followed by its stream of events."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Collection, Iterator

from pitstop.client.away import Absence, Away
from pitstop.client.http import HttpService
from pitstop.errors import StoreError, UnreachableError, WaitTimeoutError
from pitstop.model.job import JobState, Progress
from pitstop.service.asked import not_in_time
from pitstop.service.job_results import JobStatus

_NO_PROGRESS = Progress()


def watched_jobs(service: HttpService, away: Away, include_ended: bool = False) -> Iterator[JobStatus]:
    """Yield every job as it is, the newest first, and then each job whenever it changes, without its progress. Never ends.

    A job that ends is yielded once more, as ended. While the server or its store is away, ``away`` is called; an error that it
    raises ends the iteration.
    """
    absence, statuses = Absence(away, threading.Event()), dict[str, JobStatus]()
    while True:
        try:
            for change in service.job_changes():
                absence.over()
                jobs = service.jobs(include_ended=True) if change is None else [change]
                for job in (dataclasses.replace(each, progress=_NO_PROGRESS) for each in jobs):
                    if statuses.get(job.id) != job and (include_ended or job.active or job.id in statuses):
                        statuses[job.id] = job
                        yield job
            absence.wait(_ended(service))
        except (StoreError, UnreachableError) as error:
            absence.wait(error)


def job_in(service: HttpService, job_id: str, states: Collection[JobState], seconds: float) -> JobStatus:
    """Return the job of this id once it is in one of these states. WaitTimeoutError if that takes longer than ``seconds``.

    UnreachableError if the server goes away meanwhile. The job runs on without the waiting client.
    """
    deadline = time.monotonic() + seconds
    for change in service.job_changes(seconds):
        job = service.job(job_id) if change is None else change
        if job.id == job_id and job.status in states:
            return job
    if time.monotonic() < deadline:
        raise _ended(service)
    raise not_in_time(job_id, service.job(job_id).display_status, states, seconds)


def settled_job(
    service: HttpService, job_id: str, states: Collection[JobState], away: Away, seconds: float | None = None
) -> JobStatus:
    """Return the job of this id once it is in one of these states, however long that takes.

    WaitTimeoutError after ``seconds``, if they are given. While the server or its store is away, ``away`` is called; an error
    that it raises ends the wait.
    """
    absence = Absence(away, threading.Event())
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        try:
            for change in service.job_changes(None if deadline is None else max(0.1, deadline - time.monotonic())):
                absence.over()
                job = service.job(job_id) if change is None else change
                if job.id == job_id and job.status in states:
                    return job
            if deadline is not None and seconds is not None and time.monotonic() >= deadline:
                raise not_in_time(job_id, service.job(job_id).display_status, states, seconds)
            absence.wait(_ended(service))
        except (StoreError, UnreachableError) as error:
            if deadline is not None and seconds is not None and time.monotonic() >= deadline:
                away_for = f"The server is away, and was not back within {seconds:g} seconds"
                raise WaitTimeoutError(f"{away_for}: {error.message}") from None
            absence.wait(error)


def _ended(service: HttpService) -> UnreachableError:
    return UnreachableError(f"The server at {service.url} has ended.")
