"""Rules for the order of stages: an order that would lose rows is refused where the stage is defined.

Spark has one watermark for a query, which the first ``with_timestamps`` of a chain makes. Stages with state pass it on to those
behind them, and ``with_timestamps`` behind such a stage only says which column is the event time from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.pipeline.names import column_before
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import (
    DistinctSpec,
    IngestionTimestampsSpec,
    JoinSpec,
    LateSpec,
    MapStatefulSpec,
    SinkSpec,
    SourceSpec,
    TimestampsSpec,
    WindowSpec,
)
from pitstop.pipeline.windows import Window

START = "window_start"
_TIMESTAMPS = (TimestampsSpec, IngestionTimestampsSpec)


def check_chains(nodes: Iterable[Node]) -> None:
    """Raise PipelineError unless each stage of a streaming job can follow those before it. Batch jobs have no watermark."""
    for node in nodes:
        if isinstance(node.spec, _TIMESTAMPS):
            _check_timestamps(node)
        elif node.spec.stateful:
            _check_order(node)
        elif isinstance(node.spec, LateSpec):
            _check_late(node, node.spec)
        elif not node.spec.passable and not isinstance(node.spec, SinkSpec):
            _check_early(node)


def check_early_results(nodes: Iterable[Node]) -> None:
    """Raise PipelineError if early results of a stage reach no sink: stages with state only get windows that have ended."""
    early = [node for node in nodes if _gives_early(node)]
    reaching_sink = [early_node for node in nodes if isinstance(node.spec, SinkSpec) for early_node in _early_before(node)]
    for node in early:
        if node not in reaching_sink:
            raise PipelineError(
                f"{_the(node)} gives early results that reach no sink, because the stages behind it get only ended windows: "
                "write it to a sink, too, or leave early_results out."
            )


def streams(node: Node) -> bool:
    """Return True if a source of the stage's rows does not end."""
    return any(isinstance(other.spec, SourceSpec) and not other.source.bounded for other in [node, *_before(node)])


def carries_on(node: Node) -> bool:
    """Return True for timestamps behind a stage with state that has an event time: they share its watermark."""
    return any(other.spec.stateful and _timed(other) for other in _nearest(node))


def bears_starts(node: Node) -> bool:
    """Return True if the event time of its input is the start of windows, which come behind the watermark, when they end."""
    return any(True for parent in node.streams for _ in _starts(parent))


def _check_timestamps(node: Node) -> None:
    nearest = list(_nearest(node))
    for other in nearest:
        if isinstance(other.spec, _TIMESTAMPS):
            raise PipelineError(f"{_the(node)} sets the event time that {_other(other)} has set: keep one of the two.")
    timed = next((other for other in nearest if other.spec.stateful and _timed(other)), None)
    if timed is None:
        return
    if isinstance(node.spec, IngestionTimestampsSpec):
        raise PipelineError(
            f"{_the(node)} stamps the rows of {_other(timed)}, which have an event time: use with_timestamps on a column "
            "of theirs."
        )
    assert isinstance(node.spec, TimestampsSpec)
    if node.spec.allowed_lag_ms or node.spec.idle_timeout_ms:
        raise PipelineError(
            f"{_the(node)} goes on with the watermark of {_other(timed)}: give allowed_lag and idle_timeout to the first "
            "with_timestamps only."
        )
    odd = next((other for other in nearest if not _timed(other)), None)
    if odd is not None:
        raise PipelineError(
            f"{_the(node)} gets rows with an event time, of {_other(timed)}, and without one, of {_other(odd)}: call "
            "with_timestamps before they are merged."
        )


def _check_early(node: Node) -> None:
    """Raise PipelineError if early results would have to pass it: they join the rows of an epoch, behind the query."""
    for early in _early_before(node):
        raise PipelineError(
            f"{_the(node)} reads the early results of {_other(early)}: they go to sinks by select, filter, with_columns and "
            f"transform only; write that stage to its sink before {node.spec.op}, or leave early_results out."
        )


def _early_before(node: Node) -> Iterator[Node]:
    """Yield the stages whose early results reach its input by stateless steps."""
    for parent in node.streams:
        while parent.spec.passable and parent.inputs:
            parent = parent.inputs[0]
        if _gives_early(parent):
            yield parent


def _gives_early(node: Node) -> bool:
    return isinstance(node.spec, WindowSpec) and bool(node.spec.early_ms)


def _check_late(node: Node, spec: LateSpec) -> None:
    """Raise PipelineError for the rows of a stage with state: Spark would compute the stage, and keep its state, twice."""
    stateful = next((other for other in _before(node) if other.spec.stateful), None)
    if stateful is not None:
        raise PipelineError(
            f"Stage '{spec.stage}' ({node.location}) cannot keep its late rows, because they come from {_other(stateful)}, whose "
            "state would be kept once more for them: leave late out, and they are counted; or give late to a stage whose rows "
            "no stage with state has made."
        )


def _check_order(node: Node) -> None:
    """Raise PipelineError if its rows would be late: they bear the start of a window, and come when the window has ended."""
    for parent in node.streams:
        for windows, timestamps in _starts(parent):
            if not _stands_starts(node, windows):
                assert isinstance(windows.spec, WindowSpec)
                raise PipelineError(
                    f"{_the(node)} would get rows of {_other(windows)} too late: their event time is the start of a window, "
                    f"{windows.spec.window.describe()}, which comes when it has ended; use "
                    f"with_timestamps('window_end') in {_other(timestamps)}" + _aligned(node, windows) + "."
                )


def _stands_starts(node: Node, windows: Node) -> bool:
    """Return True if the stage gives the right rows though the event time of its input is the start of those windows."""
    if isinstance(node.spec, (JoinSpec, DistinctSpec)):
        return isinstance(node.spec, DistinctSpec) and node.spec.within_ms is None
    if isinstance(node.spec, MapStatefulSpec):
        return node.spec.ttl_ms is None
    if not isinstance(node.spec, WindowSpec):
        return True
    assert isinstance(windows.spec, WindowSpec)
    first, second = windows.spec.window, node.spec.window
    if not isinstance(first, Window) or not isinstance(second, Window):
        return False
    return first.tumbling and second.slide_ms % first.size_ms == 0


def _aligned(node: Node, windows: Node) -> str:
    assert isinstance(windows.spec, WindowSpec)
    first = windows.spec.window
    if (
        isinstance(node.spec, WindowSpec)
        and isinstance(node.spec.window, Window)
        and isinstance(first, Window)
        and first.tumbling
    ):
        return f", or a slide of a multiple of {text(first.size_ms)}"
    return ""


def _starts(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield (stage with windows, the timestamps behind it) if the node's event time is the start of these windows."""
    if isinstance(node.spec, TimestampsSpec):
        yield from ((windows, node) for windows in _windows(node, node.spec.column))
    elif node.spec.keeps_rows:
        for parent in node.streams:
            yield from _starts(parent)


def _windows(node: Node, column: str) -> Iterator[Node]:
    """Yield the stages whose windows' start reaches the node's input unchanged in this column, as far as names tell."""
    for parent in node.streams:
        if isinstance(parent.spec, WindowSpec):
            if column.casefold() == START:
                yield parent
            continue
        if parent.spec.keeps_columns:
            before = column_before(parent.spec, column)
            if before is not None:
                yield from _windows(parent, before)


def _nearest(node: Node) -> Iterator[Node]:
    """Yield the nearest stages before it that set the event time, keep state or are sources."""
    for parent in node.streams:
        if parent.spec.stateful or isinstance(parent.spec, (*_TIMESTAMPS, SourceSpec)):
            yield parent
        else:
            yield from _nearest(parent)


def _timed(node: Node) -> bool:
    return any(isinstance(other.spec, _TIMESTAMPS) for other in _before(node))


def _before(node: Node) -> Iterator[Node]:
    """Yield all stages that its rows come from, each once, nearest first, without the tables of hash joins."""
    visited_ids: set[int] = set()
    pending = list(node.streams)
    while pending:
        other = pending.pop(0)
        if id(other) not in visited_ids:
            visited_ids.add(id(other))
            yield other
            pending.extend(other.streams)


def _the(node: Node) -> str:
    return f"Stage '{node.name}' ({node.location})"


def _other(node: Node) -> str:
    return f"stage '{node.name}' ({node.location})"
