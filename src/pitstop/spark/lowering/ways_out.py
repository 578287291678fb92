"""Rows that a stage with state takes and leaves out: which ones they are, by reason, and how many go by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pitstop.model.left_out import LeftOut
from pitstop.pipeline.chains import bears_starts
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import DistinctSpec, JoinSpec, LeavesOut, MapStatefulSpec, WindowSpec
from pitstop.pipeline.windows import Session
from pitstop.spark.base.naming import quoted, role_column
from pitstop.spark.base.sessions import timeout_in_state_us
from pitstop.spark.internals.late_rows import late_rows
from pitstop.spark.internals.watermarks import WATERMARK_DELAY
from pitstop.spark.lowering.event_time import event_time, event_time_if_there


@dataclass(frozen=True)
class LateBound:
    """The time up to which the rows of an operator are late."""

    operator: str
    """The name of the operator (role_column)."""
    grid_us: int
    """Times end at multiples of this; 1: at any time."""
    gap_us: int
    """The time from an event to its end, in microseconds."""


@dataclass(frozen=True)
class WaysOut:
    """Tells which rows of an input a stage leaves out. Each row is left out for one reason at most."""

    needs_time: str | None
    """The column without which a row is left out; None: no row is left out for that."""
    needs_keys: tuple[str, ...]
    """The columns of which none may be null."""
    late_by: str | None
    """The column by which a row is late; None: no row is."""
    bound: LateBound

    @property
    def untimed(self) -> Column:
        return F.lit(False) if self.needs_time is None else F.col(quoted(self.needs_time)).isNull()

    @property
    def keyless(self) -> Column:
        """True of a row with a time, but without a key."""
        if not self.needs_keys:
            return F.lit(False)
        return ~self.untimed & reduce(Column.__or__, (F.col(quoted(key)).isNull() for key in self.needs_keys))

    @property
    def late_time(self) -> Column | None:
        """The time by which a row is late, null for a row that is left out for another reason; None: no row is late."""
        if self.late_by is None:
            return None
        time = F.col(quoted(self.late_by))
        others = [self.untimed] if self.needs_time not in (None, self.late_by) else []
        others += [self.keyless] if self.needs_keys else []
        return F.when(~reduce(Column.__or__, others), time) if others else time


def ways_out(node: Node, name: str, work: LeavesOut, number: int, rows: DataFrame) -> WaysOut:
    """Return the ways out of a stage ``name`` for the rows of one of its inputs; ``node`` is who asks, for messages."""
    if isinstance(work, WindowSpec):
        time = event_time(node, rows, work.timestamps[number])
        return WaysOut(time, (), time, _of_window(name, work))
    if isinstance(work, JoinSpec):
        # Spark takes a row without time or key for one without a match.
        keeps = work.keeps_alone(number)
        needs_time = None if keeps else event_time(node, rows, work.times[number])
        return WaysOut(needs_time, () if keeps else work.on, _marked(rows), _of_row(name, "join"))
    if isinstance(work, MapStatefulSpec):
        return WaysOut(None, (), event_time(node, rows, work.timestamp or ""), _of_row(name, "state"))
    return WaysOut(None, (), _late_by(node, work, rows), _of_row(name, "seen"))


def left_out(node: Node, number: int, rows: DataFrame) -> list[Column]:
    """Return aggregates of the rows of an input that count, by reason, those that the stage leaves out.

    Late rows are among them for windows and joins. Spark itself counts those of other stages, row by row. Of windows it counts
    what is combined already, and of joins perhaps rows without a key, too.
    """
    work = node.spec
    if not isinstance(work, (WindowSpec, JoinSpec)):
        return []
    times, needed = (work.timestamps, ()) if isinstance(work, WindowSpec) else (work.times, work.on)
    if event_time_if_there(node, rows, times[number]) is None or not set(needed).issubset(rows.columns):
        return []  # the stage says so itself
    ways = ways_out(node, node.name, work, number, rows)
    counts = [] if ways.needs_time is None else [_counted(LeftOut.UNTIMED, ways.untimed)]
    counts += [_counted(LeftOut.KEYLESS, ways.keyless)] if ways.needs_keys else []
    late, bound = ways.late_time, ways.bound
    return counts if late is None else [*counts, late_rows(late, bound.operator, bound.grid_us, bound.gap_us)]


def _of_window(name: str, work: WindowSpec) -> LateBound:
    if isinstance(work.window, Session):
        return LateBound(role_column(name, "sessions"), 1, timeout_in_state_us(work.window.timeout_ms))
    return LateBound(role_column(name, "frames"), work.window.slide_ms * 1000, 1)


def _of_row(name: str, role: str) -> LateBound:
    """Return the bound of an operator that compares the time of a row itself: it drops what the watermark has reached."""
    return LateBound(role_column(name, role), 1, 0)


def _late_by(node: Node, work: DistinctSpec, rows: DataFrame) -> str | None:
    if work.within_ms is not None:
        return event_time(node, rows, work.timestamp or "")
    column = _marked(rows)
    return column if column in work.keys and not bears_starts(node) else None


def _marked(rows: DataFrame) -> str | None:
    """Return the column by which Spark looks for late rows: it needs no name that anybody knows."""
    return next((field.name for field in rows.schema.fields if WATERMARK_DELAY in field.metadata), None)


def _counted(reason: LeftOut, condition: Column) -> Column:
    return F.count(F.when(condition, True)).alias(reason.value)
