"""Access of map readers to a store that may be away for a while."""

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
"""The interval at which a store that is away is asked, in seconds."""
LONGEST_WAIT = 600.0
"""The longest that a reader waits within an epoch, in seconds. Then the run ends, and another starts once the store is back."""


@functools.cache
def open_store(factory: str, url: str) -> MapStore:
    """Return the store that ``module:function`` opens at a URL; one for each process, because tasks come and go quickly."""
    module, _, function = factory.partition(":")
    store: MapStore = getattr(importlib.import_module(module), function)(url)
    return store


class MapAccess:
    """Access to the store of a run's maps. It logs once that the store is away, and once that it is back."""

    def __init__(self, factory: str, url: str, log: SourceLog) -> None:
        self._factory, self._url, self._log = factory, url, log
        self._away: str | None = None
        """The store's error, if it was away when it was asked last."""
        self._ask_at = 0.0

    @classmethod
    def of(cls, options: SourceOptions) -> MapAccess:
        return cls(options.text("storeFactory"), options.text("store"), options.log)

    def __reduce__(self) -> tuple[Any, ...]:
        # The reader travels to the workers, whose clocks are others.
        return MapAccess, (self._factory, self._url, self._log)

    def now(self, question: Callable[[MapStore], T]) -> T:
        """Return the answer; StoreError while the store is away, which is then not asked again for a moment."""
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
        """Return the answer once the store is there. StoreError if that takes too long."""
        until = time.monotonic() + LONGEST_WAIT
        while True:
            try:
                return self.now(question)
            except StoreError:
                if time.monotonic() >= until:
                    raise
            time.sleep(AWAY_SECONDS)
