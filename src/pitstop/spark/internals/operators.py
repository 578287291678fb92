"""Facts about operators in words of Spark's ``state-metadata`` and ``statestore`` sources that Spark does not promise to keep."""

from __future__ import annotations

import json
from collections.abc import Sequence

_JOIN = "symmetricHashJoin"
_VARIABLES = "transformWithState"
_GROUP_STATE = "groupState"
_KEY, _ENTRY, _ELEMENT, _VALUE = "user_map_key", "user_map_value", "list_element", "value"


def joins_streams(operator_name: str) -> bool:
    """True if an operator of this name joins two streams: its state has two sides."""
    return operator_name == _JOIN


def has_variables(operator_name: str) -> bool:
    """True if an operator of this name keeps the named variables of a user-defined processor."""
    return operator_name.startswith(_VARIABLES)


def typed_variables(properties: str) -> list[tuple[str, str, bool]]:
    """Return (name, ``value``, ``list`` or ``map``, True if it has a time to live) of an operator's variables.

    They are those of :func:`variables`.
    """
    notes = {str(variable["stateName"]): variable for variable in json.loads(properties)["stateVariables"]}
    kinds = {name: str(notes[name]["stateVariableType"]).removesuffix("State").lower() for name in variables(properties)}
    return [(name, kind, bool(notes[name].get("ttlEnabled"))) for name, kind in kinds.items()]


def variables(properties: str) -> list[str]:
    """Return the names of an operator's variables by its ``operatorProperties``, without those that Spark adds for itself."""
    names = [str(variable["stateName"]) for variable in json.loads(properties)["stateVariables"]]
    return sorted(name for name in names if not name.startswith("$"))


def group_state_field(names: Sequence[str]) -> str:
    """Return the field of a value in which ``applyInPandasWithState`` keeps its state.

    Spark notes the key's timeout beside it.
    """
    return next(name for name in names if name.startswith(_GROUP_STATE))


def variable_columns(kind: str) -> tuple[str | None, str]:
    """Return the columns of the ``statestore`` source with a map's keys (None if it is no map), and with a variable's content."""
    return (_KEY, _ENTRY) if kind == "map" else (None, _ELEMENT if kind == "list" else _VALUE)
