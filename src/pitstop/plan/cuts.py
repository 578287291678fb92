"""The cuts of a pipeline into its streaming part and the steps that follow inside each epoch.

A job is one Spark query. Spark shares nothing between the branches of a query: a stage that two branches read would be computed,
and its source scanned, twice. So each group of sinks that hang, by stateless steps only, from one common stage is fed from one
*cut*: the streaming query computes the cut once, and the steps below it run on the rows of the epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pitstop.model.layout import StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import OwnCodeSpec, SinkSpec, SourceSpec
from pitstop.plan.model import OperatorSlot, SourceSlot


@dataclass(frozen=True)
class Cut:
    """``node`` ends a branch of the streaming query; ``sinks`` are fed from its rows."""

    node: Node
    sinks: tuple[Node, ...]


def cuts_of(nodes: tuple[Node, ...]) -> tuple[Cut, ...]:
    """Return the cuts of a pipeline, in the order of their first sinks."""
    groups: dict[int, list[tuple[Node, list[Node]]]] = {}
    for sink in (node for node in nodes if isinstance(node.spec, SinkSpec)):
        path = _path_to_anchor(sink.inputs[0])
        groups.setdefault(id(path[-1]), []).append((sink, _with_order(sink, path)))
    return tuple(_cut(members) for members in groups.values())


def chained(nodes: tuple[Node, ...]) -> bool:
    """Return True if a stateful stage reads the output of another, as a stage of the user's own Spark code may within itself."""
    if any(isinstance(node.spec, OwnCodeSpec) for node in nodes):
        return True
    stateful = [node for node in nodes if node.spec.stateful]
    return any(other is not node and other.spec.stateful for node in stateful for other in node.upstream())


def _path_to_anchor(node: Node) -> list[Node]:
    """Return a sink's input and the stages upstream of it, up to and including the first that is not passable."""
    path = [node]
    while path[-1].spec.passable:
        path.append(path[-1].inputs[0])
    return path


def _with_order(sink: Node, path: list[Node]) -> list[Node]:
    """Return the part of a path from the stage on that tells the order of the sink's rows.

    The steps behind that stage carry the order along.
    """
    stage = sink.sink.takes_order.stage
    return next((path[at:] for at, node in enumerate(path) if node.name == stage), path)


def _cut(members: list[tuple[Node, list[Node]]]) -> Cut:
    paths = [path for _, path in members]
    if paths[0][-1].spec.stateful:
        # What follows must not shape the stage's state (Spark would prune columns, and filter keys, before they are kept),
        # and early results join the rows of the stage itself.
        return Cut(paths[0][-1], tuple(sink for sink, _ in members))
    common = next(node for node in paths[0] if all(any(node is other for other in path) for path in paths))
    return Cut(common, tuple(sink for sink, _ in members))


def operators_of(cuts: tuple[Cut, ...], layouts: Mapping[str, StateLayout]) -> tuple[OperatorSlot, ...]:
    """Return the stateful operators in Spark's numbering: from the sink upwards, branch by branch.

    Spark hands out operator ids while it walks the plan from its root, children left to right.
    """
    copies: dict[tuple[str, str], int] = {}
    slots = []
    for cut in cuts:
        for stage, role in _walk(cut.node, layouts):
            copy = copies.get((stage, role), 0)
            copies[(stage, role)] = copy + 1
            slots.append(OperatorSlot(stage, role, copy))
    return tuple(slots)


def _walk(node: Node, layouts: Mapping[str, StateLayout]) -> Iterator[tuple[str, str]]:
    layout = layouts.get(node.name)
    for item in layout.roles if layout is not None else range(len(node.streams)):
        if isinstance(item, str):
            yield node.name, item
        else:
            yield from _walk(node.inputs[item], layouts)


def tables_of(nodes: tuple[Node, ...]) -> set[int]:
    """Return the ids of the nodes that only feed tables of hash joins: they are read whole, not as streams."""
    streaming: set[int] = set()

    def walk(node: Node) -> None:
        if id(node) not in streaming:
            streaming.add(id(node))
            for parent in node.streams:
                walk(parent)

    for node in nodes:
        if isinstance(node.spec, SinkSpec):
            walk(node)
    return {id(node) for node in nodes} - streaming


def sources_of(cuts: tuple[Cut, ...], layouts: Mapping[str, StateLayout]) -> tuple[SourceSlot, ...]:
    """Return the readers of sources in Spark's order: a walk of the query from its root, children left to right."""
    slots: list[SourceSlot] = []

    def walk(node: Node, reader: str) -> None:
        if isinstance(node.spec, SourceSpec):
            slots.append(SourceSlot(node.name, reader))
        layout = layouts.get(node.name)
        below = reader if layout is None else node.name
        streams = node.streams
        # In the order in which Spark meets the inputs, which a stage of the user's own may have turned round.
        order = range(len(streams)) if layout is None else [item for item in layout.roles if isinstance(item, int)]
        for item in order:
            walk(streams[item], below)

    for cut in cuts:
        walk(cut.node, "")
    return tuple(slots)
