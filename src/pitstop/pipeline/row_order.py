"""Finds the order by which a sink can tell the newer of two rows: the end of their windows, or their event time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from pitstop.pipeline.names import column_before, plain_column, text_of
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.row_specs import DropSpec, ExplodeSpec, RenameSpec, SplitSpec
from pitstop.pipeline.sink import RowOrder
from pitstop.pipeline.specs import (
    FilterSpec,
    IngestionTimestampsSpec,
    MergeSpec,
    RollingSpec,
    SelectSpec,
    TimestampsSpec,
    WindowSpec,
    WithColumnsSpec,
)

END, EARLY = "window_end", "is_early"
_CARRYING = (SelectSpec, FilterSpec, WithColumnsSpec, TimestampsSpec, RenameSpec, DropSpec, ExplodeSpec, SplitSpec)
"""Stages that can pass on one column more than their user asks for."""

_TOGETHER = re.compile(r"\s*concat(?:_ws)?\s*\((?P<parts>[^()]*)\)\s*", re.IGNORECASE)
_FALLBACK = re.compile(r"\b(?:coalesce|ifnull|nvl)\s*\(\s*(?P<name>`?\w+`?)\s*,\s*(?:-?\d+)?\s*\)", re.IGNORECASE)
"""A column with a value in the place of null, without the text of that value."""
_AS_TEXT = re.compile(r"\bcast\s*\(\s*(?P<name>`?\w+`?)\s+as\s+string\s*\)", re.IGNORECASE)
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NAME = re.compile(r"[A-Za-z_]\w*")

Makes = Callable[[Node, str], bool]
"""Returns True if a stage makes the wanted kind of column under that name."""


def row_order(node: Node, key: Any = None) -> RowOrder:
    """Return the order that tells newer from older rows of a stage before a sink with entries of that key, if it has entries.

    Rows that come last are the newest if they are running results of that key. A row that was late has a result of all rows so
    far, too, whatever its time.
    """
    if key is not None and _are_running_results(node, key):
        return RowOrder()
    shuffled = any(other.spec.stateful for other in node.upstream())
    for stage in _carrying(node):
        columns = _columns(stage)
        if columns:
            return RowOrder(columns, stage.name, shuffled)
    return RowOrder(_perhaps(node), None, shuffled)


def _carrying(node: Node) -> Iterator[Node]:
    """Yield the stage and those before it, up to the first one that can pass on no further column."""
    yield node
    while isinstance(node.spec, _CARRYING):
        node = node.inputs[0]
        yield node


def _are_running_results(node: Node, key: Any) -> bool:
    """Return True if all rows of a key come from one group of a rolling aggregate, one after the other."""
    names = _names_in(key)
    for stage in _carrying(node):
        if isinstance(stage.spec, RollingSpec):
            return {name.casefold() for name in stage.spec.keys} <= names
        names = {before.casefold() for name in names if (before := column_before(stage.spec, name)) is not None}
    return False


def _names_in(key: Any) -> set[str]:
    """Return the columns that a key tells apart: that of a plain one, and those that are put together to one text.

    A column may have a value in the place of null: a group of that value and the group of null share an entry.
    """
    text = _FALLBACK.sub(r"\g<name>", _AS_TEXT.sub(r"\g<name>", _LITERAL.sub("", text_of(key) or "")))
    plain = plain_column(key) or plain_column(text.strip())
    if plain is not None:
        return {plain[0].casefold()}
    match = _TOGETHER.fullmatch(text)
    return set() if match is None else {name.casefold() for name in _NAME.findall(match["parts"])}


def _columns(node: Node) -> tuple[str, ...]:
    if _gives(node, END, _ends_windows):
        return (END, EARLY) if _gives(node, EARLY, _is_early) else (END,)
    time = node.event_time
    return (time,) if time is not None and _gives(node, time, _sets_time) else ()


def _perhaps(node: Node) -> tuple[str, ...]:
    """Return the order columns that the rows have if user code, which cannot be looked into, has kept them."""
    while not node.spec.stateful and len(node.inputs) == 1 and node.event_time is None:
        node = node.inputs[0]
    if isinstance(node.spec, WindowSpec):
        return (END, EARLY) if node.spec.early_ms else (END,)
    return (node.event_time,) if node.event_time is not None else ()


def _gives(node: Node, column: str, makes: Makes) -> bool:
    """Return True if ``makes`` holds for this stage or one before it, and the column comes here from there unchanged."""
    if makes(node, column):
        return True
    if node.spec.of_left_out or not node.spec.keeps_columns:
        return False
    before = column_before(node.spec, column)
    if before is None or not node.inputs:
        return False
    each = (_gives(parent, before, makes) for parent in node.streams)
    return all(each) if isinstance(node.spec, MergeSpec) else any(each)


def _ends_windows(node: Node, column: str) -> bool:
    return isinstance(node.spec, WindowSpec) and column.casefold() == END


def _is_early(node: Node, column: str) -> bool:
    return isinstance(node.spec, WindowSpec) and bool(node.spec.early_ms) and column.casefold() == EARLY


def _sets_time(node: Node, column: str) -> bool:
    return isinstance(node.spec, (TimestampsSpec, IngestionTimestampsSpec)) and node.spec.column.casefold() == column.casefold()
