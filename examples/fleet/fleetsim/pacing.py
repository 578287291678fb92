"""Simulated time at the speed of a clock, until a signal says stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

from fleetsim.world import Ping, World


class Stop:
    """Set by SIGTERM and SIGINT. SIGUSR1 freezes the world: no more pings, but what was made stays readable."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._frozen = threading.Event()
        signal.signal(signal.SIGUSR1, lambda *_: self._frozen.set())
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: self._event.set())

    @property
    def asked(self) -> bool:
        return self._event.is_set()

    @property
    def frozen(self) -> bool:
        return self._frozen.is_set()

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)


def paced(world: World, speedup: float, stop: Stop) -> Iterator[Ping]:
    """Pings when they are due; what is late is caught up with, never skipped."""
    began = time.monotonic()
    for ping in world.pings():
        ahead = (ping.time - world.start_time) / speedup - (time.monotonic() - began)
        if (ahead > 0 and stop.wait(ahead)) or stop.asked:
            return
        if stop.frozen:
            stop.wait(threading.TIMEOUT_MAX)
            return
        yield ping
