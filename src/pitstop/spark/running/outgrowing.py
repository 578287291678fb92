"""State that is kept in memory for as long as it fits there (option state_store=auto)."""

from __future__ import annotations

from collections.abc import Callable

from pitstop.model.config import StateStore
from pitstop.model.job import Progress
from pitstop.spark.base.state_stores import SHARE_TO_HOLD, memory_for_state, store_of
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.running.query import RunningQuery


class MemoryWatch:
    """A watch over the memory that the state of a run takes. It keeps the state from taking all of it.

    State that is too large is moved by the reader of :attr:`outgrown`. Meanwhile epochs go on, as long as the rest of the heap
    holds what they add. Then the query ends between two epochs, and the run holds still.
    """

    def __init__(self, job: CompiledJob, log: Callable[[str, str, str], None], holds: bool = True) -> None:
        """Create it; with ``holds`` False epochs go on, however large the state is, because it could not be moved."""
        self._job, self._log, self._may_hold = job, log, holds
        self._most: int | None = None
        self._watches = job.config.state_store is StateStore.AUTO
        self._held: RunningQuery | None = None
        self.outgrown: int | None = None
        """The bytes that the state takes, if that is more than it may."""

    def look(self, progress: Progress, query: RunningQuery) -> None:
        """Measure the state after an epoch of this query."""
        if not self._watches:
            return
        if self._most is None:
            self._watches = store_of(query.checkpoint.provider()) is StateStore.MEMORY
            self._most = memory_for_state(self._job.spark)
            if not self._watches:
                return
        size = sum(int(stage.get("state_bytes") or 0) for stage in progress.stages.values())
        if size > self._most and self.outgrown is None:
            sentence = f"state takes {size:,} bytes of memory and may take {self._most:,}: it moves to disk (option state_store)"
            self._log("INFO", "pitstop.engine", sentence)
        self.outgrown = size if size > self._most else None
        if self._may_hold and size > SHARE_TO_HOLD * self._most and self._held is not query:
            query.writer.close(0.0)
            self._held = query
            self._log("WARN", "pitstop.engine", f"state takes {size:,} bytes of memory: no epoch begins until it has moved")

    def holds(self, query: RunningQuery) -> bool:
        """Return True once no epoch of the query begins any more, because memory has no room for what it would add."""
        return self._held is query
