"""Stages as typed values: one frozen dataclass for each kind of stage, which a Node of the graph carries.

Durations are whole milliseconds, and their names end in ``_ms``. Columns are names. An *expression* is as the user gave it: a
column name, a SQL expression or a Spark Column. Functions are the user's, and only the engine calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pitstop.kit.durations import text
from pitstop.model.layout import StageKind
from pitstop.pipeline.aggregates import Aggregate
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source
from pitstop.pipeline.windows import Session, Window


@dataclass(frozen=True)
class Spec:
    """The work of a stage. Each kind of stage is a subclass."""

    op: ClassVar[str]
    """The kind's name in stored plans, and the name of a stage to which the user gave none."""
    passable: ClassVar[bool] = False
    """True if it means the same on a stream and on the rows of one epoch, so that it may run after the streaming query."""
    stateful: ClassVar[bool] = False
    """True if it keeps state in the streaming query."""
    keeps_rows: ClassVar[bool] = True
    """True if each of its rows is one of its input, with that row's event time."""
    keeps_columns: ClassVar[bool] = True
    """True if its rows bear the columns of its inputs, as far as it does not compute or leave them out."""
    of_left_out: ClassVar[bool] = False
    """True if its rows are those that another stage leaves out."""
    joins_table: ClassVar[bool] = False
    """True if only the first of its inputs is a stream, and the second one the table that it reads whole."""
    loses_watermark: ClassVar[bool] = False
    """True if Spark may have no watermark behind it."""
    stores_input_schema: ClassVar[bool] = False
    """True if its state follows the schema that Spark has of the rows at run time, filters included."""
    stands_alone: ClassVar[bool] = False
    """True if Spark believes that no other stage with state may follow it, or be before it."""
    kind: ClassVar[StageKind] = StageKind.STATELESS
    """The kind, in a plan, of a stage that keeps no state. For a stage with state, the layout of its state has the kind."""

    def describe(self) -> str:
        """Return the stage in a few words, for plans."""
        return self.op

    @property
    def computed(self) -> Mapping[str, Aggregate]:
        """Result column -> aggregate, for all aggregates that it computes."""
        return {}

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        """Return the event-time column of its rows, given those of its inputs; None: its rows have no event time."""
        return inputs[0] if inputs else None


@dataclass(frozen=True)
class SourceSpec(Spec):
    """Rows come in."""

    op: ClassVar[str] = "source"
    kind: ClassVar[StageKind] = StageKind.SOURCE
    source: Source
    with_bad: bool = False
    """True if rows that did not parse are among its rows, for stages after it to tell apart."""

    def describe(self) -> str:
        return self.source.kind


@dataclass(frozen=True)
class ParsedSpec(Spec):
    """The rows of a text source that could be parsed."""

    op: ClassVar[str] = "parsed"
    passable: ClassVar[bool] = True


@dataclass(frozen=True)
class DeadLettersSpec(Spec):
    """The rows of a text source that could not be parsed."""

    op: ClassVar[str] = "dead_letters"
    passable: ClassVar[bool] = True
    of_left_out: ClassVar[bool] = True


@dataclass(frozen=True)
class SelectSpec(Spec):
    """Only these columns."""

    op: ClassVar[str] = "select"
    passable: ClassVar[bool] = True
    columns: tuple[Any, ...]
    """Expressions."""


@dataclass(frozen=True)
class FilterSpec(Spec):
    """Only the rows for which the condition is true."""

    op: ClassVar[str] = "filter"
    passable: ClassVar[bool] = True
    condition: Any
    """An expression."""


@dataclass(frozen=True)
class WithColumnsSpec(Spec):
    """Columns added or replaced."""

    op: ClassVar[str] = "with_columns"
    passable: ClassVar[bool] = True
    columns: Mapping[str, Any]
    """Column -> expression."""


@dataclass(frozen=True)
class TransformSpec(Spec):
    """User-defined stateless code."""

    op: ClassVar[str] = "transform"
    passable: ClassVar[bool] = True
    function: Callable[[Any], Any]
    """``DataFrame -> DataFrame``."""


@dataclass(frozen=True)
class MergeSpec(Spec):
    """The rows of several stages with the same columns."""

    op: ClassVar[str] = "merge"
    kind: ClassVar[StageKind] = StageKind.MERGE

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return inputs[0] if len(set(inputs)) == 1 else None


@dataclass(frozen=True)
class NotAheadSpec(Spec):
    """Only the rows whose time is not too far ahead of the clock. The clock is that of the epoch."""

    op: ClassVar[str] = "not_ahead"
    column: str
    most_ms: int | None
    """The most that a time may be ahead of the clock; None: the job's option max_ahead."""

    def describe(self) -> str:
        return f"{self.column} at most {_ahead(self.most_ms)} ahead"


@dataclass(frozen=True)
class FarAheadSpec(Spec):
    """The rows that a NotAheadSpec leaves out, as dead letters of the stage that they come from."""

    op: ClassVar[str] = "far_ahead"
    of_left_out: ClassVar[bool] = True
    column: str
    most_ms: int | None
    """As in NotAheadSpec."""

    def describe(self) -> str:
        return f"{self.column} more than {_ahead(self.most_ms)} ahead"

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return None


@dataclass(frozen=True)
class TimestampsSpec(Spec):
    """Event time from a column of the rows."""

    op: ClassVar[str] = "timestamps"
    kind: ClassVar[StageKind] = StageKind.WATERMARK
    passable: ClassVar[bool] = True
    column: str
    allowed_lag_ms: int
    """The distance of the watermark behind the highest event time."""
    idle_timeout_ms: int
    """The time without rows after which the stage no longer holds back the watermark of others; 0: it always does."""
    usual_bound: bool = False
    """True if the job's option max_ahead holds for the rows of a stream. A bound that a user gives is a NotAheadSpec, which
    holds everywhere."""

    def describe(self) -> str:
        lag = f"event time {self.column}, lag {text(self.allowed_lag_ms)}"
        return lag + _if_set(", idle after", self.idle_timeout_ms)

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return self.column


@dataclass(frozen=True)
class IngestionTimestampsSpec(Spec):
    """Event time is the time of the epoch that reads a row."""

    op: ClassVar[str] = "ingestion_timestamps"
    kind: ClassVar[StageKind] = StageKind.WATERMARK
    column: str
    """The new column that holds it."""
    idle_timeout_ms: int
    """As in TimestampsSpec."""

    def describe(self) -> str:
        return f"event time {self.column} of its epoch" + _if_set(", idle after", self.idle_timeout_ms)

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return self.column


@dataclass(frozen=True)
class WindowSpec(Spec):
    """Aggregates of windows of event time. ``keys``, ``timestamps`` and ``aggregates`` have an item for each input."""

    op: ClassVar[str] = "window_aggregate"
    stateful: ClassVar[bool] = True
    keeps_rows: ClassVar[bool] = False
    keeps_columns: ClassVar[bool] = False
    keys: tuple[tuple[str, ...], ...]
    """Key columns; results are named as those of the first input."""
    window: Window | Session
    timestamps: tuple[str, ...]
    """Event-time columns as they were declared; a later step may have renamed them."""
    aggregates: tuple[Mapping[str, Aggregate], ...]
    """Result column -> aggregate."""
    early_ms: int | None = None
    """Time between two results of windows that are still open; None: there are none."""

    @property
    def computed(self) -> Mapping[str, Aggregate]:
        return {name: aggregate for part in self.aggregates for name, aggregate in part.items()}

    def describe(self) -> str:
        parts = [
            f"({', '.join(keys)}): {_kinds(aggregates)}" for keys, aggregates in zip(self.keys, self.aggregates, strict=True)
        ]
        return f"{self.window.describe()} by {' and '.join(parts)}" + _if_set(", early every", self.early_ms)

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return None


@dataclass(frozen=True)
class RollingSpec(Spec):
    """Each row with the aggregates of its key so far."""

    op: ClassVar[str] = "rolling_aggregate"
    stateful: ClassVar[bool] = True
    loses_watermark: ClassVar[bool] = True
    stands_alone: ClassVar[bool] = True
    keys: tuple[str, ...]
    aggregates: Mapping[str, Aggregate]
    """Result column -> aggregate; each can take in one row at a time."""
    timestamp: str | None
    """Event-time column by which the rows of an epoch are ordered; None: as they come."""

    @property
    def computed(self) -> Mapping[str, Aggregate]:
        return self.aggregates

    def describe(self) -> str:
        return f"rolling by {_listed(self.keys)}: {_kinds(self.aggregates)}"


@dataclass(frozen=True)
class MapStatefulSpec(Spec):
    """Rows made by the user's function, which keeps state for each key."""

    op: ClassVar[str] = "map_stateful"
    stateful: ClassVar[bool] = True
    keeps_rows: ClassVar[bool] = False
    keeps_columns: ClassVar[bool] = False
    loses_watermark: ClassVar[bool] = True
    stands_alone: ClassVar[bool] = True
    keys: tuple[str, ...]
    function: Callable[..., Any]
    """``(state, row) -> None, a row or a list of rows``."""
    state: str
    """DDL of the state's fields."""
    output: str
    """DDL of the rows it makes."""
    ttl_ms: int | None
    """The time after its last event at which a key's state is dropped; None: never."""
    on_evict: Callable[..., Any] | None
    """``(state, key, time in ms) -> rows``, called before state is dropped."""
    timestamp: str | None
    """As in RollingSpec; needed with a time to live."""
    dead_letters: bool = False
    """True if rows for which the function fails become dead letters; else a failure ends the epoch."""

    def describe(self) -> str:
        return f"state ({self.state}) by {_listed(self.keys)}" + _if_set(", ttl", self.ttl_ms)

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return None


@dataclass(frozen=True)
class HandledSpec(Spec):
    """The rows that the function of a MapStatefulSpec with dead letters has made."""

    op: ClassVar[str] = "handled"
    passable: ClassVar[bool] = True


@dataclass(frozen=True)
class UnhandledSpec(Spec):
    """The rows for which that function failed, as dead letters."""

    op: ClassVar[str] = "unhandled"
    passable: ClassVar[bool] = True
    of_left_out: ClassVar[bool] = True

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return None


@dataclass(frozen=True)
class DistinctSpec(Spec):
    """One row of each key, of the first epoch in which there is one."""

    op: ClassVar[str] = "distinct"
    stateful: ClassVar[bool] = True
    keys: tuple[str, ...]
    within_ms: int | None
    """The time for which a key is remembered after its first row, in event time; None: for ever."""
    timestamp: str | None
    """Event-time column; needed with ``within_ms``."""

    def describe(self) -> str:
        return f"distinct by {_listed(self.keys)}" + _if_set(" within", self.within_ms)


@dataclass(frozen=True)
class JoinSpec(Spec):
    """Pairs of rows of two streams."""

    op: ClassVar[str] = "join"
    stateful: ClassVar[bool] = True
    keeps_rows: ClassVar[bool] = False
    stores_input_schema: ClassVar[bool] = True
    on: tuple[str, ...]
    """Columns that are equal in both."""
    within_ms: int
    """The most that the event times of a pair may be apart."""
    how: str
    """``inner``, ``left``, ``full`` or ``semi``."""
    times: tuple[str, str]
    """Event-time columns of the left and the right side."""

    def describe(self) -> str:
        return f"{self.how} join on {_listed(self.on)} within {text(self.within_ms)}"

    def keeps_alone(self, number: int) -> bool:
        """Return True if a row of that input comes out once it can find no partner any more."""
        return self.how == "full" or (self.how == "left" and number == 0)

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        # Of a row of the right side alone the left time is null.
        return None if self.how == "full" else inputs[0]


LeavesOut = WindowSpec | JoinSpec | DistinctSpec | MapStatefulSpec
"""The work of stages that leave late rows out."""


@dataclass(frozen=True)
class LateSpec(Spec):
    """The rows that a stage leaves out as late, or without the event time or key that it needs, as dead letters of that stage.

    Its inputs are those of the stage: it looks at the rows that this takes, beside it.
    """

    op: ClassVar[str] = "late"
    of_left_out: ClassVar[bool] = True
    stage: str
    """The name of that stage."""
    work: LeavesOut
    """The work of that stage."""

    def describe(self) -> str:
        return f"rows that '{self.stage}' leaves out as {_reasons(self.work)}"

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return None


@dataclass(frozen=True)
class HashJoinSpec(Spec):
    """Rows enriched from a table in memory: the second input, or what a function reads."""

    op: ClassVar[str] = "hash_join"
    kind: ClassVar[StageKind] = StageKind.LOOKUP
    joins_table: ClassVar[bool] = True
    on: tuple[str, ...]
    """Columns that are equal in both."""
    how: str
    """``inner`` or ``left``."""
    refresh_ms: int | None
    """The time after which the table is read anew; None: it is read once."""
    function: Callable[[Any], Any] | None
    """``SparkSession -> DataFrame``; None: the table is the second input."""

    def describe(self) -> str:
        return f"{self.how} hash join on {_listed(self.on)}" + _if_set(", table read again every", self.refresh_ms)


@dataclass(frozen=True)
class OwnCodeSpec(Spec):
    """User-defined Structured Streaming code that keeps state."""

    op: ClassVar[str] = "stateful"
    stateful: ClassVar[bool] = True
    keeps_rows: ClassVar[bool] = False
    keeps_columns: ClassVar[bool] = False
    loses_watermark: ClassVar[bool] = True
    stores_input_schema: ClassVar[bool] = True
    function: Callable[..., Any]
    """``(DataFrame, *others) -> DataFrame``."""

    def describe(self) -> str:
        return f"stateful {getattr(self.function, '__name__', 'function')}"

    def event_time(self, inputs: Sequence[str | None]) -> str | None:
        return None


@dataclass(frozen=True)
class SinkSpec(Spec):
    """Rows go out."""

    op: ClassVar[str] = "sink"
    kind: ClassVar[StageKind] = StageKind.SINK
    sink: Sink

    def describe(self) -> str:
        return f"sink {self.sink.describe()}"


def _reasons(work: LeavesOut) -> str:
    if isinstance(work, JoinSpec):
        return "late or without event time or key"
    return "late or without event time" if isinstance(work, WindowSpec) else "late"


def _ahead(most_ms: int | None) -> str:
    return "the job's max_ahead" if most_ms is None else text(most_ms)


def _if_set(words: str, milliseconds: int | None) -> str:
    return f"{words} {text(milliseconds)}" if milliseconds else ""


def _listed(columns: tuple[str, ...]) -> str:
    return f"({', '.join(columns)})"


def _kinds(aggregates: Mapping[str, Aggregate]) -> str:
    return ", ".join(f"{name}={aggregate.kind}" for name, aggregate in aggregates.items())
