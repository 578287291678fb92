"""The graph behind a pipeline: frozen nodes that know their inputs and where they were written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pitstop.errors import PipelineError
from pitstop.kit.ids import check_name
from pitstop.pipeline.expecting import expect
from pitstop.pipeline.row_specs import SplitSpec
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source
from pitstop.pipeline.specs import SinkSpec, SourceSpec, Spec
from pitstop.pipeline.titles import title


@dataclass(frozen=True, eq=False)
class Node:
    """One stage. Two nodes are equal only if they are the same object. A snapshot knows the stage by its ``name``."""

    spec: Spec
    name: str
    inputs: tuple[Node, ...] = ()
    location: str = ""
    """The place where the stage is defined, for messages: ``file.py:12``."""

    @property
    def source(self) -> Source:
        """The source that a source node reads."""
        assert isinstance(self.spec, SourceSpec), f"'{self.name}' is no source"
        return self.spec.source

    @property
    def sink(self) -> Sink:
        """The sink that a sink node writes to."""
        assert isinstance(self.spec, SinkSpec), f"'{self.name}' is no sink"
        return self.spec.sink

    @property
    def event_time(self) -> str | None:
        """The event-time column of its rows, None without one."""
        return self.spec.event_time([parent.event_time for parent in self.inputs])

    @property
    def streams(self) -> tuple[Node, ...]:
        """The inputs that are streams. The table of a hash join is none."""
        return self.inputs[:1] if self.spec.joins_table else self.inputs

    def upstream(self) -> Iterator[Node]:
        """Return this node and all before it, each once, nearest first."""
        visited_ids: set[int] = set()
        pending = [self]
        while pending:
            node = pending.pop(0)
            if id(node) not in visited_ids:
                visited_ids.add(id(node))
                yield node
                pending.extend(node.inputs)


class Graph:
    """The nodes of one pipeline, in the order in which they were defined."""

    def __init__(self, location: Callable[[], str] | None = None) -> None:
        """``location``: gives the place where the present stage is defined; None: the file and line of the caller."""
        self.nodes: list[Node] = []
        self._location = location or _caller_location
        self._former_names: dict[str, str] = {}

    def add(self, spec: Spec, name: str, inputs: tuple[Node, ...] = ()) -> Node:
        """Add a node and return it; UsageError if the name is not valid, PipelineError if another node has it."""
        check_name("stage", name)
        location = self._location()
        for other in self.nodes:
            if other.name == name:
                raise PipelineError(f"Two stages are named '{name}' ({other.location} and {location}): give one another name.")
        node = Node(spec, name, inputs, location)
        self.nodes.append(node)
        return node

    def used_nodes(self) -> Iterator[Node]:
        """Yield the nodes without parts of a split that nobody reads, as ``_`` in ``late, _ = rows.split(...)``."""
        read_ids = {id(parent) for node in self.nodes for parent in node.inputs}
        read_splits = {
            id(node.spec.conditions) for node in self.nodes if isinstance(node.spec, SplitSpec) and id(node) in read_ids
        }
        for node in self.nodes:
            if id(node) in read_ids or not isinstance(node.spec, SplitSpec) or id(node.spec.conditions) not in read_splits:
                yield node

    def with_specs(self, changed: Mapping[str, Spec]) -> Graph:
        """Return the graph with other specs for the stages of these names."""
        other, copies = Graph(self._location), dict[int, Node]()
        other._former_names = dict(self._former_names)
        for node in self.nodes:
            inputs = tuple(copies[id(parent)] for parent in node.inputs)
            copies[id(node)] = replace(node, spec=changed.get(node.name, node.spec), inputs=inputs)
        other.nodes.extend(copies.values())
        return other

    def free_name(self, base: str) -> str:
        """Return ``in-time``, ``in-time-2``, ... for a stage without state, whose name the user need not choose."""
        return _first_free(base, {node.name for node in self.nodes})

    def add_unnamed(self, spec: Spec, inputs: tuple[Node, ...]) -> Node:
        """Add a node to which the user gave no name."""
        former_names = {self.former_name(node.name) for node in self.nodes}
        name = self.free_name(title(spec, [parent.name for parent in inputs]))
        self._former_names[name] = _first_free(spec.op, former_names)
        return self.add(spec, name, inputs)

    def former_name(self, name: str) -> str:
        """Return the name that a stage has had since the first release, such as ``filter-2``.

        The names of sinks are made of it where the user gives none. They stand beside the rows that those have written.
        """
        return self._former_names.get(name, name)


class Rows:
    """A node of a graph that further stages can read: the part of a Stage on which its verbs are built."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self._graph, self._node = graph, node

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}' ({self._node.location})>"

    @property
    def name(self) -> str:
        return self._node.name

    def timestamp_column(self) -> str | None:
        """Return the event-time column that reaches this stage; None without timestamps."""
        return self._node.event_time

    def _then(self, spec: Spec, name: str | None, *others: Rows) -> Self:
        """Return a stage that does ``spec`` to these rows and those of ``others`` in the same pipeline; None: a free name."""
        for other in others:
            expect(other, Rows, f"Stage '{self.name}' goes together with a stage", "one that read_from or another verb returns")
            if other._graph is not self._graph:
                raise PipelineError(f"Stage '{other.name}' belongs to another pipeline.")
        inputs = (self._node, *(other._node for other in others))
        node = self._graph.add_unnamed(spec, inputs) if name is None else self._graph.add(spec, name, inputs)
        return type(self)(self._graph, node)


def _first_free(base: str, used_names: Collection[str]) -> str:
    number, name = 1, base
    while name in used_names:
        number += 1
        name = f"{base}-{number}"
    return name


def _caller_location() -> str:
    """Return the file and line of the user's code that is defining a stage now."""
    package = str(Path(__file__).parent)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
