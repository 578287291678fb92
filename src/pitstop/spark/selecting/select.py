"""The execution of a query: its rows go to their taker in batches."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    CalendarIntervalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    VariantType,
    YearMonthIntervalType,
)

from pitstop.errors import PitstopError, UsageError
from pitstop.kit.canonical import plain
from pitstop.kit.counts import counted
from pitstop.kit.waiting import wait_until
from pitstop.maps.ports import MapStore
from pitstop.model.config import ProcessingGuarantee
from pitstop.model.selecting import HOUR_SECONDS, VIEWER_SECONDS, Select
from pitstop.pipeline import sinks
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.base.failures import reason
from pitstop.spark.base.values import value_of
from pitstop.spark.internals.jvm import cancel_group, is_gone, job_group, left_tasks
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.running.query import RunningQuery
from pitstop.spark.selecting.asking import Asking
from pitstop.spark.selecting.batches import batches, batches_of_plain, refuse_large
from pitstop.spark.selecting.tables import NotAskedError, Tables, analyzed, refused
from pitstop.sql.compiling import compile_query
from pitstop.sql.mappings import Named
from pitstop.sql.names import streams
from pitstop.sql.places import Place
from pitstop.sql.rewriting import Rewritten
from pitstop.sql.statements import Query
from pitstop.sql.types import quoted

LOOK_SECONDS = 0.2
LEFT_SECONDS = 10.0
"""The longest that a query goes on after nobody asks for it any more, and its tasks after it has ended, in seconds."""
OWN_SETTINGS = {
    # FROM csv.`/etc/passwd` names a file that no mapping names.
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    # '${env:HOME}' in a text would be replaced by a variable of this process.
    "spark.sql.variable.substitute": "false",
    "spark.sql.caseSensitive": "true",
}
_SCRATCH = "select-"
"""The prefix of the names of queries' folders."""
_TEXTS = (YearMonthIntervalType, CalendarIntervalType, VariantType)
_PLAIN = (StringType, BooleanType, ByteType, ShortType, IntegerType, LongType)
"""Types whose values are those of JSON."""

Columns = list[tuple[str, str]]
Told = Callable[[Columns | None, list[list[Any]]], None]
"""A function that takes the columns first, and then rows."""


class LostSparkError(Exception):
    """Spark computes nothing any more. It is unknown which of the queries has brought it down, if one has."""


def bounded(spark: SparkSession) -> SparkSession:
    """Return the session, in which a query reaches nothing but the tables that its names mean."""
    for name, value in OWN_SETTINGS.items():
        spark.conf.set(name, value)
    return spark


def _group(select: Select) -> str:
    return f"select-{select.id}"


def remove_left(work: Path) -> None:
    """Remove the folders of queries that were running when their process ended. No other process may work there."""
    for folder in work.glob(f"{_SCRATCH}*"):
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Selecting:
    """The session, stores and settings with which queries are carried out."""

    spark: SparkSession
    maps: MapStore
    settings: SourceSettings
    work: Path
    stuck: Callable[[Select, Asking], None]
    """Called for a query that still goes on LEFT_SECONDS after nobody asks for it any more, though it should end."""

    def run(self, select: Select, catalogue: AnyMapping[str, Named], tell: Told, asking: Asking) -> None:
        """Send the columns and rows of a query until it ends, or until nobody asks for them.

        UsageError for what is wrong with it, LostSparkError if neither this query nor another one can be carried out any more.
        """
        query = Query(select.query, Place(select.line, select.column, select.line, select.column))
        scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=self.work))
        try:
            spark = bounded(self.spark.newSession())
            if streams(query, catalogue):
                self._follow(query, catalogue, tell, asking, scratch)
            else:
                with job_group(spark, _group(select), "SELECT"):
                    self._whole(spark, query, catalogue, select, tell, asking, scratch)
        except Exception as error:
            if not asking.over and is_gone(self.spark):
                raise LostSparkError from error
            if isinstance(error, PitstopError):
                raise
            if not asking.over:
                # Spark has seen another text: it knows no place in the user's.
                raise UsageError(reason(error).rstrip(".")) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def leaves_tasks(self) -> bool:
        """Return True if tasks of queries that have ended still run after LEFT_SECONDS, and keep cores from others.

        Spark cannot end a task in the middle of a loop that gives no rows. True also if Spark does not even answer.
        """
        try:
            return not wait_until(lambda: left_tasks(self.spark) <= 0, LEFT_SECONDS)
        except Exception:  # a question to a Spark that stands still fails in many ways
            return True

    def _whole(
        self,
        spark: SparkSession,
        query: Query,
        catalogue: AnyMapping[str, Named],
        select: Select,
        tell: Told,
        asking: Asking,
        scratch: Path,
    ) -> None:
        """Carry out a query that ends, within its time."""
        ended = threading.Event()

        def cancel() -> None:
            until = time.monotonic() + LEFT_SECONDS
            while not ended.is_set():
                if time.monotonic() > until:
                    # What the driver computes itself, while it plans, nothing can cancel.
                    self.stuck(select, asking)
                    return
                cancel_group(spark, _group(select))  # once more each time: a stage that is about to begin is missed
                ended.wait(LOOK_SECONDS)

        def give(rows: list[list[Any]]) -> None:
            tell(None, rows)
            if asking.over:
                raise NotAskedError

        timer = threading.Timer(select.seconds, asking.end, [True])
        timer.start()
        asking.then(lambda: threading.Thread(target=cancel, daemon=True).start())
        text: Rewritten | None = None
        try:
            tables = Tables(spark, select, catalogue, self.maps, self.settings, scratch, lambda: not asking.over)
            text = tables.rewritten(query)
            frame = analyzed(spark, text)
            tell(_columns(frame), [])
            # One more than there may be: what is cut off is told.
            frame = _sendable(frame).limit(select.most_rows + 1)
            if tables.literal and all(isinstance(field.dataType, _PLAIN) for field in frame.schema.fields):
                # Spark has computed it while it planned: no task is started for it.
                rows = [list(row) for row in frame.collect()]
                for some in batches_of_plain(rows[: select.most_rows]):
                    give(some)
                _refuse_more(len(rows), select)
                return
            table = frame.toArrow()
            refuse_large(table.nbytes)
            for batch in batches(table.slice(0, select.most_rows)):
                give(_rows(batch))
            _refuse_more(table.num_rows, select)
        except Exception as error:
            if asking.late:
                raise too_long(select) from None
            if isinstance(error, PySparkException) and not asking.over and text is not None:
                raise refused(text, error) from error
            raise
        finally:
            ended.set()
            timer.cancel()

    def _follow(self, query: Query, catalogue: AnyMapping[str, Named], tell: Told, asking: Asking, scratch: Path) -> None:
        """Carry out a stream: its rows come for as long as somebody takes them, and nothing of it stays."""
        pipeline, relation = compile_query(query, catalogue)
        names = [(each.name, each.column) for each in relation.columns]
        stage = relation.stage.select(*(f"{quoted(column)} AS {quoted(name)}" for name, column in names))
        stage.write_to(sinks.custom(_Telling(tell)), name="rows")
        pipeline.check()
        # They are told before the first rows, which may take long to come.
        plan = compile_pipeline(self.spark, pipeline)
        tell(next(list(each.columns) for each in plan.stages if each.name == stage.name), [])
        settings = SourceSettings.working_in(scratch, "select", self.settings.store_url, self.settings.store_factory)
        environment = Environment(
            "select",
            "select",
            scratch.name,
            ProcessingGuarantee.NONE,
            scratch,
            lambda level, logger, text: None,
            maps=self.maps,
            sources=settings,
            count_rows=False,
        )
        running = RunningQuery.start(self.spark, pipeline, environment, scratch / "checkpoint")
        try:
            while not asking.wait(LOOK_SECONDS):
                if not running.active:
                    failure = running.failure()
                    if failure is not None:
                        raise failure
                    return
        finally:
            running.query.stop()


def too_long(select: Select) -> UsageError:
    """Return the error about a query that has had its time."""
    number = f"{select.seconds:,.1f}".removesuffix(".0")
    seconds = f"{number} second" if number == "1" else f"{number} seconds"
    remedy = "ask for less, or have the server started with more"
    if select.limit == HOUR_SECONDS:
        return UsageError(f"The query took more than {seconds}, all that you had left of an hour's: {remedy} {select.limit}.")
    whose = "a viewer's query" if select.limit == VIEWER_SECONDS else "a query"
    return UsageError(f"The query took more than {seconds}, which is the limit of {whose}: {remedy} {select.limit}.")


def _refuse_more(rows: int, select: Select) -> None:
    if rows > select.most_rows:
        raise UsageError(
            f"The query has more than {counted(select.most_rows, 'row')}: LIMIT it, or start the server with more --query-rows."
        )


class _Telling:
    """A sink that sends rows."""

    def __init__(self, tell: Told) -> None:
        self._tell = tell

    def write(self, rows: Any, info: Any) -> None:
        for batch in batches(rows.toArrow()):
            self._tell(None, _rows(batch))


def _columns(frame: DataFrame) -> Columns:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]


def _sendable(frame: DataFrame) -> DataFrame:
    """Return the rows, with values that Arrow does not know as texts."""
    fields = frame.schema.fields
    if not any(isinstance(field.dataType, _TEXTS) for field in fields):
        return frame
    numbered = frame.toDF(*(f"c{number}" for number in range(len(fields))))  # two columns may be called the same
    texts = (f"CAST(c{n} AS STRING)" if isinstance(field.dataType, _TEXTS) else f"c{n}" for n, field in enumerate(fields))
    return numbered.selectExpr(*texts)


def _rows(batch: Any) -> list[list[Any]]:
    values = [[plain(value_of(value)) for value in column] for column in batch.columns]
    return [list(row) for row in zip(*values, strict=True)]
