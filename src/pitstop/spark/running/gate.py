"""The gate between two epochs of a query, and what its run wants to know of each epoch."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from pitstop.pipeline.nodes import Node


class Gate(ABC):
    """The common part of what writes epochs (epochs.EpochWriter) and rows in real time (row_writer.RowWriter)."""

    flows = False
    """True once rows that come go through, although no epoch is over yet."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._closed = False
        self._before: Callable[[], None] = lambda: None
        self._after: Callable[[int], None] = lambda epoch: None
        self._counted: Callable[[str, int], None] = lambda sink, rows: None
        self.last_written = -1
        self.failure: BaseException | None = None
        self.sink: Node | None = None
        """The sink that an epoch is being written into."""

    @property
    @abstractmethod
    def nodes(self) -> tuple[Node, ...]:
        """The stages that lead to the sinks, each once."""

    @property
    def closed(self) -> bool:
        """True once no further epoch may be written."""
        return self._closed

    @abstractmethod
    def close(self, timeout: float) -> bool:
        """Let no further epoch be written, and wait for the one under way. Return False if it did not end in time."""

    def end(self) -> None:
        """Let go of what only a running query needs: it has ended."""
        return

    def end_epoch(self, timeout: float) -> bool:
        """Bring the end of the epoch under way forward, and wait for it. Return False if none is ended so."""
        return False

    def under_way(self, planned: int | None) -> int | None:
        """Return the epoch that is expected to end; ``planned``: the one that Spark has planned and not committed."""
        return planned

    def before_epoch(self, call: Callable[[], None]) -> None:
        """Call this before each epoch from now on, in the thread that writes it."""
        self._before = call

    def after_epoch(self, call: Callable[[int], None]) -> None:
        """Call this with each epoch from now on that is written and about to be committed."""
        self._after = call

    def tell_rows(self, counted: Callable[[str, int], None]) -> None:
        """Call this with a sink and the rows of an epoch that are written into it, where the sink knows them."""
        self._counted = counted
