"""Waking within one process."""

from __future__ import annotations

import threading
from collections import Counter


class MemoryWake:
    """A control.ports.wake.Wake between threads."""

    def __init__(self) -> None:
        self.wakes: Counter[str] = Counter()
        """The number of times that each name was woken, including times without a waiter."""
        self._waiters: dict[str, MemoryWaiter] = {}

    def wake(self, name: str) -> None:
        self.wakes[name] += 1
        waiter = self._waiters.get(name)
        if waiter is not None:
            waiter.woken.set()

    def waiter(self, name: str) -> MemoryWaiter:
        self._waiters[name] = MemoryWaiter(self, name)
        return self._waiters[name]

    def forget(self, waiter: MemoryWaiter) -> None:
        """Stop waking a waiter. A newer waiter of the same name keeps the name."""
        if self._waiters.get(waiter.name) is waiter:
            del self._waiters[waiter.name]


class MemoryWaiter:
    """A control.ports.wake.Waiter of a :class:`MemoryWake`."""

    def __init__(self, wake: MemoryWake, name: str) -> None:
        self._wake, self.name = wake, name
        self.woken = threading.Event()

    def wait(self, seconds: float) -> bool:
        woken = self.woken.wait(max(0.0, seconds))
        self.woken.clear()
        return woken

    def close(self) -> None:
        self._wake.forget(self)
