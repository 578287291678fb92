"""The conversion of an operator's state into the form of a stage of Pitstop: windows, sessions and rolling aggregates.

Spark keeps the buffers of its aggregates side by side, in the order of the query, by the names of Spark's own classes (``sum``,
``count``). An average keeps two of them, as a sum and a count side by side do: so the aggregates of the stage, in their order,
say what the fields are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from pitstop.adoption.forms import SESSION_START, aggregated, is_window
from pitstop.doctor.facts import Operator, OperatorKind
from pitstop.doctor.schemas import Column
from pitstop.model.layout import StateLayout
from pitstop.plan.kinds import Form, rules_of
from pitstop.plan.types import decimal_digits, fields_of, widens

_UNSCALED_SUM, _UNSCALED_AVERAGE = ("bigint", 8), ("double", 11)
"""The type of the sum that Spark keeps of decimals with at most so many digits: one of whole numbers, without the point (its
optimizer's DecimalAggregates)."""
_KINDS = {
    Form.FRAMES: OperatorKind.AGGREGATE,
    Form.SESSIONS: OperatorKind.SESSION,
    Form.KEYED: OperatorKind.AGGREGATE,
}
"""Form of a stage's state -> kind of the operator that it can be made of."""


class Making(Enum):
    """The way in which an accumulator is made of fields of the old state."""

    COPY = "the field"
    UNLESS_EMPTY = "the first field, unless the second one is true"
    IF_SET = "the first field beside a time before all others, if the second one is true"
    BY_ORDER = "the first field beside the second one, by which it is ordered"
    ELEMENTS = "the elements of an array, which Spark keeps as bytes without their type"


@dataclass(frozen=True)
class Accumulator:
    """An accumulator of the stage, made of fields of the old value."""

    name: str
    type: str
    making: Making
    places: tuple[int, ...]
    """The fields' places in the old value, among those of aggregates."""
    digits: int = 0
    """The digits behind the point that the old number lacks."""


@dataclass(frozen=True)
class StageAggregate:
    """An aggregate of a stage: its kind, and the types of its inputs as Spark writes them."""

    kind: str
    types: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """The state of a stage of Pitstop that may be made of an operator's."""

    layout: StateLayout
    aggregates: Mapping[str, StageAggregate]
    """Result column -> its aggregate, in order."""


@dataclass(frozen=True)
class Conversion:
    """The way from an operator's state to that of a stage."""

    keys: tuple[tuple[str, str], ...]
    """(key of the stage, key of the operator), in the order of the stage."""
    accumulators: tuple[Accumulator, ...]


class NoConversionError(Exception):
    """The state cannot be converted. The text is a clause that says why."""


def fed_role(layout: StateLayout) -> str:
    """Return the role of the operator that takes over converted state: of sliding windows the one that keeps whole windows."""
    return str(layout.roles[0])


def conversion(old: Operator, target: Target, any_names: bool = False) -> Conversion:
    """Return the way from an operator's state to a stage's. NoConversionError if there is none.

    ``any_names``: keys of other names, but of the same types in the same order, are the same keys.
    """
    layout, form = target.layout, rules_of(target.layout.kind).form
    if _KINDS[form] is not old.kind:
        raise NoConversionError(f"it is of another kind than {layout.parameters['text']}")
    windowed = any(is_window(column) for column in old.families[0].keys)
    if form is Form.FRAMES and not windowed:
        raise NoConversionError("it has no windows, and the stage has")
    if form is Form.KEYED and windowed:
        raise NoConversionError("it has windows, and the stage has none")
    keys = _keys(old, layout, any_names)
    return Conversion(keys, _accumulators(aggregated(old), target))


def _keys(old: Operator, layout: StateLayout, any_names: bool) -> tuple[tuple[str, str], ...]:
    before = [column for column in old.families[0].keys if not is_window(column) and column.name != SESSION_START]
    types = {column.name: _type(column) for column in before}
    if sorted(types.items()) == sorted(layout.keys):
        return tuple((name, name) for name, _ in layout.keys)
    if any_names and [_type(column) for column in before] == [kind for _, kind in layout.keys]:
        return tuple((name, column.name) for (name, _), column in zip(layout.keys, before, strict=True))
    raise NoConversionError(f"its keys are {_listed(types)}, and those of the stage {_listed(dict(layout.keys))}")


def _accumulators(fields: Sequence[Column], target: Target) -> tuple[Accumulator, ...]:
    types = dict(target.layout.accumulators)
    reading = _Reading(fields)
    accumulators: list[Accumulator] = []
    for result, aggregate in target.aggregates.items():
        read = _READERS.get(aggregate.kind)
        if read is None:
            raise NoConversionError(f"Spark keeps nothing that could become {aggregate.kind} ('{result}')")
        kinds = {name: kind for name, kind in types.items() if name.rpartition("__")[0] == result}
        accumulators += read(reading, result, aggregate, kinds)
    reading.end()
    order = list(types)
    return tuple(sorted(accumulators, key=lambda each: order.index(each.name)))


class _Reading:
    """The fields of the old value, taken one after another."""

    def __init__(self, fields: Sequence[Column]) -> None:
        self._fields, self._place = fields, 0

    def field(self, result: str, aggregate: StageAggregate, name: str) -> tuple[int, str]:
        """Take the next field; return its place and type."""
        column = self.next()
        if column is None or column.name != name:
            instead = f"'{column.name}'" if column is not None else "nothing more"
            raise NoConversionError(
                f"for '{result}' ({aggregate.kind}) it would keep '{name}', and there it keeps {instead}: give the stage the "
                "query's aggregates in their order"
            )
        self._place += 1
        return self._place - 1, _type(column)

    def next(self) -> Column | None:
        return self._fields[self._place] if self._place < len(self._fields) else None

    def end(self) -> None:
        column = self.next()
        if column is not None:
            raise NoConversionError(f"it also keeps '{column.name}', for which the stage has no aggregate")


_Read = Callable[[_Reading, str, StageAggregate, Mapping[str, str]], list[Accumulator]]


def _plain(name: str) -> _Read:
    def read(reading: _Reading, result: str, aggregate: StageAggregate, kinds: Mapping[str, str]) -> list[Accumulator]:
        place, was = reading.field(result, aggregate, name)
        ((accumulator, kind),) = kinds.items()
        _check_type(result, was, kind)
        return [Accumulator(accumulator, kind, Making.COPY, (place,))]

    return read


def _sum(reading: _Reading, result: str, aggregate: StageAggregate, kinds: Mapping[str, str]) -> list[Accumulator]:
    ((accumulator, kind),) = kinds.items()
    return [_total(reading, result, aggregate, accumulator, kind, _UNSCALED_SUM)]


def _average(reading: _Reading, result: str, aggregate: StageAggregate, kinds: Mapping[str, str]) -> list[Accumulator]:
    (total, total_kind), (count, count_kind) = kinds.items()
    sum_of = _total(reading, result, aggregate, total, total_kind, _UNSCALED_AVERAGE)
    place, was = reading.field(result, aggregate, "count")
    _check_type(result, was, count_kind)
    return [sum_of, Accumulator(count, count_kind, Making.COPY, (place,))]


def _total(
    reading: _Reading, result: str, aggregate: StageAggregate, accumulator: str, kind: str, unscaled: tuple[str, int]
) -> Accumulator:
    """Return a sum. Beside one of decimals Spark keeps whether it is a sum of nothing."""
    place, was = reading.field(result, aggregate, "sum")
    (taken_in,) = aggregate.types
    if taken_in.startswith("decimal") and not was.startswith("decimal"):
        digits, scale = decimal_digits(taken_in)
        if was != unscaled[0] or digits > unscaled[1]:
            raise NoConversionError(f"its '{result}' is {was}, and the stage takes in {taken_in}")
        return Accumulator(accumulator, kind, Making.COPY, (place,), scale)
    if not (was.startswith("decimal") and kind == "double"):  # as of an average
        _check_type(result, was, kind)
    following = reading.next()
    if following is not None and following.name == "isEmpty":
        empty, _ = reading.field(result, aggregate, "isEmpty")
        return Accumulator(accumulator, kind, Making.UNLESS_EMPTY, (place, empty))
    return Accumulator(accumulator, kind, Making.COPY, (place,))


def _ordered(names: tuple[str, str], making: Making) -> _Read:
    def read(reading: _Reading, result: str, aggregate: StageAggregate, kinds: Mapping[str, str]) -> list[Accumulator]:
        (value, was), (other, was_other) = (reading.field(result, aggregate, name) for name in names)
        ((accumulator, kind),) = kinds.items()
        parts = dict(fields_of(kind))
        _check_type(result, was, parts["value"])
        if making is Making.BY_ORDER:
            _check_type(result, was_other, parts["by"])
        return [Accumulator(accumulator, kind, making, (value, other))]

    return read


def _collected(reading: _Reading, result: str, aggregate: StageAggregate, kinds: Mapping[str, str]) -> list[Accumulator]:
    place, _ = reading.field(result, aggregate, "buf")
    ((accumulator, kind),) = kinds.items()
    (element,) = aggregate.types
    if "<" in element or element == "binary":
        raise NoConversionError(f"'{result}' collects values of type {element}, which the checkpoint keeps in a form of its own")
    return [Accumulator(accumulator, kind, Making.ELEMENTS, (place,))]


_BY_ORDER = ("valueWithExtremumOrdering", "extremumOrdering")
_READERS: Mapping[str, _Read] = {
    "count": _plain("count"),
    "sum": _sum,
    "avg": _average,
    "min": _plain("min"),
    "max": _plain("max"),
    "first": _ordered(("first", "valueSet"), Making.IF_SET),
    "last": _ordered(("last", "valueSet"), Making.IF_SET),
    "min_by": _ordered(_BY_ORDER, Making.BY_ORDER),
    "max_by": _ordered(_BY_ORDER, Making.BY_ORDER),
    "collect_list": _collected,
    "collect_set": _collected,
    "count_distinct": _collected,
}
"""Kind of an aggregate -> the function that takes the fields that Spark keeps for it."""


def _check_type(result: str, was: str, kind: str) -> None:
    if not widens(was, kind):
        raise NoConversionError(f"its '{result}' is {was}, and that of the stage {kind}")


def _type(column: Column) -> str:
    """Return a type as Spark's ``simpleString`` writes it, without the blanks of a checkpoint's schema."""
    return column.type.replace(": ", ":").replace(", ", ",")


def _listed(types: Mapping[str, str]) -> str:
    return f"({', '.join(f'{name} {kind}' for name, kind in types.items())})"
