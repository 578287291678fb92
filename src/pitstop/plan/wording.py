"""What a stage does, in a few words: the description that a plan keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pitstop.kit.durations import text
from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.nodes import Node, Op

__all__ = ["describe"]


def describe(node: Node) -> str:
    """A stage in words; the operator's name where there is nothing more to say."""
    wording = _WORDINGS.get(node.op)
    return wording(node.params) if wording else node.op.value


def _window(params: Mapping[str, Any]) -> str:
    parts = [f"({', '.join(keys)}): {_named(wanted)}" for keys, wanted in zip(params["keys"], params["aggregates"], strict=True)]
    return f"{params['window'].describe()} by {' and '.join(parts)}" + _bound(", early every", params["early_ms"])


def _bound(words: str, milliseconds: int | None) -> str:
    return f"{words} {text(milliseconds)}" if milliseconds else ""


def _idle(params: Mapping[str, Any]) -> str:
    return _bound(", idle after", params["idle_timeout_ms"])


def _listed(columns: tuple[str, ...]) -> str:
    return f"({', '.join(columns)})"


def _named(aggregates: Mapping[str, Aggregate]) -> str:
    return ", ".join(f"{name}={aggregate.kind}" for name, aggregate in aggregates.items())


_WORDINGS: dict[Op, Callable[[Mapping[str, Any]], str]] = {
    Op.SOURCE: lambda p: str(p["source"].describe()),
    Op.SINK: lambda p: f"sink {p['sink'].describe()}",
    Op.TIMESTAMPS: lambda p: f"event time {p['column']}, lag {text(p['allowed_lag_ms'])}" + _idle(p),
    Op.INGESTION_TIMESTAMPS: lambda p: f"event time {p['column']} of its epoch" + _idle(p),
    Op.WINDOW_AGGREGATE: _window,
    Op.ROLLING_AGGREGATE: lambda p: f"rolling by {_listed(p['keys'])}: {_named(p['aggregates'])}",
    Op.MAP_STATEFUL: lambda p: f"state ({p['state']}) by {_listed(p['keys'])}" + _bound(", ttl", p["ttl_ms"]),
    Op.DISTINCT: lambda p: f"distinct by {_listed(p['keys'])}" + _bound(" within", p["within_ms"]),
    Op.JOIN: lambda p: f"{p['how']} join on {_listed(p['on'])} within {text(p['within_ms'])}",
    Op.HASH_JOIN: lambda p: f"{p['how']} hash join on {_listed(p['on'])}" + _bound(", table read again every", p["refresh_ms"]),
    Op.STATEFUL: lambda p: f"stateful {getattr(p['function'], '__name__', 'function')}",
}
