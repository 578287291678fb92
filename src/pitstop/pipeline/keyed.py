"""Grouped stages: windows, rolling aggregates, user-defined state, distinct rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from pitstop.errors import PipelineError
from pitstop.kit.durations import Duration, milliseconds
from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.expecting import SINKS, WINDOWS, expect, expect_function
from pitstop.pipeline.nodes import Rows
from pitstop.pipeline.schemas import ddl
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.specs import (
    DistinctSpec,
    HandledSpec,
    LateSpec,
    LeavesOut,
    MapStatefulSpec,
    RollingSpec,
    SinkSpec,
    UnhandledSpec,
    WindowSpec,
)
from pitstop.pipeline.windows import Session, Window

S = TypeVar("S", bound=Rows)
"""The class of stages with all verbs, which is built upon this module."""

WINDOW_COLUMNS = ("window_start", "window_end", "is_early")


class KeyedStage(Generic[S]):
    """Rows grouped by key columns. No columns: one group of all rows."""

    def __init__(self, stage: S, keys: tuple[str, ...]) -> None:
        self._stage = stage
        self._keys = keys

    def __repr__(self) -> str:
        return f"<{self._stage!r} grouped by {', '.join(self._keys) or 'nothing'}>"

    def window(self, window: Window | Session, late: Sink | None = None) -> WindowedStage[S]:
        """Cut each group into windows of event time; the stage needs ``with_timestamps`` before.

        Rows that are left out because they are late, or have no event time, are counted, and go to ``late`` if given (columns
        ``stage string, key string, text string, error string, time timestamp``, ``key`` and ``text``, the row, as JSON; the
        sink's stage is ``<name of the aggregate>-late-rows``). Behind another stage with state there can be no ``late``.
        """
        return WindowedStage((self._stage,), (self._keys,), ("",), window, late=late)

    def rolling_aggregate(self, name: str, **aggregates: Aggregate) -> S:
        """Give for each row the aggregates of its group so far, this row included.

        Columns out: those of the row, event time included, then one per aggregate. State is kept for ever.
        ``approx_count_distinct`` and aggregates of one's own cannot roll.
        """
        _check_aggregates(name, aggregates, ())
        for column, aggregate in aggregates.items():
            if any(combine.step is None for combine in aggregate.combines):
                raise PipelineError(
                    f"Aggregate '{column}' of stage '{name}' ({aggregate.kind}) cannot roll: it has no form for single rows."
                )
        return self._stage._then(RollingSpec(self._keys, dict(aggregates), self._stage.timestamp_column()), name)

    def map_stateful(
        self,
        name: str,
        function: Callable[..., Any],
        state: Any,
        output: Any,
        ttl: Duration | None = None,
        on_evict: Callable[..., Any] | None = None,
        dead_letters: Sink | None = None,
        late: Sink | None = None,
    ) -> S:
        """Make rows by a Python function that keeps state for each group.

        ``state`` and ``output`` are DDL, a StructType or a dataclass. ``function(state, row)`` gets the fields of ``state`` as
        attributes, None at first, which it reads and sets; ``row`` is a Row. It returns None, a row of ``output`` (a tuple, a
        dict, or a single value for a single column), or a list of rows. Columns out: the keys, then those of ``output``.

        With ``ttl``, the state of a group is dropped when the watermark, or a row of the group, is ``ttl`` or more after
        its last event, and ``on_evict(state, key, time)``, which may return rows too, is called before (``key`` a tuple,
        ``time`` the moment of expiry in milliseconds since the epoch); late rows are dropped and counted, and go to ``late`` if
        given, as of :meth:`window`. The stage then needs ``with_timestamps``. Without ``ttl`` state is kept for ever, and no row
        is late. Rows of one epoch come in the order of event time.

        Rows with values that Python lacks (times beyond the year 9999) are left out: they are counted and sampled in the
        log. A row ends the epoch if the function raises, or returns no row of ``output``, or leaves no valid ``state``. With
        ``dead_letters`` such a row is left out, too, and leaves the state of its key as it was. All rows that are left out
        go there (columns ``stage string, key string, text string, error string, time timestamp``, ``key`` and ``text``,
        the row, as JSON; the sink's stage is ``<name>-dead-letters``). If ``on_evict`` fails the state is gone; it then stands
        in ``error``, and ``text`` is null.
        """
        expect_function(function, f"Stage '{name}' keeps state by a function", "def name(state, row): ... and give name")
        timestamp = self._stage.timestamp_column()
        if ttl is not None and timestamp is None:
            raise PipelineError(f"Stage '{name}' has a ttl, so it needs event time: call with_timestamps before it.")
        if on_evict is not None and ttl is None:
            raise PipelineError(f"Stage '{name}' never evicts without a ttl, so on_evict would never be called.")
        if late is not None and ttl is None:
            raise PipelineError(f"Stage '{name}' drops no late rows without a ttl, so late would get none: leave it out.")
        ttl_ms = None if ttl is None else milliseconds(ttl, "time to live")
        has_dead_letters = dead_letters is not None
        spec = MapStatefulSpec(self._keys, function, ddl(state), ddl(output), ttl_ms, on_evict, timestamp, has_dead_letters)
        stage = self._stage._then(spec, name)
        keep_late(late, name, spec, self._stage)
        if dead_letters is None:
            return stage
        expect(dead_letters, Sink, f"The dead letters of stage '{name}' go to a sink", SINKS)
        stage._then(UnhandledSpec(), f"{name}-unhandled")._then(SinkSpec(dead_letters), f"{name}-dead-letters")
        return stage._then(HandledSpec(), f"{name}-rows")

    def distinct(self, name: str, within: Duration | None = None, late: Sink | None = None) -> S:
        """Keep one row of each group, as soon as one comes. Columns out: those of the row.

        Of rows that come in one epoch, from several files or partitions, any may be the one.

        With ``within``, a group is forgotten once the watermark has passed its first row by that: repetitions within that
        time are dropped, and one that comes after the group was forgotten is a first row again. The stage then needs
        ``with_timestamps``. Late rows are dropped and counted, and go to ``late`` if given, as of :meth:`window`. Without
        ``within``, groups are remembered for ever, and no row is late, unless the event time is a column of the group.
        """
        if not self._keys:
            raise PipelineError(f"Stage '{name}' would keep a single row: group by the columns that make rows different.")
        timestamp = self._stage.timestamp_column()
        if within is not None and timestamp is None:
            raise PipelineError(f"Stage '{name}' is bounded in time, so it needs event time: call with_timestamps before it.")
        if late is not None and within is None and timestamp not in self._keys:
            raise PipelineError(
                f"Stage '{name}' remembers its rows forever, and drops none as late: give it within, or leave late out."
            )
        within_ms = None if within is None else milliseconds(within, "time bound")
        spec = DistinctSpec(self._keys, within_ms, timestamp)
        stage = self._stage._then(spec, name)
        keep_late(late, name, spec, self._stage)
        return stage


class WindowedStage(Generic[S]):
    """Groups of one or several stages, cut into windows. ``aggregate`` defines what is computed of each."""

    def __init__(
        self,
        stages: tuple[S, ...],
        keys: tuple[tuple[str, ...], ...],
        labels: tuple[str, ...],
        window: Window | Session,
        early_ms: int | None = None,
        late: Sink | None = None,
    ) -> None:
        expect(window, (Window, Session), f"Rows of stage '{stages[0].name}' are cut by a window", WINDOWS)
        self._stages, self._keys, self._labels = stages, keys, labels
        self._window, self._early_ms, self._late = window, early_ms, late

    def early_results(self, every: Duration) -> WindowedStage[S]:
        """Also give the results of open windows so far, about once in ``every``; results get a column ``is_early boolean``.

        0: no early results.
        """
        ms = milliseconds(every, "time between early results")
        return WindowedStage(self._stages, self._keys, self._labels, self._window, ms or None, self._late)

    def aggregate(self, name: str, **aggregates: Any) -> S:
        """Give one row for each key and window once the watermark has passed its end.

        Columns out: the keys, ``window_start``, ``window_end`` (timestamps), ``is_early`` (with early results), and one
        per aggregate. For co-aggregation each label of ``co_group`` has a dict of its aggregates. ``name`` is the key of
        this state in snapshots.
        """
        columns_by_input = self._by_input(name, aggregates)
        _check_aggregates(name, {column: a for part in columns_by_input for column, a in part.items()}, self._keys[0])
        if isinstance(self._window, Session) and not self._keys[0]:
            raise PipelineError(
                f"Stage '{name}' has sessions of no key, which Spark does not have on a stream: group its rows by a column; "
                "for one group of all rows, by one that is the same in all."
            )
        times = []
        for stage in self._stages:
            time = stage.timestamp_column()
            if time is None:
                raise PipelineError(f"Stage '{name}' needs event time: call with_timestamps before its window.")
            times.append(time)
        spec = WindowSpec(self._keys, self._window, tuple(times), columns_by_input, self._early_ms)
        result = self._stages[0]._then(spec, name, *self._stages[1:])
        keep_late(self._late, name, spec, *self._stages)
        return result

    def _by_input(self, name: str, aggregates: dict[str, Any]) -> tuple[dict[str, Aggregate], ...]:
        if self._labels == ("",):
            return (dict(aggregates),)
        if set(aggregates) - set(self._labels):
            odd = sorted(set(aggregates) - set(self._labels))[0]
            raise PipelineError(f"Stage '{name}' has no input '{odd}': its inputs are {', '.join(self._labels)}.")
        parts = tuple(aggregates.get(label, {}) for label in self._labels)
        for label, part in zip(self._labels, parts, strict=True):
            if not isinstance(part, Mapping):
                raise PipelineError(f"Stage '{name}': give input '{label}' a dict of aggregates: {label}={{'n': ps.count()}}.")
        columns = [column for part in parts for column in part]
        if len(columns) != len(set(columns)):
            twice = next(column for column in columns if columns.count(column) > 1)
            raise PipelineError(f"Stage '{name}' has two columns named '{twice}': rename one of the aggregates.")
        return tuple(dict(part) for part in parts)


class CoGroup(Generic[S]):
    """Several stages grouped by keys of the same types, to be aggregated together."""

    def __init__(self, inputs: dict[str, KeyedStage[S]]) -> None:
        self._inputs = inputs

    def window(self, window: Window | Session, late: Sink | None = None) -> WindowedStage[S]:
        """Cut each group into windows of event time; every stage needs ``with_timestamps`` before.

        ``late`` as in :meth:`KeyedStage.window`, for the rows of all inputs.
        """
        stages = tuple(keyed._stage for keyed in self._inputs.values())
        keys = tuple(keyed._keys for keyed in self._inputs.values())
        return WindowedStage(stages, keys, tuple(self._inputs), window, late=late)


def co_group(**inputs: KeyedStage[S]) -> CoGroup[S]:
    """Aggregate two or more streams by the same key, each with its own aggregates::

        both = ps.co_group(orders=orders.group_by("user"), visits=visits.group_by("visitor"))
        both.window(ps.tumbling("1 minute")).aggregate("both", orders={"n": ps.count()}, visits={"seen": ps.count()})

    Key columns may have different names; results have those of the first input. The slowest watermark counts.
    """
    for label, keyed in inputs.items():
        expect(keyed, KeyedStage, f"Input '{label}' of co_group is a grouped stage", "rows.group_by(...)")
    if len(inputs) < 2:
        raise PipelineError("co_group needs two or more grouped stages.")
    if len({len(keyed._keys) for keyed in inputs.values()}) > 1:
        keys = ", ".join(f"{label} by ({', '.join(keyed._keys)})" for label, keyed in inputs.items())
        raise PipelineError(f"Stages that are co-grouped need equally many key columns: {keys}.")
    return CoGroup(inputs)


def keep_late(sink: Sink | None, name: str, spec: LeavesOut, *stages: Rows) -> None:
    """Let a sink, if given, get the rows of these stages that the stage ``name`` leaves out."""
    if sink is not None:
        expect(sink, Sink, f"The late rows of stage '{name}' go to a sink", SINKS)
        stages[0]._then(LateSpec(name, spec), f"{name}-late", *stages[1:])._then(SinkSpec(sink), f"{name}-late-rows")


def _check_aggregates(name: str, aggregates: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    if not aggregates:
        raise PipelineError(f"Stage '{name}' computes nothing: give it at least one aggregate.")
    for column, aggregate in aggregates.items():
        if not isinstance(aggregate, Aggregate):
            raise PipelineError(f"Column '{column}' of stage '{name}' is not an aggregate: use ps.count(), ps.sum(...), ...")
        if column in keys or column in WINDOW_COLUMNS:
            raise PipelineError(f"Stage '{name}' has two columns named '{column}': rename the aggregate.")
