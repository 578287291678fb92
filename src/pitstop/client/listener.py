"""Listeners that call a function with each change of a job's state, until the job ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

from pitstop.client.away import Absence, Away
from pitstop.errors import NotFoundError, PitstopError, UsageError
from pitstop.model.job_event import JobEvent, StateChange
from pitstop.service.api import Service

POLL_SECONDS = 20.0
"""The longest that one request waits for a change."""
MOST_AT_ONCE = 10_000
"""The most events that one request asks for."""

Told = Callable[[StateChange], object]
"""A function that is called with each change."""

log = logging.getLogger("pitstop.client")


def kept_events(service: Service, job_id: str, after: int = 0) -> Iterator[JobEvent]:
    """Yield each kept event with a number above ``after``, oldest first, page by page."""
    while (page := service.job_events(job_id, after, MOST_AT_ONCE)).events:
        yield from page.events
        after = page.next


def events_of(service: Service, job_id: str, after: int, away: Away, stop: threading.Event) -> Iterator[JobEvent]:
    """Yield each event with a number above ``after`` as it comes.

    The iteration ends when the job has ended or is forgotten, ``stop`` is set, or the client is closed. While the server or its
    store is away, each failed attempt calls ``away`` with the error and the seconds of the absence. No event is missed: the next
    request asks for what follows the last event that was yielded.
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
    """Calls a function with each change of a job's state, in order, from a separate thread.

    It ends with its job. An error that the function raises goes to the log, and the next change comes all the same.
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
        """Stop calling the function. No call is under way when this returns, except one that ``remove`` itself is called from."""
        with self._calling:
            self._removed.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the listener has ended, after the last change of its job. False after ``timeout`` seconds."""
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
        except Exception:  # the function is the user's: it must not end the listener
            log.exception("a status listener of job %s failed at %s", self._job_id, change.text)

    def _say_away(self, error: PitstopError, seconds: float) -> None:
        log.info("a status listener of job %s waits for the server: %s", self._job_id, error.message)
