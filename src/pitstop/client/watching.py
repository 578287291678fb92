"""All jobs of a server, as they change."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator

from pitstop.client.away import Absence, Away
from pitstop.client.http import HttpService
from pitstop.errors import StoreError, UnreachableError
from pitstop.model.job import Progress
from pitstop.service.results import JobStatus

_NO_PROGRESS = Progress()


def watched_jobs(service: HttpService, away: Away, include_ended: bool = False) -> Iterator[JobStatus]:
    """Every job as it is, the newest first, and from then on each job whenever it changes, but for its progress. Never ends.

    A job that ends is given once more, as ended. While server or store are away, ``away`` is told; what it raises ends this.
    """
    absence, known = Absence(away, threading.Event()), dict[str, JobStatus]()
    while True:
        try:
            for changed in service.job_changes():
                absence.over()
                found = service.jobs(include_ended=True) if changed is None else [changed]
                for job in (dataclasses.replace(each, progress=_NO_PROGRESS) for each in found):
                    if known.get(job.id) != job and (include_ended or job.active or job.id in known):
                        known[job.id] = job
                        yield job
            absence.wait(UnreachableError(f"The server at {service.url} has ended."))
        except (StoreError, UnreachableError) as error:
            absence.wait(error)
