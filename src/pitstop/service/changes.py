"""Waiting for the store to change, in the process of the control loop."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pitstop.errors import UnreachableError


class Changes:
    """Wakes whoever waits for something to change in the store.

    Take :attr:`seen` before looking at the store and hand it to :meth:`wait`: a change in between is not missed.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._number = 0
        self._closed = False
        self._listeners: list[Callable[[], None]] = []

    def listen(self, told: Callable[[], None]) -> None:
        """Call ``told`` at each change, and when nobody is to wait any more; it must return at once."""
        self._listeners.append(told)

    @property
    def closed(self) -> bool:
        """True once nobody is to wait any more."""
        return self._closed

    @property
    def seen(self) -> int:
        """The number of the last change."""
        return self._number

    def notify(self) -> None:
        """Something has changed."""
        with self._condition:
            self._number += 1
            self._condition.notify_all()
        self._tell()

    def close(self) -> None:
        """Let everybody who waits, or will wait, raise UnreachableError."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self._tell()

    def wait(self, seen: int, seconds: float) -> None:
        """Until there is a change after ``seen``, so many seconds at most."""
        with self._condition:
            self._condition.wait_for(lambda: self._number != seen or self._closed, seconds)
            if self._closed:
                raise ended()

    def _tell(self) -> None:
        for told in list(self._listeners):
            told()


def ended() -> UnreachableError:
    """What those are told who wait while the server ends."""
    return UnreachableError("The server is ending; what was asked for goes on when it is started again.")
