"""Simulated time at the speed of a clock, until a signal says stop."""

from __future__ import annotations

import select
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from fleetsim.world import Ping


class Stoppable(Protocol):
    """What pacing must know about the end."""

    @property
    def ended(self) -> bool:
        """No more pings are wanted."""
        ...

    def wait(self, seconds: float) -> None:
        """Sleep so long; less if the end comes first."""
        ...


class Signals:
    """SIGTERM and SIGINT ask for the end. SIGUSR1 freezes the world: no more pings, but what was made stays readable.

    Made in the main thread, once a process.
    """

    def __init__(self) -> None:
        self.asked = self.frozen = False
        # Signals wake a select(): an Event set by a handler can deadlock, for its lock is not reentrant.
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGUSR1, lambda *_: self._freeze())
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: self._ask())

    @property
    def ended(self) -> bool:
        return self.asked or self.frozen

    def wait(self, seconds: float | None = None) -> None:
        """Sleep until a signal comes, at most so many seconds."""
        if select.select([self._woken], [], [], seconds)[0]:
            self._woken.recv(4096)

    def wait_asked(self) -> None:
        """Sleep until SIGTERM or SIGINT."""
        while not self.asked:
            self.wait()

    def _ask(self) -> None:
        self.asked = True

    def _freeze(self) -> None:
        self.frozen = True


def paced(
    pings: Iterable[Ping],
    start_time: float,
    speedup: float,
    stop: Stoppable,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Ping]:
    """Each ping when it is due; what is late is caught up with, never skipped. Ends when ``stop`` says so.

    ``start_time``: the simulated time (seconds since the epoch) of this moment. ``speedup``: simulated seconds that
    pass in a second of ``clock``.
    """
    began = clock()
    for ping in pings:
        due = began + (ping.time - start_time) / speedup
        while not stop.ended and (ahead := due - clock()) > 0:
            stop.wait(ahead)
        if stop.ended:
            return
        yield ping
