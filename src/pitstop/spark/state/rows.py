"""A stage's saved state as rows that people read and write: for queries, exports, imports and migrations.

Columns: the keys; ``window_start`` and ``window_end`` of windows; ``part`` of sliding ones (``frame``: not yet closed,
``window``: what closed frames have brought to a window); the accumulators, named as their aggregate, or ``<aggregate>__<i>``
where it has several; ``last_event``, the latest event time of a key with state of its own. Keys have their names; what else would
have a name that is taken is called ``state_<name>``, first our own columns, then the accumulators. State that is Spark's alone
(joins, the user's own code) has ``key`` and ``value`` as Spark keeps them, and is only read.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.errors import UsageError
from pitstop.model.layout import StateLayout
from pitstop.plan.accumulators import readable
from pitstop.plan.kinds import Form, rules_of
from pitstop.plan.types import widens
from pitstop.spark.base.naming import quoted, role_column
from pitstop.spark.base.sessions import end_as_shown, end_in_state
from pitstop.spark.base.type_texts import type_of
from pitstop.spark.state.codec import LAST
from pitstop.spark.state.key_text import FIELDS
from pitstop.spark.state.saved import SavedStage, raw_rows

START, END, PART, LAST_EVENT = "window_start", "window_end", "part", "last_event"
_COUNT = "__count"
_PARTS = {"frames": "frame", "windows": "window"}


def rows_of(spark: SparkSession, saved: SavedStage) -> DataFrame:
    """Return all saved rows of a stage. UsageError if it holds an aggregate that cannot be read."""
    layout = saved.layout
    rules = rules_of(layout.kind)
    if not rules.feedable:
        return raw_rows(spark, saved)
    _refuse_unreadable(saved.stage, layout)
    if rules.form is Form.KEYED:
        rows = saved.rows(spark, "state")
        columns = [F.col(FIELDS).getField(name).alias(column) for name, column in shown_names(layout).items()]
        last = F.timestamp_millis(F.col(LAST)).alias(own_names(layout)[LAST_EVENT])
        return rows.select(*[quoted(name) for name, _ in layout.keys], *columns, last)
    parts = [_window_rows(spark, saved, role) for role in roles_of(layout)]
    return reduce(DataFrame.unionByName, parts)


def columns_of(layout: StateLayout) -> dict[str, str]:
    """Return column -> Spark type as text, of the rows that :func:`rows_of` gives for a stage with that layout."""
    own, shown = own_names(layout), shown_names(layout)
    kinds = {column: "string" if name == PART else "timestamp" for name, column in own.items()}
    accumulators = {shown[name]: kind for name, kind in layout.accumulators}
    before, behind = (kinds, {}) if rules_of(layout.kind).windowed else ({}, kinds)
    return dict(layout.keys) | before | accumulators | behind


def taken(rows: DataFrame, layout: StateLayout, stage: str, what: str, arrays: bool = False) -> dict[str, DataFrame]:
    """Return people's rows as a restore feeds them, by role. UsageError, beginning with ``what``, if they do not fit the layout.

    ``arrays``: the rows have arrays of collected values, which are not read from saved state of windows.
    It looks at all rows once: two for one key of a keyed stage, or a window that the stage does not have, would be lost.
    """
    if not arrays:
        _refuse_unreadable(stage, layout)
    rows = _fitting(rows, layout, stage, what)
    _check_values(rows, layout, stage, what)
    keys = [F.col(quoted(name)) for name, _ in layout.keys]
    values = [F.col(quoted(shown)).alias(name) for name, shown in shown_names(layout).items()]
    own = _own_columns(layout)
    if rules_of(layout.kind).form is Form.KEYED:
        return {"state": rows.select(*keys, F.struct(*values).alias(FIELDS), F.unix_millis(own[LAST_EVENT]).alias(LAST))}
    frames = {}
    end = end_in_state(own[END]) if rules_of(layout.kind).form is Form.SESSIONS else own[END]
    for role in roles_of(layout):
        span = F.struct(own[START].alias("start"), end.alias("end")).alias(role_column(stage, role))
        of_role = rows.where(own[PART] == _PARTS[role]) if PART in own else rows
        frames[role] = of_role.select(*keys, span, *values)
    return frames


def shown_names(layout: StateLayout) -> dict[str, str]:
    """Return accumulator -> the column that shows it: the aggregate's name if it is its only one."""
    names = [name for name, _ in layout.accumulators]
    labels = names
    if layout.aggregates:  # else the fields are the user's own
        results = [name.rpartition("__")[0] for name in names]
        labels = [result if results.count(result) == 1 else name for name, result in zip(names, results, strict=True)]
    before = [*(key for key, _ in layout.keys), *own_names(layout).values()]
    return dict(zip(names, _free_names(labels, before), strict=True))


def roles_of(layout: StateLayout) -> tuple[str, ...]:
    """Return the roles of the stage's own operators."""
    return tuple(role for role in layout.roles if isinstance(role, str))


def own_names(layout: StateLayout) -> dict[str, str]:
    """Return the columns that are neither keys nor accumulators -> their names in this stage's rows."""
    parts = [PART] if len(roles_of(layout)) > 1 else []
    names = [START, END, *parts] if rules_of(layout.kind).windowed else [LAST_EVENT]
    return dict(zip(names, _free_names(names, [key for key, _ in layout.keys]), strict=True))


def _own_columns(layout: StateLayout) -> dict[str, Column]:
    return {name: F.col(quoted(column)) for name, column in own_names(layout).items()}


def _free_names(names: list[str], before: list[str]) -> list[str]:
    """Return the names, each made distinct from those before it: Spark does not distinguish upper case from lower case."""
    in_use, free = {name.lower() for name in before}, []
    for name in names:
        while name.lower() in in_use:
            name = f"state_{name}"
        in_use.add(name.lower())
        free.append(name)
    return free


def _window_rows(spark: SparkSession, saved: SavedStage, role: str) -> DataFrame:
    layout, span = saved.layout, quoted(role_column(saved.stage, role))
    keys = [F.col(quoted(name)) for name, _ in layout.keys]
    own = own_names(layout)
    part = [F.lit(_PARTS[role]).alias(own[PART])] if PART in own else []
    end = F.col(f"{span}.end")
    shown_end = end_as_shown(end) if rules_of(layout.kind).form is Form.SESSIONS else end
    window = [F.col(f"{span}.start").alias(own[START]), shown_end.alias(own[END])]
    columns = [F.col(quoted(name)).alias(column) for name, column in shown_names(layout).items()]
    return saved.rows(spark, role).select(*keys, *window, *part, *columns)


def _refuse_unreadable(stage: str, layout: StateLayout) -> None:
    if not readable(layout):
        raise UsageError(f"The state of stage '{stage}' holds an aggregate that Spark keeps in a form that cannot be read.")


def _fitting(rows: DataFrame, layout: StateLayout, stage: str, what: str) -> DataFrame:
    """Return the rows with just the columns of the layout, in its types."""
    rules = rules_of(layout.kind)
    if not rules.feedable:
        raise UsageError(f"{what}: stage '{stage}' is {rules.words}, whose state cannot be given as rows.")
    columns = columns_of(layout)
    last = own_names(layout).get(LAST_EVENT)
    if last is not None and last not in rows.columns:
        rows = rows.withColumn(last, F.lit(None).cast("timestamp"))
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    for name, kind in columns.items():
        if name not in types:
            raise UsageError(f"{what}: there is no column '{name}' ({kind}); stage '{stage}' keeps {_listed(columns)}.")
        if not widens(types[name], kind) and types[name] != "void":
            raise UsageError(f"{what}: column '{name}' is {types[name]}, and stage '{stage}' keeps {kind}: cast it.")
    odd = sorted(types.keys() - columns.keys())
    if odd:
        raise UsageError(f"{what}: there is a column '{odd[0]}' that stage '{stage}' does not keep; it keeps {_listed(columns)}.")
    return rows.select(*[F.col(quoted(name)).cast(type_of(kind)).alias(name) for name, kind in columns.items()])


def _check_values(rows: DataFrame, layout: StateLayout, stage: str, what: str) -> None:
    if rules_of(layout.kind).form is Form.KEYED:
        keys = [quoted(name) for name, _ in layout.keys]
        doubled = rows.groupBy(*keys).agg(F.count(F.lit(1)).alias(_COUNT)).where(f"{_COUNT} > 1").limit(1).collect()
        if doubled:
            key = ", ".join(f"{name} {doubled[0][name]}" for name, _ in layout.keys) or "the one group"
            raise UsageError(f"{what}: there are {doubled[0][_COUNT]} rows for {key}, and stage '{stage}' keeps one a key.")
        return
    wrong = rows.where(~F.coalesce(_is_window(layout), F.lit(False))).limit(1).collect()
    if wrong:
        own = own_names(layout)
        span = f"{wrong[0][own[START]]} to {wrong[0][own[END]]}"
        raise UsageError(f"{what}: {span} is not a window of stage '{stage}', which has {layout.parameters['text']}.")


def _is_window(layout: StateLayout) -> Column:
    own = _own_columns(layout)
    start, end = F.unix_micros(own[START]), F.unix_micros(own[END])
    if rules_of(layout.kind).form is Form.SESSIONS:
        return start < end
    size, slide = (layout.parameters[name] * 1000 for name in ("size_ms", "slide_ms"))
    aligned: Column = (start % slide) == 0
    whole: Column = end - start == size
    if size == slide:
        return aligned & whole
    frame: Column = (own[PART] == "frame") & (end - start == slide)
    window: Column = (own[PART] == "window") & whole
    return aligned & (frame | window)


def _listed(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())
