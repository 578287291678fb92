"""Looks at the rows of a stage in the next epoch. Epochs that nobody peeks at do nothing for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from pitstop.errors import ConflictError, PitstopError, UsageError, WaitTimeoutError
from pitstop.kit.canonical import plain
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SinkSpec
from pitstop.plan.cuts import Cut
from pitstop.spark.base.failures import reason
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.row_order import ORDER
from pitstop.spark.base.values import value_of

Rows = dict[str, Any]
"""``columns`` (name and type of each), ``rows`` (values of JSON), and ``more``: True if there are more rows than these."""


@dataclass
class _Peek:
    stage: str
    limit: int
    until: float
    answered: threading.Event
    rows: Rows | None = None
    error: PitstopError | None = None


class Peeks:
    """The peeks that wait for an epoch. Any thread may peek; the thread that writes epochs answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[_Peek] = []

    def peek(self, cuts: Sequence[Cut], stage: str, limit: int, seconds: float) -> Rows:
        """Return rows of a stage from the next epoch in which there are any; see service.api.Service.peek."""
        visible = visible_stages(cuts)
        if stage not in visible:
            raise ConflictError(
                f"The rows of stage '{stage}' stay within Spark's own query, so nobody can look at them. "
                f"Peek at a stage behind it: {', '.join(visible)}."
            )
        peek = _Peek(stage, limit, time.monotonic() + seconds, threading.Event())
        with self._lock:
            self._waiting.append(peek)
        try:
            peek.answered.wait(seconds)
        finally:
            with self._lock:
                self._waiting = [other for other in self._waiting if other is not peek]
        if peek.error is not None:
            raise peek.error
        if peek.rows is None:
            raise WaitTimeoutError(f"Stage '{stage}' has given no row in {seconds:.0f} seconds.")
        return peek.rows

    @property
    def any(self) -> bool:
        """True if somebody waits for the rows of an epoch."""
        return bool(self._waiting)

    def answer(self, cuts: Sequence[Cut], frame: Callable[[Cut, Node], DataFrame]) -> None:
        """Answer with the rows of an epoch that is written; ``frame`` gives those of a stage behind a cut."""
        with self._lock:
            waiting = list(self._waiting)
        for peek in waiting:
            try:
                rows = _first(frame(*visible_stages(cuts)[peek.stage]), peek.limit)
                if not rows["rows"]:
                    continue  # the next epoch may have some
                peek.rows = rows
            except Exception as error:  # whoever peeks is told: the epoch is written, and goes on
                peek.error = UsageError(f"The rows of stage '{peek.stage}' cannot be shown: {reason(error)}")
            peek.answered.set()


def visible_stages(cuts: Sequence[Cut]) -> dict[str, tuple[Cut, Node]]:
    """Return the stages whose rows an epoch has, with the cut that each hangs on: cuts, and the steps behind them."""
    stages: dict[str, tuple[Cut, Node]] = {}
    for cut in cuts:
        above = {id(node) for node in cut.node.upstream() if node is not cut.node}
        for sink in cut.sinks:
            for node in sink.upstream():
                if id(node) not in above and not isinstance(node.spec, SinkSpec):
                    stages.setdefault(node.name, (cut, node))
    return stages


def _first(rows: DataFrame, limit: int) -> Rows:
    columns_of_users = rows.select(*[quoted(name) for name in rows.columns if name != ORDER])
    table = columns_of_users.limit(limit + 1).toArrow()
    columns = [[field.name, field.dataType.simpleString()] for field in columns_of_users.schema.fields]
    values = [[plain(value_of(value)) for value in column] for column in table.slice(0, limit).columns]
    return {"columns": columns, "rows": [list(row) for row in zip(*values, strict=True)], "more": table.num_rows > limit}
