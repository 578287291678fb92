"""Where a pipeline is cut into its streaming part and what follows inside each epoch.

A job is one Spark query. Spark shares nothing between the branches of a query: a stage that two
branches read would be computed, and its source scanned, twice. So each group of sinks that hang, by
stateless steps only, from one common stage is fed from one *cut*: the streaming query computes the
cut once, and the steps below it run on the rows of the epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pitstop.pipeline.nodes import Node, Op
from pitstop.plan.model import OperatorSlot, SourceSlot

PASSABLE = frozenset({Op.SELECT, Op.FILTER, Op.WITH_COLUMNS, Op.TRANSFORM, Op.TIMESTAMPS, Op.PARSED, Op.DEAD_LETTERS})
"""Steps that mean the same on a stream and on the rows of one epoch."""


@dataclass(frozen=True)
class Cut:
    """``node`` ends a branch of the streaming query; ``sinks`` are fed from its rows."""

    node: Node
    sinks: tuple[Node, ...]


def cuts_of(nodes: tuple[Node, ...]) -> tuple[Cut, ...]:
    """The cuts of a pipeline, in the order of their first sinks."""
    groups: dict[int, list[tuple[Node, list[Node]]]] = {}
    for sink in (node for node in nodes if node.op is Op.SINK):
        path = _path_to_anchor(sink.inputs[0])
        groups.setdefault(id(path[-1]), []).append((sink, path))
    return tuple(_cut(members) for members in groups.values())


def _path_to_anchor(node: Node) -> list[Node]:
    """From a sink's input up through passable steps to the first stage that is none."""
    path = [node]
    while path[-1].op in PASSABLE:
        path.append(path[-1].inputs[0])
    return path


def _cut(members: list[tuple[Node, list[Node]]]) -> Cut:
    paths = [path for _, path in members]
    common = next(node for node in paths[0] if all(any(node is other for other in path) for path in paths))
    return Cut(common, tuple(sink for sink, _ in members))


def operators_of(cuts: tuple[Cut, ...]) -> tuple[OperatorSlot, ...]:
    """Stateful operators in Spark's numbering: from the sink upwards, branch by branch.

    Spark hands out operator ids while it walks the plan from its root, children left to right.
    """
    copies: dict[tuple[str, str], int] = {}
    slots = []
    for cut in cuts:
        for stage, role in _walk(cut.node):
            copy = copies.get((stage, role), 0)
            copies[(stage, role)] = copy + 1
            slots.append(OperatorSlot(stage, role, copy))
    return tuple(slots)


def _walk(node: Node) -> Iterator[tuple[str, str]]:
    if node.op is Op.WINDOW_AGGREGATE:
        if not node.params["window"].tumbling:
            yield node.name, "windows"
        yield node.name, "frames"
    for parent in node.inputs:
        yield from _walk(parent)


def sources_of(cuts: tuple[Cut, ...]) -> tuple[SourceSlot, ...]:
    """Readers of sources in Spark's order: as met when the query is walked from its root, children left to right."""
    slots: list[SourceSlot] = []

    def walk(node: Node, reader: str) -> None:
        if node.op is Op.SOURCE:
            slots.append(SourceSlot(node.name, reader))
        below = node.name if node.op is Op.WINDOW_AGGREGATE else reader
        for parent in node.inputs:
            walk(parent, below)

    for cut in cuts:
        walk(cut.node, "")
    return tuple(slots)
