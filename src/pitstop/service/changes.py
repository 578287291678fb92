"""Waiting for the store to change, in the process of the control loop."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pitstop.errors import UnreachableError


class Changes:
    """Wakes callers that wait for a change in the store.

    Read :attr:`seen` before a look at the store, and pass it to :meth:`wait`: a change in between is then not missed.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._number = 0
        self._closed = False
        self._listeners: list[Callable[[], None]] = []

    def listen(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` at each change, and when this is closed. It must return at once."""
        self._listeners.append(callback)

    @property
    def closed(self) -> bool:
        """True once waiting has been ended by :meth:`close`."""
        return self._closed

    @property
    def seen(self) -> int:
        """The number of the last change."""
        return self._number

    def notify(self) -> None:
        """Report a change."""
        with self._condition:
            self._number += 1
            self._condition.notify_all()
        self._tell()

    def close(self) -> None:
        """Make every present and later :meth:`wait` raise UnreachableError."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self._tell()

    def wait(self, number: int, seconds: float) -> None:
        """Wait until there is a change after that ``number``, at most so many seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._number != number or self._closed, seconds)
            if self._closed:
                raise ended()

    def _tell(self) -> None:
        for callback in list(self._listeners):
            callback()


def ended() -> UnreachableError:
    """Return the error for callers that wait while the server ends."""
    return UnreachableError("The server is ending; the request goes on when it starts again.")
