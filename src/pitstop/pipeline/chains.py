"""Which stages may follow which: what would lose rows, or never give any, is refused where the stage is defined.

Spark has one watermark for a query. A stage with state passes it on to those behind it, and a second ``with_timestamps``
behind another one would make the watermark wait for rows that wait for the watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pitstop.errors import PipelineError
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import (
    HashJoinSpec,
    IngestionTimestampsSpec,
    MapStatefulSpec,
    RollingSpec,
    SourceSpec,
    TimestampsSpec,
    WindowSpec,
)

TIMESTAMPS = (TimestampsSpec, IngestionTimestampsSpec)
KEYED = (RollingSpec, MapStatefulSpec)


def check_chains(nodes: Iterable[Node]) -> None:
    """PipelineError unless each stage of a streaming job can follow those before it. Batch jobs have no watermark."""
    for node in nodes:
        if isinstance(node.spec, TIMESTAMPS):
            _check_timestamps(node)
        elif node.spec.stateful:
            _check_stateful(node)


def streams(node: Node) -> bool:
    """True if a source before the stage, or the stage itself, does not end."""
    return any(isinstance(other.spec, SourceSpec) and not other.source.bounded for other in node.upstream())


def _check_timestamps(node: Node) -> None:
    for other in _nearest(node):
        if isinstance(other.spec, TIMESTAMPS):
            raise PipelineError(f"{_named(node)} sets the event time that {_other(other)} has set: keep one of the two.")
        timed = not isinstance(other.spec, KEYED) and any(isinstance(before.spec, TIMESTAMPS) for before in _before(other))
        if timed:
            raise PipelineError(
                f"{_named(node)} sets the event time behind {_other(other)}, which has one: the watermark would wait for "
                "itself, and no window would ever end."
            )


def _check_stateful(node: Node) -> None:
    for other in _before(node):
        both = f"{_named(node)} cannot follow {_other(other)}"
        if isinstance(node.spec, KEYED) and isinstance(other.spec, (*KEYED, WindowSpec)):
            raise PipelineError(f"{both}: Spark runs no Python state behind a window or other Python state.")
        if isinstance(other.spec, MapStatefulSpec) and other.spec.ttl_ms is not None:
            raise PipelineError(f"{both}: what a time to live evicts would come too late for it.")


def _nearest(node: Node) -> Iterator[Node]:
    """The stages before it that set the event time or keep state, where only other stages lie between."""
    for parent in _inputs(node):
        if parent.spec.stateful or isinstance(parent.spec, TIMESTAMPS):
            yield parent
        else:
            yield from _nearest(parent)


def _before(node: Node) -> Iterator[Node]:
    """All stages that its rows come from, each once, nearest first; tables of hash joins are none."""
    seen: set[int] = set()
    pending = list(_inputs(node))
    while pending:
        other = pending.pop(0)
        if id(other) not in seen:
            seen.add(id(other))
            yield other
            pending.extend(_inputs(other))


def _inputs(node: Node) -> tuple[Node, ...]:
    return node.inputs[:1] if isinstance(node.spec, HashJoinSpec) else node.inputs


def _named(node: Node) -> str:
    return f"Stage '{node.name}' ({node.location})"


def _other(node: Node) -> str:
    return f"stage '{node.name}' ({node.location})"
