"""How a sink can tell which of two rows is the newer one: by the end of their windows, or by their event time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pitstop.pipeline.names import column_before
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.sinks import RowOrder
from pitstop.pipeline.specs import (
    DeadLettersSpec,
    DistinctSpec,
    FarAheadSpec,
    FilterSpec,
    HashJoinSpec,
    IngestionTimestampsSpec,
    JoinSpec,
    LateSpec,
    MergeSpec,
    RollingSpec,
    SelectSpec,
    TimestampsSpec,
    UnhandledSpec,
    WindowSpec,
    WithColumnsSpec,
)

END, EARLY = "window_end", "is_early"
_CARRYING = (SelectSpec, FilterSpec, WithColumnsSpec, TimestampsSpec)
"""Stages that give on a column more than their user asks for."""
_KEEPING = (RollingSpec, DistinctSpec, JoinSpec)
"""Stages with state that give on the columns of their rows."""
_OTHER_ROWS = (DeadLettersSpec, FarAheadSpec, LateSpec, UnhandledSpec)

Makes = Callable[[Node, str], bool]
"""Whether a column of a stage's rows is what is looked for."""


def row_order(node: Node) -> RowOrder:
    """By what the rows of a stage, which go into a sink, are newer or older."""
    shuffled = any(other.spec.stateful for other in node.upstream())
    for stage in _carrying(node):
        columns = _columns(stage)
        if columns:
            return RowOrder(columns, stage.name, shuffled)
    return RowOrder(_perhaps(node), None, shuffled)


def _carrying(node: Node) -> Iterator[Node]:
    """The stage, and those before it as far back as steps lead which can give on another column."""
    yield node
    while isinstance(node.spec, _CARRYING):
        node = node.inputs[0]
        yield node


def _columns(node: Node) -> tuple[str, ...]:
    if _gives(node, END, _ends_windows):
        return (END, EARLY) if _gives(node, EARLY, _is_early) else (END,)
    time = node.event_time
    return (time,) if time is not None and _gives(node, time, _sets_time) else ()


def _perhaps(node: Node) -> tuple[str, ...]:
    """The columns that its rows have if code into which nobody can look has kept them."""
    while not node.spec.stateful and len(node.inputs) == 1 and node.event_time is None:
        node = node.inputs[0]
    if isinstance(node.spec, WindowSpec):
        return (END, EARLY) if node.spec.early_ms else (END,)
    return (node.event_time,) if node.event_time is not None else ()


def _gives(node: Node, column: str, makes: Makes) -> bool:
    """True if the column is made by a stage that makes it so, at the latest by this one, and comes here as it is."""
    if makes(node, column):
        return True
    if (node.spec.stateful and not isinstance(node.spec, _KEEPING)) or isinstance(node.spec, _OTHER_ROWS):
        return False
    before = column_before(node.spec, column)
    if before is None or not node.inputs:
        return False
    inputs = node.inputs[:1] if isinstance(node.spec, HashJoinSpec) else node.inputs
    each = (_gives(parent, before, makes) for parent in inputs)
    return all(each) if isinstance(node.spec, MergeSpec) else any(each)


def _ends_windows(node: Node, column: str) -> bool:
    return isinstance(node.spec, WindowSpec) and column.casefold() == END


def _is_early(node: Node, column: str) -> bool:
    return isinstance(node.spec, WindowSpec) and bool(node.spec.early_ms) and column.casefold() == EARLY


def _sets_time(node: Node, column: str) -> bool:
    return isinstance(node.spec, (TimestampsSpec, IngestionTimestampsSpec)) and node.spec.column.casefold() == column.casefold()
