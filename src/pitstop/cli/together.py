"""One deed on several things at the same time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
MOST = 16
"""The most deeds at the same time."""


def together(deed: Callable[[T], R], things: Iterable[T]) -> Iterator[tuple[T, R | Exception]]:
    """Do the deed on all things, and yield each with its result or its error, in their order, as soon as it is known.

    Ctrl-C ends the wait at once: the threads do not keep the process alive.
    """
    pending = list(things)
    results: list[queue.SimpleQueue[R | Exception]] = [queue.SimpleQueue() for _ in pending]
    numbers: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(pending)):
        numbers.put(number)

    def work() -> None:
        while True:
            try:
                number = numbers.get_nowait()
            except queue.Empty:
                return
            try:
                results[number].put(deed(pending[number]))
            except Exception as error:  # the caller gets it in the thing's turn
                results[number].put(error)

    for _ in range(min(MOST, len(pending))):
        threading.Thread(target=work, daemon=True).start()
    for thing, result in zip(pending, results, strict=True):
        yield thing, result.get()
