"""The stage whose expression raised an error while rows were computed, as far as Spark tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.errors import PySparkException, QueryContextType

from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.nodes import Node


def raised_in(error: BaseException, nodes: Iterable[Node]) -> str | None:
    """Return text such as ``stage 'm' (job.py:5), expression 'cast(k as bigint)'``; None if Spark does not name the expression.

    If several stages have the expression, all of them are named. An expression made with Spark's functions is named by its
    function.
    """
    if not isinstance(error, PySparkException):
        return None
    for context in error.getQueryContext():
        fragment = context.fragment().strip()
        if not fragment:
            continue
        if context.contextType() == QueryContextType.DataFrame:
            return f"a call of '{fragment}'"  # where that stands in the user's code Spark does not tell
        matching_nodes = [node for node in nodes if any(fragment in text for text in _expressions(node.spec))]
        stages = " or ".join(f"stage '{node.name}' ({node.location})" for node in matching_nodes)
        return f"{stages}, expression '{fragment}'" if stages else f"the expression '{fragment}'"
    return None


def _expressions(value: Any) -> Iterator[str]:
    """Yield all texts in the fields of a stage, among them its expressions."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for part in value.values() for text in _expressions(part))
    elif isinstance(value, (tuple, list)):
        yield from (text for part in value for text in _expressions(part))
    elif isinstance(value, Aggregate):
        yield from _expressions(value.inputs)
    elif hasattr(value, "op"):
        yield from _expressions(list(vars(value).values()))
