"""How readers of maps ask a store that may be away for a while."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable
from typing import Any, TypeVar

from pitstop.errors import StoreError
from pitstop.maps.ports import MapStore
from pitstop.spark.sources.log import SourceLog
from pitstop.spark.sources.shared import SourceOptions

T = TypeVar("T")
AWAY_SECONDS = 1.0
"""How often a store that is away is asked."""
LONGEST_WAIT = 600.0
"""So many seconds a reader waits within an epoch. Then the run ends, and another one is started once the store is back."""


@functools.cache
def open_store(factory: str, url: str) -> MapStore:
    """The store that ``module:function`` opens at a URL; one a process, for tasks come and go quickly."""
    module, _, function = factory.partition(":")
    store: MapStore = getattr(importlib.import_module(module), function)(url)
    return store


class MapAccess:
    """Asks the store of a run's maps. That it is away is logged once, and that it is back."""

    def __init__(self, factory: str, url: str, log: SourceLog) -> None:
        self._factory, self._url, self._log = factory, url, log
        self._away: str | None = None
        """What is wrong with the store, if it was away when it was asked last."""
        self._ask_at = 0.0

    @classmethod
    def of(cls, options: SourceOptions) -> MapAccess:
        return cls(options.text("storeFactory"), options.text("store"), options.log)

    def __reduce__(self) -> tuple[Any, ...]:
        # The reader travels to the workers, whose clocks are others.
        return MapAccess, (self._factory, self._url, self._log)

    def now(self, question: Callable[[MapStore], T]) -> T:
        """The answer; StoreError while the store is away, which is not asked again within a moment."""
        if self._away is not None and time.monotonic() < self._ask_at:
            raise StoreError(self._away)
        try:
            answer = question(open_store(self._factory, self._url))
        except StoreError as error:
            if self._away is None:
                self._log.warning(f"holding still until the store is back: {error}")
            self._away, self._ask_at = error.message, time.monotonic() + AWAY_SECONDS
            raise
        if self._away is not None:
            self._away = None
            self._log.info("the store is back")
        return answer

    def patiently(self, question: Callable[[MapStore], T]) -> T:
        """The answer, once the store is there. StoreError if that takes too long."""
        until = time.monotonic() + LONGEST_WAIT
        while True:
            try:
                return self.now(question)
            except StoreError:
                if time.monotonic() >= until:
                    raise
            time.sleep(AWAY_SECONDS)
