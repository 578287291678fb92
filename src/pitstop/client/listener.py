"""Tells a function each change of a job's state, as long as the job lives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

from pitstop.client.away import Absence, Away
from pitstop.errors import NotFoundError, PitstopError, UsageError
from pitstop.model.job_event import JobEvent, StateChange
from pitstop.service.api import Service

POLL_SECONDS = 20.0
"""How long one request waits for a change."""
MOST_AT_ONCE = 10_000
"""So many events one request asks for."""

Told = Callable[[StateChange], object]
"""What is called with each change."""

log = logging.getLogger("pitstop.client")


def kept_events(service: Service, job_id: str, after: int = 0) -> Iterator[JobEvent]:
    """Each event after that number that the server keeps, which may be more than one page, oldest first."""
    while (page := service.job_events(job_id, after, MOST_AT_ONCE)).events:
        yield from page.events
        after = page.next


def events_of(service: Service, job_id: str, after: int, away: Away, stop: threading.Event) -> Iterator[JobEvent]:
    """Each event after that number as it comes, until the job has ended or is forgotten, ``stop`` is set or the client closed.

    While the server or its store is away, ``away`` is told at each attempt why, and for how many seconds it has been so. None is
    missed: asking goes on after the last event that was given.
    """
    absence = Absence(away, stop)
    while not stop.is_set():
        try:
            page = service.job_events(job_id, after, wait_seconds=POLL_SECONDS)
        except (NotFoundError, UsageError):
            return
        except PitstopError as error:
            absence.wait(error)
            continue
        absence.over()
        yield from page.events
        if page.ended:
            return
        after = page.next


class StatusListener:
    """A function that is called with each change of one job's state, in their order, in a thread of its own.

    It ends with its job. What the function raises goes to the log, and the next change comes all the same.
    """

    def __init__(self, service: Service, job_id: str, function: Told, after: int | None = None) -> None:
        self._service, self._job_id, self._function = service, job_id, function
        self._calling = threading.RLock()
        self._removed = threading.Event()
        newest = max((event.sequence for event in kept_events(service, job_id)), default=0)
        first = newest if after is None else after
        self._thread = threading.Thread(target=self._listen, args=(first,), name=f"status of {job_id}", daemon=True)
        self._thread.start()

    def remove(self) -> None:
        """Call the function no more: when this returns, no call of it is under way, but for one that this is called in."""
        with self._calling:
            self._removed.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, after the last change of its job, at most so many seconds; True if it has."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _listen(self, after: int) -> None:
        for event in events_of(self._service, self._job_id, after, self._say_away, self._removed):
            with self._calling:
                if self._removed.is_set():
                    return
                if isinstance(event, StateChange):
                    self._call(event)

    def _call(self, change: StateChange) -> None:
        try:
            self._function(change)
        except Exception:
            log.exception("a status listener of job %s failed at %s", self._job_id, change.text)

    def _say_away(self, error: PitstopError, seconds: float) -> None:
        log.info("a status listener of job %s waits for the server: %s", self._job_id, error.message)
