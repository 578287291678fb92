"""The threads that handle the keys of a queue. A key that takes long holds up its own worker alone: another takes the place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic

from pitstop.operator.kube.queue import K, WorkQueue

Handle = Callable[[K], bool]
"""A function that handles a key, and returns False if that failed."""


class Workers(Generic[K]):
    """Threads that handle the keys of a queue until it is closed.

    ``equipped`` gives each thread its function, and takes it back. ``usual`` threads are free for keys at any time: one that has
    been at a key for ``patience`` seconds is held up, and another one starts, up to ``most`` in all.
    """

    def __init__(
        self,
        queue: WorkQueue[K],
        equipped: Callable[[], AbstractContextManager[Handle[K]]],
        usual: int,
        most: int,
        patience: float = 1.0,
    ) -> None:
        self._queue, self._equipped = queue, equipped
        self._usual, self._most, self._patience = usual, most, patience
        self._changed = threading.Condition()
        self._threads: set[threading.Thread] = set()
        self._since: dict[threading.Thread, float] = {}
        """The time since when a thread has been at its key."""
        self._over = threading.Event()
        self._count = 0

    def start(self) -> None:
        """Start the threads."""
        with self._changed:
            for _ in range(self._usual):
                self._start_one()
        threading.Thread(target=self._relieve, name="relieving", daemon=True).start()

    def join(self, seconds: float) -> bool:
        """Wait for the threads, whose queue is closed. True if all have ended within so many seconds."""
        deadline = time.monotonic() + seconds
        self._over.set()
        with self._changed:
            while self._threads and (seconds_left := deadline - time.monotonic()) > 0:
                self._changed.wait(seconds_left)
            return not self._threads

    def _start_one(self) -> None:
        self._count += 1
        thread = threading.Thread(target=self._work, name=f"reconciling-{self._count}", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        this = threading.current_thread()
        try:
            with self._equipped() as handle:
                while self._is_needed() and (key := self._queue.take()) is not None:
                    with self._changed:
                        self._since[this] = time.monotonic()
                    well = False
                    try:
                        well = handle(key)
                    finally:
                        self._queue.done(key, failed=not well)
                        with self._changed:
                            del self._since[this]
        finally:
            with self._changed:
                self._threads.discard(this)
                self._changed.notify_all()

    def _is_needed(self) -> bool:
        with self._changed:
            return self._free() <= self._usual

    def _free(self) -> int:
        too_early = time.monotonic() - self._patience
        return len(self._threads) - sum(since <= too_early for since in self._since.values())

    def _relieve(self) -> None:
        """Start a thread for each one that is held up, or has ended by an error."""
        while not self._over.wait(self._patience / 2):
            with self._changed:
                while self._free() < self._usual and len(self._threads) < self._most:
                    self._start_one()
