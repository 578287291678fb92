"""Stages that are the user's own stateful Spark code."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from pitstop.errors import PipelineError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import OwnCodeSpec
from pitstop.plan.variables import UNREAD, VARIABLES, Variable
from pitstop.spark.internals.plans import Operator, own_operators
from pitstop.spark.internals.processors import Declared, UndeclaredError, declared, is_processor

FIXED = {"GlobalLimit": "a limit"}
"""Operators whose state Spark can resume, but not move or repartition."""


def lower_own_code(node: Node, spec: OwnCodeSpec, inputs: list[DataFrame]) -> tuple[DataFrame, StateLayout | None]:
    """Return the result of the user's function, and a layout by which its operators are recognized again.

    The layout is None on bounded input, which keeps no state. PipelineError if the function gives no DataFrame, or has no
    stateful operator, or an input of it is missing in the result.
    """
    result = spec.function(*inputs)
    if not isinstance(result, DataFrame):
        raise PipelineError(f"Stage '{node.name}' ({node.location}) returned {type(result).__name__}, not a DataFrame.")
    if not result.isStreaming:
        return result, None
    operators = own_operators(result, inputs)
    own = [item for item in operators if not isinstance(item, int)]
    if not own:
        raise PipelineError(f"Stage '{node.name}' ({node.location}) has no stateful operator: use transform.")
    missing = set(range(len(inputs))) - {item for item in operators if isinstance(item, int)}
    if missing:
        raise PipelineError(
            f"Stage '{node.name}' ({node.location}) does not use its input '{node.inputs[min(missing)].name}' as it was given."
        )
    roles: list[str | int] = []
    for item in operators:
        roles.append(item if isinstance(item, int) else f"op{sum(isinstance(role, str) for role in roles)}")
    names = [operator.name for operator in own]
    fixed = next((what for name, what in FIXED.items() if name in names), None)
    layout = StateLayout(
        kind=StageKind.OPAQUE,
        accumulators=tuple((f"op{number}", operator.form) for number, operator in enumerate(own)),
        parameters={"text": ", ".join(names)} | ({"fixed": fixed} if fixed else {}) | _variables(own),
        roles=tuple(roles),
    )
    never_null = [f"op{number}: {column}" for number, operator in enumerate(own) for column in operator.never_null]
    return result, layout.noting_never_null(never_null)


def _variables(operators: list[Operator]) -> dict[str, Any]:
    """Return the parameters that describe the variables of the user's processors, or say why they are not known."""
    parameters: dict[str, Any] = {}
    for number, operator in enumerate(operators):
        if not is_processor(operator.node):
            continue
        try:
            variables = [_variable(item).to_dict() for item in declared(operator.node)]
        except UndeclaredError as error:
            parameters.setdefault(UNREAD, {})[f"op{number}"] = str(error)
        else:
            parameters.setdefault(VARIABLES, {})[f"op{number}"] = variables
    return parameters


def _variable(item: Declared) -> Variable:
    key = item.key.simpleString() if item.key is not None else None
    return Variable(item.name, item.kind, item.value.simpleString(), key, item.ttl_ms is not None, item.ttl_ms)
