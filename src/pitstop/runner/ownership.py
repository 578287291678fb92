"""A run's claim to its job while it writes, by a store that may be away for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from pitstop.control.ports.ownership import RunnerLink
from pitstop.errors import FencedError, StoreError
from pitstop.runner.logs import Log

T = TypeVar("T")
AWAY_SECONDS = 1.0
"""The pause, in seconds, between two tries of an epoch that waits for the store."""
LOGGER = "pitstop.runner"


class LinkOwnership:
    """control.ports.ownership.Ownership over the run's link to the store. ``pause`` waits for a number of seconds."""

    def __init__(
        self,
        link: RunnerLink,
        log: Log,
        pause: Callable[[float], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link, self._log, self._pause, self._monotonic = link, log, pause, monotonic
        self._away = False
        self._inside: float | None = None
        self.lost: FencedError | None = None
        """The error by which the job is known to be lost; None while it is not."""

    def check(self) -> None:
        self.patiently(self._link.check)

    @contextmanager
    def held(self) -> Iterator[int | None]:
        with ExitStack() as holding:
            # A store that cannot be entered is waited for; what fails inside is the caller's affair.
            yield self.patiently(lambda: holding.enter_context(self._link.held()))

    def patiently(self, work: Callable[[], T]) -> T:
        while True:
            if self.lost is not None:
                raise self.lost
            self._inside = self._monotonic()
            try:
                result = work()
            except StoreError as error:
                self.say_away(error)
                self._pause(AWAY_SECONDS)
            else:
                self.is_back()
                return result
            finally:
                self._inside = None

    @property
    def seconds(self) -> float:
        """The seconds that the present work with the store has taken. A sink's function may keep all others from writing."""
        begun = self._inside
        return 0.0 if begun is None else self._monotonic() - begun

    def say_away(self, error: StoreError) -> None:
        """Write into the job's log that the store is away, once each time that it goes away."""
        if not self._away:
            self._away = True
            self._log("WARN", LOGGER, f"holding still until the store is back: {error}")

    def is_back(self) -> None:
        """Note that the store answers."""
        self._away = False
