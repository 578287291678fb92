"""Waiting for the store to change, in the process of the control loop."""

from __future__ import annotations

import threading

from pitstop.errors import UnreachableError


class Changes:
    """Wakes whoever waits for something to change in the store.

    Take :attr:`seen` before looking at the store and hand it to :meth:`wait`: a change in between is not missed.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._number = 0
        self._closed = False

    @property
    def seen(self) -> int:
        """The number of the last change."""
        return self._number

    def notify(self) -> None:
        """Something has changed."""
        with self._condition:
            self._number += 1
            self._condition.notify_all()

    def close(self) -> None:
        """Let everybody who waits, or will wait, raise UnreachableError."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def wait(self, seen: int, seconds: float) -> None:
        """Until there is a change after ``seen``, so many seconds at most."""
        with self._condition:
            self._condition.wait_for(lambda: self._number != seen or self._closed, seconds)
            if self._closed:
                raise UnreachableError("The server is ending; what was asked for goes on when it is started again.")
