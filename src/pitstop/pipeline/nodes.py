"""The graph behind a pipeline: frozen nodes that know their inputs and where they were written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class Op(StrEnum):
    """What a node does to its input."""

    SOURCE = "source"
    PARSED = "parsed"
    """The rows of a text source that parse."""
    DEAD_LETTERS = "dead_letters"
    """The rows of a text source that do not."""
    SELECT = "select"
    FILTER = "filter"
    WITH_COLUMNS = "with_columns"
    TRANSFORM = "transform"
    MERGE = "merge"
    TIMESTAMPS = "timestamps"
    INGESTION_TIMESTAMPS = "ingestion_timestamps"
    WINDOW_AGGREGATE = "window_aggregate"
    """Also of several inputs: co-aggregation."""
    ROLLING_AGGREGATE = "rolling_aggregate"
    MAP_STATEFUL = "map_stateful"
    DISTINCT = "distinct"
    JOIN = "join"
    HASH_JOIN = "hash_join"
    STATEFUL = "stateful"
    """The user's own stateful Spark code."""
    SINK = "sink"


@dataclass(frozen=True, eq=False)
class Node:
    """One stage. Identity is the object; ``name`` is what a snapshot knows it by."""

    op: Op
    name: str
    inputs: tuple[Node, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    location: str = ""
    """``file.py:12``, for messages."""

    def upstream(self) -> Iterator[Node]:
        """This node and all before it, each once, nearest first."""
        seen: set[int] = set()
        pending = [self]
        while pending:
            node = pending.pop(0)
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                pending.extend(node.inputs)


def caller_location() -> str:
    """File and line of the user's code that is defining a stage now."""
    package = str(Path(__file__).parent)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
