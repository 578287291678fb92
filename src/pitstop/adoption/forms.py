"""The forms of state: whether what one operator keeps is what another one keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from pitstop.doctor.facts import Operator, OperatorKind
from pitstop.doctor.schemas import Column, ColumnFamily

_BY_AGGREGATE = (OperatorKind.AGGREGATE, OperatorKind.SESSION)
"""Kinds whose values bear the names of aggregates, which tell a min from a max of the same type."""
_WORDS = {OperatorKind.GROUP_STATE: "state of your own", OperatorKind.PROCESSOR: "processor"}
_OF_JVM = ("flatMapGroupsWithState", "transformWithStateExec")
"""Spark's names of operators that call functions in Scala or Java."""
_COUNTS, _MOST_NAMED = "keyToNumValues", 6
SESSION_START = "sessionStartTime"
"""The name of the last key of sessions: the time of the first event."""
_OURS = "$"
"""The beginning of the names of families that Spark adds to a processor's variables."""


FILLED = -1
"""The place of a field that is filled with null."""
Unused = Mapping[str, frozenset[str]]
"""Column family of a join -> columns that nothing uses."""
NOTHING: Unused = MappingProxyType({})


class Fit(Enum):
    """The likeness of two operators' state."""

    NAMES = "kind, types and names are equal"
    TYPES = "kind and types are equal"
    NONE = "the state cannot be moved"


def is_movable(operator: Operator) -> bool:
    """Return True if the schemas of its state are known."""
    return bool(operator.families)


def fit(old: Operator, new: Operator, unused: Unused = NOTHING) -> Fit:
    """Return how well an operator of the new job could go on with the state of an old one."""
    if difference(old, new, unused):
        return Fit.NONE
    families = {family.name: family for family in new.families}
    same = (
        _names(family) == _names(families[family.name]) or bool(places(old, family, families[family.name], unused))
        for family in old.families
    )
    return Fit.NAMES if all(same) else Fit.TYPES


def places(operator: Operator, old: ColumnFamily, new: ColumnFamily, unused: Unused = NOTHING) -> tuple[int, ...]:
    """Return the places of the fields that the values of a join's side are to have; empty if they stay as they are.

    Spark's optimizer keeps the columns of a side that are used, in an order of its own; Pitstop lets it keep all of them. A
    column that nothing uses is filled with null: its place is ``FILLED``.
    """
    if operator.kind is not OperatorKind.JOIN or old.name.endswith(_COUNTS) or old.values == new.values:
        return ()
    names = [column.name for column in old.values]
    types = {column.name: column.type for column in old.values}
    filled = {column.name for column in new.values} - types.keys()
    if len(types) < len(names) or not filled <= unused.get(new.name, frozenset()):
        return ()
    if any(types.get(column.name, column.type) != column.type for column in new.values):
        return ()
    order = tuple(FILLED if column.name in filled else names.index(column.name) for column in new.values)
    return () if order == tuple(range(len(names))) else order


def orders(old: Operator, new: Operator, unused: Unused = NOTHING) -> dict[str, tuple[int, ...]]:
    """Return column family -> the places of its values' fields, where they do not stay as they are."""
    families = {family.name: family for family in new.families}
    changed = {family.name: places(old, family, families[family.name], unused) for family in old.families}
    return {family: order for family, order in changed.items() if order}


def unused_columns(new: Operator, pruned: Operator) -> dict[str, frozenset[str]]:
    """Return column family of a join -> the columns that nothing uses.

    ``pruned``: the same operator as Spark's optimizer would have it, with only the columns that are used.
    """
    if new.kind is not OperatorKind.JOIN:
        return {}
    after = {family.name: {column.name for column in family.values} for family in pruned.families}
    return {
        family.name: frozenset(column.name for column in family.values) - after.get(family.name, set())
        for family in new.families
        if not family.name.endswith(_COUNTS)
    }


def difference(old: Operator, new: Operator, unused: Unused = NOTHING) -> str:
    """Return the difference that keeps the state from being moved, as a clause; empty if there is none."""
    if old.kind is not new.kind:
        return f"it is of kind {kind_in_words(old)}, and the stage of kind {kind_in_words(new)}"
    if old.spark_name in _OF_JVM:
        return "its function is in Scala or Java, and a job's are in Python"
    before = {family.name: family for family in old.families}
    after = {family.name: family for family in new.families}
    missing = sorted(before.keys() - after.keys())
    if missing:
        return f"the stage does not keep '{missing[0]}'"
    begins_empty = _begins_empty(before.keys(), after.keys())
    odd = sorted(after.keys() - before.keys() - begins_empty)
    if odd:
        return f"the stage also keeps '{odd[0]}', which the checkpoint does not have"
    for name, family in before.items():
        for what, mine, other in (("key", family.keys, after[name].keys), ("value", family.values, after[name].values)):
            of = f" of '{name}'" if len(before) > 1 else ""
            if what == "value" and places(old, family, after[name], unused):
                continue
            if [column.type for column in mine] != [column.type for column in other]:
                return f"its {what}{of} is ({_columns(mine)}), and that of the stage ({_columns(other)})"
            if what == "value" and old.kind in _BY_AGGREGATE and _bare(mine) != _bare(other):
                return f"it aggregates {', '.join(_bare(mine))}, and the stage {', '.join(_bare(other))}"
    return ""


def new_variables(old: Operator, new: Operator) -> list[str]:
    """Return the variables of a processor that the old operator does not have: they begin empty."""
    return sorted(name for name in _variables(new) - _variables(old))


def in_words(operator: Operator) -> str:
    """Return an operator's kind and keys: ``aggregate by window, name``."""
    keys = [column.name for column in operator.families[0].keys] if operator.families else []
    if operator.kind is OperatorKind.PROCESSOR:
        variables = sorted(_variables(operator))
        return f"{kind_in_words(operator)} with {', '.join(variables)}" if variables else kind_in_words(operator)
    if operator.kind is OperatorKind.JOIN:
        sides = [_columns(family.values, False) for family in operator.families if not family.name.endswith(_COUNTS)]
        return f"{kind_in_words(operator)} of {' and '.join(f'({side})' for side in sides)}"
    key_names = [name for name in keys if name != SESSION_START]
    return f"{kind_in_words(operator)} by {', '.join(key_names)}" if key_names else kind_in_words(operator)


def kind_in_words(operator: Operator) -> str:
    """Return the name of an operator's kind."""
    return _WORDS.get(operator.kind, str(operator.kind))


def _begins_empty(before: Iterable[str], after: Iterable[str]) -> set[str]:
    """Return the families that a variable brings along that the old operator does not have at all."""
    present = set(before)
    added = {name for name in after if not name.startswith(_OURS) and name not in present} if _has_variables(present) else set()
    beside = {name for name in after if name.startswith(_OURS) and any(name.endswith(f"_{each}") for each in added)}
    return added | beside


def _has_variables(families: set[str]) -> bool:
    return "default" not in families and not any(name.endswith(_COUNTS) for name in families)


def _variables(operator: Operator) -> set[str]:
    return {family.name for family in operator.families if not family.name.startswith(_OURS) and family.name != "default"}


def _names(family: ColumnFamily) -> tuple[list[str], list[str]]:
    return [column.name for column in family.keys], [column.name for column in family.values]


def aggregated(operator: Operator) -> list[Column]:
    """Return the columns of an operator's value that hold aggregates: those of sessions follow the session and its keys."""
    family = operator.families[0]
    return list(family.values[len(family.keys) :] if operator.kind is OperatorKind.SESSION else family.values)


def is_window(column: Column) -> bool:
    """Return True if a column of a key is a window."""
    return column.type.startswith("struct<start")


def _bare(columns: Sequence[Column]) -> list[str]:
    """Return the names of a value's columns that are those of aggregates: the others repeat the key."""
    return [column.name for column in columns if not is_window(column)]


def _columns(columns: Sequence[Column], with_types: bool = True) -> str:
    parts = [f"{column.name} {column.type}" if with_types else column.name for column in columns[:_MOST_NAMED]]
    more = [f"{len(columns) - _MOST_NAMED} more"] if len(columns) > _MOST_NAMED else []
    return ", ".join([*parts, *more])
