"""State that ends by the clock: the state of stages behind ingestion time, where time goes on when no rows come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import DistinctSpec, IngestionTimestampsSpec, JoinSpec, MapStatefulSpec, OwnCodeSpec, Spec, WindowSpec
from pitstop.pipeline.windows import Window
from pitstop.plan.model import OperatorSlot

LOOK_SECONDS = 10.0
"""A query without rows is looked at this often, or as often as its shortest timeout if that is shorter."""
SHORTEST_MS = 500


@dataclass(frozen=True)
class ClockTime:
    """Stages whose event time is the clock, and state that ends by it."""

    stages: frozenset[str]
    grids_ms: tuple[int, ...]
    """State may end once the clock has passed a multiple of one of these."""
    ending: tuple[bool, ...]
    """True, for each operator with state in Spark's order, if its state ends by time."""

    @classmethod
    def of(cls, event_times: Iterable[Node], operators: tuple[OperatorSlot, ...], nodes: Iterable[Node]) -> ClockTime | None:
        """Return the clock time of a query; None if nothing in it ends by the clock."""
        stages = frozenset(node.name for node in event_times if isinstance(node.spec, IngestionTimestampsSpec))
        grids = {node.name: _grid_ms(node.spec) for node in nodes}
        ending = [grids.get(slot.stage) for slot in operators]
        if not stages or not any(ending):
            return None
        return cls(stages, tuple({grid for grid in ending if grid}), tuple(grid is not None for grid in ending))

    def passes(self, before_ms: int, now_ms: int) -> bool:
        """True if state may have ended between two moments."""
        return any(before_ms // grid != now_ms // grid for grid in self.grids_ms)

    @property
    def look_seconds(self) -> float:
        """The interval, in seconds, at which the query checks if state has ended."""
        return min(LOOK_SECONDS, max(SHORTEST_MS, min(self.grids_ms)) / 1000)


def _grid_ms(spec: Spec) -> int | None:
    """Return the grid (ms) at whose multiples of the clock the stage's state may end; None if it does not end by time."""
    if isinstance(spec, WindowSpec):
        if isinstance(spec.window, Window):
            return spec.window.slide_ms
        length = spec.window.timeout_ms
    elif isinstance(spec, (JoinSpec, DistinctSpec)) and spec.within_ms is not None:
        length = spec.within_ms
    elif isinstance(spec, MapStatefulSpec) and spec.ttl_ms is not None:
        length = spec.ttl_ms
    elif isinstance(spec, OwnCodeSpec):
        length = round(LOOK_SECONDS * 1000)
    else:
        return None
    return max(SHORTEST_MS, min(length, round(LOOK_SECONDS * 1000)))
