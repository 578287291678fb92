"""Stages that keep one row of state a key by a Python function: ``map_stateful`` and rolling aggregates.

Both are Spark's ``applyInPandasWithState``. A row travels as one struct, so that pandas changes no value in it, and
saved state that another layout must take over comes in as rows beside the live ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

import pandas as pd
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.types import DataType, StructField, StructType

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.model.layout import StageKind, StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import MapStatefulSpec, RollingSpec
from pitstop.spark.base.failures import first_line
from pitstop.spark.base.naming import quoted
from pitstop.spark.lowering.event_time import event_time
from pitstop.spark.lowering.window import Aggregation, check_columns
from pitstop.spark.state.codec import KEPT, LAST, STATE, TIMESTAMP_FORMAT, RowShape, StateCodec

ALL = "__all"
"""The key of a stage without keys."""
ROW, AT, SAVED, LIFTED = "__row", "__at", "__saved", "__lifted"


class KeyState(Protocol):
    """What a keyed function needs of Spark's GroupState: the state of one key, and the key's timeout."""

    @property
    def exists(self) -> bool: ...
    @property
    def hasTimedOut(self) -> bool: ...
    @property
    def get(self) -> tuple[Any, ...]: ...
    def update(self, values: tuple[Any, ...]) -> None: ...
    def remove(self) -> None: ...
    def setTimeoutTimestamp(self, at: int) -> None: ...
    def getCurrentWatermarkMs(self) -> int: ...


@dataclass(frozen=True)
class KeyedFunction:
    """What Spark calls for each key of an epoch; it is pickled and runs in the workers."""

    keys: tuple[str, ...]
    codec: StateCodec
    """Between the state's fields and the text that Spark keeps."""
    shape: RowShape
    """Makes Rows of the structs in which rows travel."""
    outputs: tuple[str, ...]
    """Columns of the rows that it makes, beside the keys."""
    handle: Callable[[SimpleNamespace, Row], Iterable[tuple[Any, ...]]]
    """``(state, row) -> rows``; changes the state."""
    evict: Callable[[SimpleNamespace, tuple[Any, ...], int], Iterable[tuple[Any, ...]]]
    """``(state, key, time in ms) -> rows``, when a key's state is dropped."""
    ttl_ms: int | None
    """How long after its last event a key's state is dropped; None: never."""
    timed: bool
    """True if rows have an event time, by which those of an epoch are then ordered."""

    def __call__(self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: KeyState) -> Iterator[pd.DataFrame]:
        held, last = self._open(state)
        out: list[tuple[Any, ...]] = []
        if state.hasTimedOut:
            out += self._evicted(held, last, key)
            state.remove()
        else:
            for row, at, saved in self._rows(frames):
                if saved is not None:
                    held, last = self._taken(saved)
                    continue
                if self._expired(last, at):
                    # By the row's own time, not by the epoch's watermark: the outcome must not hang on where epochs end.
                    out += self._evicted(held, last, key)
                    held, last = SimpleNamespace(**self.codec.decode(None)), None
                out += self.handle(held, row)
                last = at if last is None or (at is not None and at > last) else last
            out += self._close(held, last, key, state)
        if out:
            shown = key if self.keys else ()
            yield pd.DataFrame([(*shown, *values) for values in out], columns=[*self.keys, *self.outputs], dtype=object)

    def _open(self, state: KeyState) -> tuple[SimpleNamespace, int | None]:
        text, last = state.get if state.exists else (None, None)
        return SimpleNamespace(**self.codec.decode(text)), last

    def _taken(self, saved: Any) -> tuple[SimpleNamespace, int | None]:
        return SimpleNamespace(**self.codec.decode(saved[STATE])), saved[LAST]

    def _rows(self, frames: Iterator[pd.DataFrame]) -> list[tuple[Any, int | None, Any]]:
        """(row, event time in ms, saved state) in the order of event time."""
        rows = []
        for frame in frames:
            times = frame[AT] if AT in frame else [None] * len(frame)
            saved = frame[SAVED] if SAVED in frame else [None] * len(frame)
            for row, at, old in zip(frame[ROW], times, saved, strict=True):
                rows.append(
                    (None if row is None else self.shape.row(row), None if at is None or at is pd.NaT else _millis(at), old)
                )
        if self.timed:
            rows.sort(key=lambda item: (item[2] is None, item[1] if item[1] is not None else 0))
        return rows

    def _close(self, held: SimpleNamespace, last: int | None, key: tuple[Any, ...], state: KeyState) -> list[tuple[Any, ...]]:
        """Keep the state until its time has come, which may be now."""
        # Without a time to live the stage may have no event time, and Spark then knows of no watermark.
        if self.ttl_ms is not None and self._expired(last, state.getCurrentWatermarkMs()):
            if state.exists:
                state.remove()
            return self._evicted(held, last, key)
        state.update(self._values(held, last))
        if self.ttl_ms is not None and last is not None:
            state.setTimeoutTimestamp(last + self.ttl_ms)
        return []

    def _expired(self, last: int | None, now: int | None) -> bool:
        return self.ttl_ms is not None and last is not None and now is not None and last + self.ttl_ms <= now

    def _evicted(self, held: SimpleNamespace, last: int | None, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return list(self.evict(held, key if self.keys else (), (last or 0) + (self.ttl_ms or 0)))

    def _values(self, held: SimpleNamespace, last: int | None) -> tuple[Any, ...]:
        return (self.codec.encode(vars(held)), last)


@dataclass(frozen=True)
class UserFunction:
    """The user's function and what it may return: None, a row, or a list of rows."""

    function: Callable[..., Any]
    outputs: tuple[str, ...]
    stage: str

    def __call__(self, *arguments: Any) -> Iterable[tuple[Any, ...]]:
        result = self.function(*arguments)
        if result is None:
            return ()
        rows = result if isinstance(result, list) else [result]
        return [self._row(row) for row in rows]

    def _row(self, row: Any) -> tuple[Any, ...]:
        if isinstance(row, dict):
            odd = set(row) - set(self.outputs)
            if odd:
                raise ValueError(f"stage '{self.stage}' returned a column '{min(odd)}'; its output is {', '.join(self.outputs)}")
            return tuple(row.get(name) for name in self.outputs)
        values = tuple(row) if isinstance(row, tuple) else (row,)
        if len(values) != len(self.outputs):
            raise ValueError(f"stage '{self.stage}' returned {len(values)} values; its output is {', '.join(self.outputs)}")
        return values


def never(*_: Any) -> Iterable[tuple[Any, ...]]:
    """The ``evict`` of stages that never drop state."""
    return ()


def lower_map_stateful(
    node: Node, spec: MapStatefulSpec, frame: DataFrame, restored: DataFrame | None = None
) -> tuple[DataFrame, StateLayout]:
    """The rows that the user's function makes, and the layout of its state."""
    fields, output = _schema(node, "state", spec.state), _schema(node, "output", spec.output)
    names = tuple(output.fieldNames())
    _refuse_doubled(node, spec.keys, names)
    evict = UserFunction(spec.on_evict, names, node.name) if spec.on_evict is not None else never
    function = KeyedFunction(
        spec.keys,
        StateCodec(node.name, fields),
        RowShape(frame.schema),
        names,
        UserFunction(spec.function, names, node.name),
        evict,
        spec.ttl_ms,
        spec.timestamp is not None,
    )
    result = _apply(node, spec, frame, function, output, restored)
    described = {"ttl_ms": spec.ttl_ms, "text": "state" + (f", ttl {text(spec.ttl_ms)}" if spec.ttl_ms else "")}
    return result, _layout(spec.keys, frame, StageKind.MAPPED, fields, described)


@dataclass(frozen=True)
class Fold:
    """Folds a row into the accumulators of its key, and gives the row with their new values."""

    columns: tuple[str, ...]
    folds: tuple[tuple[str, Callable[[Any, Any], Any], bool], ...]
    """(accumulator, fold, True if the accumulator is a list of lifted values, so that the first value becomes a list of one)."""

    def __call__(self, held: SimpleNamespace, row: Row) -> Iterable[tuple[Any, ...]]:
        lifted = row[LIFTED]
        for name, fold, collects in self.folds:
            value, before = lifted[name], getattr(held, name)
            if value is not None:
                first = [value] if collects else value
                setattr(held, name, first if before is None else fold(before, value))
        return [(*(row[column] for column in self.columns), *(getattr(held, name) for name, _, _ in self.folds))]


def lower_rolling(
    node: Node, spec: RollingSpec, frame: DataFrame, restored: DataFrame | None = None
) -> tuple[DataFrame, StateLayout]:
    """Each row with the results of its key so far, and the layout of the state."""
    keys = spec.keys
    aggregation = Aggregation(node, (spec.aggregates,))
    check_columns(node, frame, keys)
    _refuse_doubled(node, frame.columns, aggregation.all)
    timestamp = None if spec.timestamp is None else event_time(node, frame, spec.timestamp)
    lifted = frame.select("*", *aggregation.lifted(frame, spec.aggregates, timestamp))
    lifted, types = aggregation.stable(lifted)
    with_lifted = lifted.select(*map(quoted, frame.columns), F.struct(*map(quoted, types)).alias(LIFTED))
    fields = StructType([StructField(name, DataType.fromDDL(kind)) for name, kind in types.items()])
    carried = tuple(column for column in frame.columns if column not in keys)
    folds = tuple((name, _fold_of(c), c.gather is not None) for name, c in aggregation.combines.items())
    outputs = StructType([*(frame.schema[column] for column in carried), *fields.fields])
    function = KeyedFunction(
        keys,
        StateCodec(node.name, fields),
        RowShape(with_lifted.schema),
        tuple(outputs.fieldNames()),
        Fold(carried, folds),
        never,
        None,
        spec.timestamp is not None,
    )
    rows = _apply(node, spec, with_lifted, function, outputs, restored)
    result = rows.select(*map(quoted, frame.columns), *aggregation.results())
    layout = _layout(keys, frame, StageKind.ROLLING, fields, {"text": "rolling"})
    classes = tuple((name, aggregate.state_class) for name, aggregate in aggregation.all.items())
    return result, StateLayout(layout.kind, layout.keys, layout.accumulators, classes, layout.parameters, layout.roles)


def _fold_of(combine: Any) -> Callable[[Any, Any], Any]:
    assert combine.fold is not None  # checked when the stage was defined
    fold: Callable[[Any, Any], Any] = combine.fold
    return fold


def _apply(
    node: Node,
    spec: MapStatefulSpec | RollingSpec,
    frame: DataFrame,
    function: KeyedFunction,
    output: StructType,
    restored: DataFrame | None,
) -> DataFrame:
    """The rows that the function makes of a frame, behind the key columns; ``restored`` holds saved state to begin with."""
    keys, timestamp = spec.keys, spec.timestamp
    check_columns(node, frame, keys)
    if timestamp is not None:
        timestamp = event_time(node, frame, timestamp)
    kinds = {name: frame.schema[name].dataType for name in keys}
    columns: list[Column] = [F.col(quoted(name)) for name in keys] or [F.lit(1).alias(ALL)]
    columns.append(F.struct(*map(quoted, frame.columns)).alias(ROW))
    if timestamp is not None:
        columns.append(F.col(quoted(timestamp)).alias(AT))
    live = frame.select(*columns)
    if restored is not None:
        fields = [name for name in restored.columns if name not in keys and name != LAST]
        text = F.to_json(F.struct(*map(quoted, fields)), {"timestampFormat": TIMESTAMP_FORMAT})
        saved = F.struct(text.alias(STATE), F.col(LAST)).alias(SAVED)
        old = restored.select(*([F.col(quoted(name)) for name in keys] or [F.lit(1).alias(ALL)]), saved)
        live = live.withColumn(SAVED, F.lit(None).cast(f"struct<{STATE}:string,{LAST}:bigint>"))
        live = live.unionByName(old, allowMissingColumns=True)
    shown = StructType([*(StructField(name, kind) for name, kind in kinds.items()), *output.fields])
    grouped = live.groupBy(*(list(map(quoted, keys)) or [ALL]))
    if not frame.isStreaming:
        return grouped.applyInPandas(_once(function), shown)
    timeout = GroupStateTimeout.NoTimeout if function.ttl_ms is None else GroupStateTimeout.EventTimeTimeout
    return grouped.applyInPandasWithState(function, shown, KEPT, "append", timeout)


def _once(function: KeyedFunction) -> Callable[[tuple[Any, ...], pd.DataFrame], pd.DataFrame]:
    """The function for a bounded pipeline, which has all rows of a key at once: state begins empty and is not kept."""
    names = [*function.keys, *function.outputs]

    def whole(key: tuple[Any, ...], frame: pd.DataFrame) -> pd.DataFrame:
        found = list(function(key, iter([frame]), _NoState()))
        return found[0] if found else pd.DataFrame(columns=names, dtype=object)

    return whole


class _NoState:
    """Stands in for Spark's GroupState where nothing is kept: no state, and a watermark before all time."""

    exists = hasTimedOut = False
    get: tuple[Any, ...] = (None, None)

    def getCurrentWatermarkMs(self) -> int:
        return -(2**62)

    def update(self, values: tuple[Any, ...]) -> None:
        pass

    def remove(self) -> None:
        pass

    def setTimeoutTimestamp(self, at: int) -> None:
        pass


def _refuse_doubled(node: Node, columns: Iterable[str], added: Iterable[str]) -> None:
    both = sorted(set(columns) & set(added))
    if both:
        raise PipelineError(f"Stage '{node.name}' ({node.location}) would have two columns '{both[0]}': rename the one it makes.")


def _schema(node: Node, which: str, ddl: str) -> StructType:
    try:
        schema = DataType.fromDDL(ddl)
    except Exception as error:
        wanted = f"its {which} {ddl!r} is no DDL such as 'n bigint, last string'"
        raise PipelineError(f"Stage '{node.name}' ({node.location}): {wanted}: {first_line(error)}") from error
    if not isinstance(schema, StructType) or not schema.fields:
        raise PipelineError(f"Stage '{node.name}' ({node.location}): its {which} {ddl!r} has no fields.")
    return schema


def _layout(
    keys: tuple[str, ...], frame: DataFrame, kind: StageKind, fields: StructType, parameters: dict[str, Any]
) -> StateLayout:
    return StateLayout(
        kind=kind,
        keys=tuple((key, frame.schema[key].dataType.simpleString()) for key in keys),
        accumulators=tuple((field.name, field.dataType.simpleString()) for field in fields.fields),
        parameters=parameters,
        roles=("state", 0),
    )


def _millis(at: pd.Timestamp) -> int:
    # Whole numbers: a float of seconds would lose a millisecond now and then. Times without a zone are UTC.
    return int(at.value // 1_000_000)
