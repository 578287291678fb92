"""Changes that the rules refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.soak.chain import Kind, Stage


def _to_session(stage: Stage) -> Stage | None:
    return (
        replace(stage, kind=Kind.SESSION, timeout=1000, other=None, doubled=False, aggregates=("n",))
        if stage.kind is Kind.WINDOW
        else None
    )


def _other_key(stage: Stage) -> Stage | None:
    return replace(stage, key="v") if stage.kind in (Kind.SESSION, Kind.ROLLING, Kind.MAPPED) else None


def _other_name(stage: Stage) -> Stage | None:
    return (
        replace(stage, name=f"{stage.name}-again")
        if stage.kind not in (Kind.BRANCH, Kind.OWN, Kind.LINE) and not stage.doubled
        else None
    )


def _other_bound(stage: Stage) -> Stage | None:
    return replace(stage, timeout=8_000 if stage.timeout is None else None) if stage.kind is Kind.DISTINCT else None


def _other_how(stage: Stage) -> Stage | None:
    return replace(stage, how="left" if stage.how == "inner" else "inner") if stage.kind is Kind.JOIN else None


def _other_accumulator(stage: Stage) -> Stage | None:
    if stage.kind in (Kind.WINDOW, Kind.SESSION, Kind.ROLLING) and "n" in stage.aggregates:
        return replace(stage, aggregates=tuple("n_as_max" if name == "n" else name for name in stage.aggregates))
    return None


def _fewer_fields(stage: Stage) -> Stage | None:
    return replace(stage, seen=False) if stage.kind is Kind.MAPPED and stage.seen else None


def _other_sink(stage: Stage) -> Stage | None:
    kinds = {"files": "map", "map": "files"}
    return replace(stage, sink=kinds[stage.sink], sink_name=stage.out) if stage.sink in kinds else None


REFUSED: dict[str, Callable[[Stage], Stage | None]] = {
    "C19 a window becomes a session": _to_session,
    "C25 another key": _other_key,
    "C21 another name that is not told": _other_name,
    "C20 a bound comes or goes": _other_bound,
    "C20 another kind of join": _other_how,
    "C20 another accumulator": _other_accumulator,
    "C30 a field of its state is gone": _fewer_fields,
    "C24 another kind of sink under its name": _other_sink,
}
"""Rule and change -> the changed stage, None if it has no such thing to change."""
