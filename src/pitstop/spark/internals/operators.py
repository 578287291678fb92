"""What Spark's ``state-metadata`` and ``statestore`` sources say of operators in words that Spark does not promise."""

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
    """True if an operator of this name keeps the named variables of a user's own processor."""
    return operator_name.startswith(_VARIABLES)


def typed_variables(properties: str) -> list[tuple[str, str, bool]]:
    """(name, ``value``, ``list`` or ``map``, whether it has a time to live) of an operator's variables, as :func:`variables`."""
    notes = {str(variable["stateName"]): variable for variable in json.loads(properties)["stateVariables"]}
    kinds = {name: str(notes[name]["stateVariableType"]).removesuffix("State").lower() for name in variables(properties)}
    return [(name, kind, bool(notes[name].get("ttlEnabled"))) for name, kind in kinds.items()]


def variables(properties: str) -> list[str]:
    """Names of an operator's variables by its ``operatorProperties``, without those that Spark adds for itself."""
    names = [str(variable["stateName"]) for variable in json.loads(properties)["stateVariables"]]
    return sorted(name for name in names if not name.startswith("$"))


def group_state_field(names: Sequence[str]) -> str:
    """Which field of a value holds what ``applyInPandasWithState`` keeps; beside it Spark notes the key's timeout."""
    return next(name for name in names if name.startswith(_GROUP_STATE))


def variable_columns(kind: str) -> tuple[str | None, str]:
    """The columns in which the ``statestore`` source shows a map's keys (None: it is no map), and what a variable holds."""
    return (_KEY, _ENTRY) if kind == "map" else (None, _ELEMENT if kind == "list" else _VALUE)
