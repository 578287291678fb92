"""Aggregates as monoids: lift a row into accumulators, combine accumulators, finish into a result.

Each part is written against ``F`` (``pyspark.sql.functions``), handed in by the engine, so defining
an aggregate starts no Spark. Combining must be associative and commutative: the engine combines in
any order, over any split of the events into epochs, partitions and snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pitstop.errors import UsageError
from pitstop.pipeline.combining import MAX, MIN, SUM, Combining, Expression, custom

Lift = Callable[..., tuple[Any, ...]]
Finish = Callable[..., Any]


class EventTime:
    """Stands for the event-time column of the stage that aggregates."""


EVENT_TIME = EventTime()
OWN = "custom"
"""The kind of a user-defined aggregate."""


class Takes(StrEnum):
    """The types that an input of an aggregate may have, in words."""

    VALUES = "values of any type"
    TEXTS = "values of any type, as text"
    """True if 0.0 and -0.0, which are two texts, come in as one value."""
    NUMBERS = "numbers"
    AMOUNTS = "numbers or intervals"
    WHOLE = "whole numbers"


@dataclass(frozen=True)
class Aggregate:
    """One aggregate; ``kind`` is its name, for plans and messages.

    ``lift(F, *inputs)`` gives the lifted columns of one row; ``combines[i]`` gathers and combines the i-th of them;
    ``finish(F, *accumulators)`` is the result. ``inputs`` are column names, SQL expressions, Column expressions or
    EVENT_TIME.
    """

    kind: str
    inputs: tuple[Any, ...]
    lift: Lift
    combines: tuple[Combining, ...]
    finish: Finish
    takes: tuple[Takes, ...] = ()
    """The types that each input may have; empty: any type."""
    parts: Mapping[str, Aggregate] = field(default_factory=dict)
    """The aggregates that it combines, if it is several as one."""

    @property
    def state_class(self) -> str:
        """The class of its state. Aggregates of one class, with the same accumulator types, may exchange their state."""
        return ",".join(combine.name for combine in self.combines)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its kind, and the kinds of the aggregates that it combines."""
        return (self.kind, *(kind for part in self.parts.values() for kind in part.kinds))

    @property
    def own(self) -> bool:
        """True if only its code tells what it takes in, and not its kind."""
        return OWN in self.kinds

    @property
    def readable(self) -> bool:
        """True if the saved accumulators can be read and converted."""
        return all(combine.readable for combine in self.combines)


def _same(F: Any, value: Any) -> tuple[Any, ...]:
    return (value,)


def _only(F: Any, accumulator: Any) -> Any:
    return accumulator


def count(column: Any = None) -> Aggregate:
    """Count the rows; with a column, the rows in which it is not null. Type: bigint."""

    def lift(F: Any, *inputs: Any) -> tuple[Any, ...]:
        if not inputs:
            return (F.lit(1).cast("bigint"),)
        return (F.when(inputs[0].isNotNull(), 1).otherwise(0).cast("bigint"),)

    inputs = () if column is None else (column,)
    return Aggregate("count", inputs, lift, (SUM,), lambda F, n: F.coalesce(n, F.lit(0).cast("bigint")))


def sum(column: Any) -> Aggregate:
    """Sum up the values that are not null; null if there is none.

    Type: bigint of whole numbers, double of floats and doubles, a decimal of 38 digits of decimals, the same of intervals.
    """
    return Aggregate("sum", (column,), _same, (SUM,), _only, (Takes.AMOUNTS,))


def avg(column: Any) -> Aggregate:
    """Mean of the values that are not null; null if there is none. Type: double."""

    def lift(F: Any, x: Any) -> tuple[Any, ...]:
        return (x.cast("double"), F.when(x.isNotNull(), 1).otherwise(0).cast("bigint"))

    def finish(F: Any, total: Any, n: Any) -> Any:
        return F.when(n > 0, total / n)

    return Aggregate("avg", (column,), lift, (SUM, SUM), finish, (Takes.NUMBERS,))


def min(column: Any) -> Aggregate:
    """Find the smallest value that is not null."""
    return Aggregate("min", (column,), _same, (MIN,), _only)


def max(column: Any) -> Aggregate:
    """Find the largest value that is not null."""
    return Aggregate("max", (column,), _same, (MAX,), _only)


def _by(kind: str, combine: Combining, value: Any, by: Any) -> Aggregate:
    # A struct compares field by field: equal ``by`` values are decided by the value itself, so the
    # result does not depend on the order of events.
    def lift(F: Any, v: Any, b: Any) -> tuple[Any, ...]:
        return (F.when(b.isNotNull(), F.struct(b.alias("by"), v.alias("value"))),)

    return Aggregate(kind, (value, by), lift, (combine,), lambda F, pair: pair.getField("value"))


def min_by(value: Any, by: Any) -> Aggregate:
    """Find ``value`` of the row with the smallest ``by``; of several rows, the smallest value."""
    return _by("min_by", MIN, value, by)


def max_by(value: Any, by: Any) -> Aggregate:
    """Find ``value`` of the row with the largest ``by``; of several rows, the largest value."""
    return _by("max_by", MAX, value, by)


def first(value: Any) -> Aggregate:
    """Find ``value`` of the row with the earliest event time; of several rows, the smallest value."""
    return _by("first", MIN, value, EVENT_TIME)


def last(value: Any) -> Aggregate:
    """Find ``value`` of the row with the latest event time; of several rows, the largest value."""
    return _by("last", MAX, value, EVENT_TIME)


def all_of(**aggregates: Aggregate) -> Aggregate:
    """Combine several aggregates into one, whose result is a struct with a field for each."""
    if not aggregates:
        raise UsageError("all_of needs at least one aggregate: all_of(low=ps.min('v'), high=ps.max('v')).")
    parts = tuple(aggregates.values())

    def lift(F: Any, *inputs: Any) -> tuple[Any, ...]:
        shares = _shared_out(parts, [len(part.inputs) for part in parts], inputs)
        return tuple(column for part, own in shares for column in part.lift(F, *own))

    def finish(F: Any, *accumulators: Any) -> Any:
        shares = _shared_out(parts, [len(part.combines) for part in parts], accumulators)
        return F.struct(*[part.finish(F, *own).alias(name) for name, (part, own) in zip(aggregates, shares, strict=True)])

    inputs = tuple(value for part in parts for value in part.inputs)
    combines = tuple(combine for part in parts for combine in part.combines)
    takes = tuple(each for part in parts for each in part.takes or (Takes.VALUES,) * len(part.inputs))
    return Aggregate("all_of", inputs, lift, combines, finish, takes, dict(aggregates))


def _shared_out(
    parts: tuple[Aggregate, ...], sizes: list[int], values: tuple[Any, ...]
) -> list[tuple[Aggregate, tuple[Any, ...]]]:
    shares, at = [], 0
    for part, size in zip(parts, sizes, strict=True):
        shares.append((part, values[at : at + size]))
        at += size
    return shares


def aggregate(
    lift: Lift, combine: Expression | tuple[Expression, ...], finish: Finish | None = None, inputs: tuple[Any, ...] = ()
) -> Aggregate:
    """Define an aggregate.

    ``lift(F, *inputs)`` returns a tuple of columns (the accumulators of one row); ``combine`` is one
    function ``(F, column) -> aggregate column`` or one for each accumulator, made of Spark's own aggregate
    functions; ``finish(F, *accumulators)`` returns the result (default: the only accumulator). Example, a
    sum of squares::

        ps.aggregate(lambda F, x: (x * x,), lambda F, acc: F.sum(acc), inputs=("speed",))
    """
    combines = combine if isinstance(combine, tuple) else (combine,)
    if finish is None and len(combines) != 1:
        raise UsageError("An aggregate with several accumulators needs a finish function.")
    return Aggregate(OWN, tuple(inputs), lift, tuple(custom(one) for one in combines), finish or _only)
