"""TUMBLE, HOP, SESSION and IMPOSE_ORDER: the windows of rows, and the order in which they are taken to come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.pipeline import windows
from pitstop.pipeline.key_columns import exactly
from pitstop.pipeline.windows import Session, Window
from pitstop.sql.queries import duration_ms, name_of_call, wrong
from pitstop.sql.relations import Relation
from pitstop.sql.statements import Query

_FORMS: dict[str, tuple[str, ...]] = {
    "impose_order": ("lag",),
    "tumble": ("size",),
    "hop": ("slide", "size"),
    "session": ("gap",),
}
"""Function -> the arguments behind its rows and the column of their time."""
WINDOWS = frozenset(_FORMS)
_MADE: dict[str, Callable[..., Window | Session]] = {
    "tumble": lambda size: windows.tumbling(size),
    "hop": lambda slide, size: windows.sliding(size, slide),
    "session": lambda gap: windows.session(gap),
}


def in_order(rows: Relation, call: exp.Expr, query: Query) -> Relation:
    """Return rows whose time is a column, with the lag that IMPOSE_ORDER allows. UsageError, with its place, for a wrong call."""
    column, (lag,) = _read(rows, call, query)
    if rows.time is not None:
        raise wrong(call, query, "The order of these rows is imposed already")
    if column in rows.moments:
        if lag:
            raise wrong(
                call, query, "Results of windows come in the order of their ends: give INTERVAL '0' SECOND, or no IMPOSE_ORDER"
            )
        return rows.timed_by(column)
    return replace(rows, stage=rows.stage.with_timestamps(exactly(column), allowed_lag=lag / 1000), time=column)


def in_windows(rows: Relation, call: exp.Expr, query: Query) -> Relation:
    """Return rows that are to be grouped by windows of TUMBLE, HOP or SESSION. UsageError, with its place, for a wrong call."""
    column, spans = _read(rows, call, query)
    name = name_of_call(call).upper()
    if rows.time is None and column in rows.moments:
        rows = rows.timed_by(column)
    time = rows.time
    if rows.streaming and time is None:
        message = f"{name} needs rows in order: TABLE(IMPOSE_ORDER(TABLE ..., DESCRIPTOR({column}), INTERVAL ...))"
        raise wrong(call, query, message)
    if time is not None and time != column:
        raise wrong(call, query, f"The time of these rows is '{time}': give DESCRIPTOR({time})")
    try:
        window = _MADE[name.lower()](*(ms / 1000 for ms in spans))
    except UsageError as error:
        raise wrong(call, query, str(error).rstrip(".")) from None
    stage = rows.stage if time is not None else rows.stage.with_timestamps(exactly(column))
    return replace(rows, stage=stage, time=column, window=window)


def _read(rows: Relation, call: exp.Expr, query: Query) -> tuple[str, list[int]]:
    """Return (the column of the time, the arguments that follow it in milliseconds)."""
    name, arguments = name_of_call(call), call.expressions[1:]
    spans = _FORMS[name]
    if len(arguments) != len(spans) + 1 or name_of_call(arguments[0]) != "descriptor" or len(arguments[0].expressions) != 1:
        form = ", ".join(("TABLE rows", "DESCRIPTOR(column)", *(f"INTERVAL {each}" for each in spans)))
        raise wrong(call, query, f"{name.upper()} takes ({form})")
    column = arguments[0].expressions[0]
    if not isinstance(column, exp.Column):
        raise wrong(column, query, "DESCRIPTOR takes a column")
    return rows.find(column, query).column, [duration_ms(each, query) for each in arguments[1:]]
