"""What Spark's ``state-metadata`` and ``statestore`` sources say of operators in words that Spark does not promise."""

from __future__ import annotations

import json
from collections.abc import Sequence

_JOIN = "symmetricHashJoin"
_VARIABLES = "transformWithState"
_GROUP_STATE = "groupState"


def joins_streams(operator_name: str) -> bool:
    """True if an operator of this name joins two streams: its state has two sides."""
    return operator_name == _JOIN


def has_variables(operator_name: str) -> bool:
    """True if an operator of this name keeps the named variables of a user's own processor."""
    return operator_name.startswith(_VARIABLES)


def variables(properties: str) -> list[str]:
    """Names of an operator's variables by its ``operatorProperties``, without those that Spark adds for itself."""
    names = [str(variable["stateName"]) for variable in json.loads(properties)["stateVariables"]]
    return sorted(name for name in names if not name.startswith("$"))


def group_state_field(names: Sequence[str]) -> str:
    """Which field of a value holds what ``applyInPandasWithState`` keeps; beside it Spark notes the key's timeout."""
    return next(name for name in names if name.startswith(_GROUP_STATE))
