"""The layout of saved state: what an update is judged by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any


class StageKind(StrEnum):
    """The kind of a stage. Kinds with state keep it under the stage's name."""

    SOURCE = "source"
    STATELESS = "stateless"
    MERGE = "merge"
    WATERMARK = "watermark"
    WINDOW = "window"
    """Windowed aggregate, tumbling or sliding: state in frames of the slide."""
    SESSION = "session"
    """Aggregate of session windows."""
    ROLLING = "rolling"
    """Rolling aggregate: one row of accumulators a key."""
    MAPPED = "mapped"
    """State of the user's own, one row a key."""
    DISTINCT = "distinct"
    JOIN = "join"
    """Join of two streams: the rows of both that may still find a match."""
    OPAQUE = "opaque"
    """Any Structured Streaming code with Spark's own stateful operators."""
    LOOKUP = "lookup"
    """Hash join: keeps no state."""
    SINK = "sink"


_KEPT = ("form", "never_null", "any_null")
"""Parameters that say how state is kept, which a stage does not choose: they stay while its checkpoint is gone on with."""


@dataclass(frozen=True)
class StateLayout:
    """The form of one stage's state. Two stages may exchange state only if their layouts allow it."""

    kind: StageKind
    keys: tuple[tuple[str, str], ...] = ()
    """(column, Spark type as text) of the key, in order."""
    accumulators: tuple[tuple[str, str], ...] = ()
    """(name, Spark type as text) of each accumulator column, in order."""
    aggregates: tuple[tuple[str, str], ...] = ()
    """(result column, class of its combining), to tell a min from a max of the same type."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Window: ``size_ms``, ``slide_ms``; session: ``timeout_ms``; ``text``, for people. And how the state is kept: ``form``, if
    its kind has several, ``never_null`` and ``any_null``."""
    roles: tuple[str | int, ...] = ()
    """Its stateful Spark operators by their roles, in Spark's numbering, from the sink upwards; a number stands for
    all that is upstream of that input."""

    @property
    def form(self) -> str | None:
        """In which of several forms the state is kept, where a kind has several; None: as its first release did."""
        return self.parameters.get("form")

    @property
    def never_null(self) -> frozenset[str] | None:
        """The columns that the state's own schema says are never null; None: an older release did not note it."""
        noted = self.parameters.get("never_null")
        return None if noted is None else frozenset(noted)

    @property
    def any_null(self) -> bool:
        """True if Spark was told of every column that comes into the stage that it may be null, also of those that a filter had
        let through without nulls; an older release told it only of what it took for never null by the code."""
        return bool(self.parameters.get("any_null"))

    def noting_any_null(self) -> StateLayout:
        """Return this layout with the note that Spark was told of every column that it may be null."""
        return replace(self, parameters=self.parameters | {"any_null": True})

    def noting_never_null(self, columns: Iterable[str]) -> StateLayout:
        """Return this layout with a note of the columns that its state's schema says are never null."""
        return replace(self, parameters=self.parameters | {"never_null": sorted(columns)})

    def kept_as(self, before: StateLayout) -> StateLayout:
        """The layout of the same stage, kept as that one is."""
        others = {name: value for name, value in self.parameters.items() if name not in _KEPT}
        return replace(self, parameters=others | {name: before.parameters[name] for name in _KEPT if name in before.parameters})

    def same_state(self, other: StateLayout) -> bool:
        """Same kind, keys, accumulators and window: what a renamed stage is recognised by."""
        mine = (self.kind, self.keys, self.accumulators, self.aggregates, self.parameters["text"])
        return mine == (other.kind, other.keys, other.accumulators, other.aggregates, other.parameters["text"])

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"kind": self.kind.value}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StateLayout:
        def pairs(key: str) -> tuple[tuple[str, str], ...]:
            return tuple((str(a), str(b)) for a, b in data.get(key, ()))

        return cls(
            kind=StageKind(data["kind"]),
            keys=pairs("keys"),
            accumulators=pairs("accumulators"),
            aggregates=pairs("aggregates"),
            parameters=dict(data.get("parameters", {})),
            roles=tuple(data.get("roles", ())),
        )
