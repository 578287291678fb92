"""Slow work beside the workers that reconcile: what waits for an address, or for a job, keeps no other resource waiting."""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pitstop.operator.world import Key

T = TypeVar("T")


@dataclass(frozen=True)
class Room:
    """The numbers of errands that run at once: in all, for resources of one namespace, and to one place."""

    all: int
    of_one_namespace: int
    to_one_place: int


@dataclass
class _Errand(Generic[T]):
    mark: str
    place: str
    work: Callable[[], T]
    running: bool = False
    over: bool = False
    result: T | None = None
    error: Exception | None = None


def _in_a_thread(run: Callable[[], None]) -> None:
    threading.Thread(target=run, name="errand", daemon=True).start()


class Errands(Generic[T]):
    """One errand for each resource. ``done`` is called with its key once the errand is over: the resource is then looked at.

    Errands wait for room in the order in which they were begun; those that lack room for themselves let others pass.
    """

    def __init__(
        self, room: Room, report: Callable[[Key], None], start: Callable[[Callable[[], None]], None] = _in_a_thread
    ) -> None:
        self._room, self._report, self._start = room, report, start
        self._lock = threading.Condition()
        self._errands: dict[Key, _Errand[T]] = {}
        self._running: list[tuple[Key, _Errand[T]]] = []

    def has(self, key: Key, mark: str) -> bool:
        """True if this errand of a resource waits, runs, or is over and not forgotten. ``mark`` tells it from earlier ones."""
        with self._lock:
            errand = self._errands.get(key)
            return errand is not None and errand.mark == mark

    def begin(self, key: Key, mark: str, place: str, work: Callable[[], T]) -> None:
        """Begin an errand, in the place of any other of this resource. ``place`` is where it may have to wait."""
        with self._lock:
            self._errands[key] = _Errand(mark, place, work)
        self._start_those_with_room()

    def outcome(self, key: Key, mark: str) -> T | None:
        """Return what an errand has brought; None while it is under way. An error that it met is raised, and it is forgotten."""
        with self._lock:
            errand = self._errands.get(key)
            if errand is None or errand.mark != mark or not errand.over:
                return None
            if errand.error is not None:
                del self._errands[key]
                raise errand.error
            return errand.result

    def forget(self, key: Key) -> None:
        """Forget the errand of a resource. One that runs goes on, and what it brings is dropped."""
        with self._lock:
            self._errands.pop(key, None)

    def runs(self, key: Key) -> bool:
        """True while an errand of this resource runs, a forgotten one included."""
        with self._lock:
            return any(each == key for each, _ in self._running)

    def wait(self, seconds: float) -> None:
        """Wait until no errand runs, so many seconds at most. None begins from now on."""
        deadline = time.monotonic() + seconds
        with self._lock:
            self._errands.clear()
            while self._running and (seconds_left := deadline - time.monotonic()) > 0:
                self._lock.wait(seconds_left)

    def _start_those_with_room(self) -> None:
        while (errand := self._next()) is not None:
            self._start(functools.partial(self._run, *errand))

    def _next(self) -> tuple[Key, _Errand[T]] | None:
        with self._lock:
            if len(self._running) >= self._room.all:
                return None
            namespaces = Counter(key.namespace for key, _ in self._running)
            places = Counter((key.namespace, errand.place) for key, errand in self._running)
            keys = {key for key, _ in self._running}
            for key, errand in self._errands.items():
                if errand.running or errand.over or key in keys:
                    continue
                if namespaces[key.namespace] >= self._room.of_one_namespace:
                    continue
                if places[key.namespace, errand.place] >= self._room.to_one_place:
                    continue
                errand.running = True
                self._running.append((key, errand))
                return key, errand
            return None

    def _run(self, key: Key, errand: _Errand[T]) -> None:
        try:
            errand.result = errand.work()
        except Exception as error:  # whoever takes the result of the errand gets it
            errand.error = error
        except BaseException as error:  # a library that panics ends its errand, and no more
            errand.error = RuntimeError(f"{type(error).__name__}: {error}")
        with self._lock:
            errand.running, errand.over = False, True
            self._running = [each for each in self._running if each[1] is not errand]
            self._lock.notify_all()
        self._start_those_with_room()
        self._report(key)
