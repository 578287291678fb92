"""Errors that the arithmetic of an aggregate raises, as one sentence: the aggregate, the reason, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException

from pitstop.model.layout import StateLayout
from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.combining import TOO_LONG
from pitstop.pipeline.nodes import Node
from pitstop.spark.internals.origins import named_in

_DECIMAL = "NUMERIC_VALUE_OUT_OF_RANGE"
_UNTOLD = {"ARITHMETIC_OVERFLOW": "bigint", "INTERVAL_ARITHMETIC_OVERFLOW": "interval", TOO_LONG: "decimal"}
"""Errors for which Spark does not name the sum -> the beginning of the types of such sums."""


@dataclass(frozen=True)
class Place:
    """An aggregate that may have raised an error."""

    node: Node
    name: str
    aggregate: Aggregate
    types: tuple[str, ...] = ()
    """The types of its accumulators."""

    @property
    def label(self) -> str:
        return label(self.node, self.name)

    @property
    def sums(self) -> str:
        """The type of its first accumulator."""
        return self.types[0] if self.types else ""

    def parts(self) -> Iterator[Place]:
        """Yield the aggregate, or its parts if it consists of several."""
        if not self.aggregate.parts:
            yield self
        types = iter(self.types)
        for part in self.aggregate.parts.values():
            own = tuple(kind for _, kind in zip(part.combines, types, strict=False))
            yield from Place(self.node, self.name, part, own).parts()


def label(node: Node, name: str) -> str:
    """Return the name that errors use for the aggregate whose result is column ``name``."""
    return f"aggregate '{name}' of stage '{node.name}' ({node.location})"


def raised_by_aggregate(
    error: BaseException | None, nodes: Iterable[Node], layouts: Mapping[str, StateLayout]
) -> tuple[str, str | None] | None:
    """Return (the aggregate that raised an error, what to do about it or None), or None if Spark tells of no such aggregate.

    Spark does not tell which sum in a window failed, so all that may have failed are named. ``layouts``: stage -> the layout of
    its state.
    """
    if not isinstance(error, PySparkException):
        return None
    condition, contexts = (error.getCondition() or "").partition(".")[0], error.getQueryContext()
    condition = TOO_LONG if TOO_LONG in str(error) else condition
    names = [name for name in map(named_in, contexts) if name is not None]
    places = [part for place in _places(nodes, layouts) for part in place.parts()]
    if names:
        places = [place for place in places if place.label == names[0]]
        advice = [_advice(place, condition) for place in places]
        return names[0], next(filter(None, advice), None)
    if any(context.fragment().strip() for context in contexts) or condition not in _UNTOLD:
        return None
    places = [place for place in places if place.aggregate.kind == "sum" and place.sums.startswith(_UNTOLD[condition])]
    labels = list(dict.fromkeys(place.label for place in places))
    return (" or ".join(labels), _advice(places[0], condition)) if places else None


def _places(nodes: Iterable[Node], layouts: Mapping[str, StateLayout]) -> Iterator[Place]:
    for node in nodes:
        layout = layouts.get(node.name)
        kinds = layout.accumulators if layout is not None else ()
        for name, aggregate in node.spec.computed.items():
            own = tuple(kind for accumulator, kind in kinds if accumulator.rpartition("__")[0] == name)
            yield Place(node, name, aggregate, own)


def _advice(place: Place, condition: str) -> str | None:
    """Return why a sum failed, and what to write instead; None if that is not known."""
    if condition not in (*_UNTOLD, _DECIMAL):
        return None
    kind, inputs = place.aggregate.kind, place.aggregate.inputs
    if kind == "linear_trend":
        x, y = map(_text, inputs)
        return (
            "the products of its numbers come to more than 38 digits: "
            f'write linear_trend("{x}", "{y}", wide=True), which goes on from the sums so far'
        )
    if kind != "sum":
        return None
    summed = _text(inputs[0])
    if place.sums.startswith("interval"):
        return "the sum is longer than an interval can be: sum numbers, such as seconds, under another name"
    if place.sums.startswith("decimal"):
        return (
            "the sum has more than 38 digits: sum fewer digits behind the point, or "
            f'doubles, as in sum("cast({summed} as double)"), under another name'
        )
    return (
        "the sum is beyond bigint, which ends at 9223372036854775807: "
        f'sum decimals, as in sum("cast({summed} as decimal(38,0))"), which goes on from the sum so far'
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "x"
