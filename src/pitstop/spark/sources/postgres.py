"""Rows of a table of PostgreSQL, by the transactions that wrote them. Offset: ``{"transaction": n, "rows": m}``.

All rows of the transactions before ``n`` have been read, ``m`` of them. A column of the table holds the number of each row's
transaction. An epoch ends before the oldest transaction that is under way, so no row can come later among those that were read. A
column that counts up would not do: the transaction of a lower number may be committed after that of a higher one was read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.errors import EngineError, UsageError
from pitstop.kit.counts import counted
from pitstop.machine.named_secrets import revealed_url
from pitstop.pipeline.needs import OF_SOURCES
from pitstop.pipeline.option_paths import whole_postgres_url
from pitstop.pipeline.schemas import column_names
from pitstop.pipeline.source import Source
from pitstop.spark.base.databases import first_line, table_place
from pitstop.spark.base.looking import LOOK_SECONDS, Look
from pitstop.spark.internals.prefetching import prefetching
from pitstop.spark.sources import python_source
from pitstop.spark.sources.batch import EverythingReader
from pitstop.spark.sources.postgres_table import Table, rows_as_json
from pitstop.spark.sources.shared import SMALL_ROWS, Behind, Offset, SourceOptions

if TYPE_CHECKING:
    from psycopg import Connection

CONNECT_SECONDS = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
MOST_BEHIND = 100_000
"""The most rows that are counted beyond an epoch, each time one ends: a lag of more rows is told as that."""
MOST_OF_BATCH = 1_000_000
"""The rows by which a batch looks for the end of the table."""
HELD_SECONDS = 60.0
"""The time after which rows that wait for an older transaction are told in the log."""
UNDECIDED = -1
"""The transaction of the offset before it is decided with which one a source begins."""
_UNPICKLED = ("_connection", "_counts")
T = TypeVar("T")


class Transactions(InputPartition):
    """The rows of the transactions from ``first`` to ``end - 1``."""

    def __init__(self, first: int, end: int, rows: int) -> None:
        self.first, self.end, self.rows = first, end, rows


class PostgresReader(DataSourceStreamReader):
    """Rows: ``value string`` (JSON text of one row of the table)."""

    def __init__(self, options: SourceOptions) -> None:
        self._options, self._log = options, options.log
        self._url = options.text("url")
        self._place = table_place(self._url, options.text("table"))
        columns = tuple(options.text("columns").split("\n"))
        self._table = Table(options.text("table"), options.text("transactionColumn"), columns)
        self._interval = options.number("intervalMs", 1000) / 1000
        self._max_rows = options.number("maxRows", 100_000)
        self._start = options.text("start", "earliest")
        self._connection: Connection[Any] | None = None
        self._counts: dict[tuple[int, int], int] = {}
        """First and end of an epoch that this process has decided -> its rows."""
        self._next_look = 0.0
        self._pause = FIRST_PAUSE
        self._held_since: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The reader travels to the workers, which connect by themselves.
        return {name: value for name, value in self.__dict__.items() if name not in _UNPICKLED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _connection=None, _counts={})

    def initialOffset(self) -> Offset:
        first = UNDECIDED if self._start == "latest" else 0
        return self._options.start_offset({"transaction": first, "rows": 0})

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        import psycopg

        if time.monotonic() < self._next_look:
            return start
        try:
            end = self._look(start, self._options.limited(self._max_rows))
        except psycopg.Error as error:
            self._refuse_unless_away(error)
            self._log.warning(f"{self._place}: {first_line(error)}; trying again in {self._pause:.1f} s")
            self._next_look, self._pause = time.monotonic() + self._pause, min(2 * self._pause, LONGEST_PAUSE)
            return start
        self._pause = FIRST_PAUSE
        # A long history is read without a rest.
        if end == start or not (self._options.behind and self._options.behind.amount):
            self._next_look = time.monotonic() + self._interval
        return end

    def _look(self, start: Offset, most: int) -> Offset:
        """Return the end of an epoch from ``start`` of about so many rows, and note what is beyond it."""
        first = int(start["transaction"])
        connection = self._connected()
        horizon = self._horizon(connection, first)
        if first == UNDECIDED:
            return {"transaction": horizon, "rows": 0}
        end, rows = self._table.end_of(connection, first, horizon, most)
        behind = self._table.rows_from(connection, end, MOST_BEHIND)
        self._options.behind = Behind(behind, "rows")
        self._tell_hold(connection, rows, behind)
        if not rows:
            return start
        self._counts = {(first, end): rows}
        return {"transaction": end, "rows": int(start["rows"]) + rows}

    def _horizon(self, connection: Connection[Any], first: int) -> int:
        """Return the number of the oldest transaction that is under way. EngineError if the database does not know ``first``."""
        horizon = self._table.horizon(connection)
        if horizon < first:
            raise EngineError(
                f"Source '{self._options.stage}': {self._place} has been read up to transaction {first:,}, and the database is "
                f"at {horizon:,}: it was put back from a backup, or is another one. Start the job anew, or from a snapshot that "
                "this database knows."
            )
        return horizon

    def _tell_hold(self, connection: Connection[Any], rows: int, behind: int) -> None:
        if rows or not behind:
            self._held_since = None
            return
        now = time.monotonic()
        if self._held_since is None:
            self._held_since = now
        elif now - self._held_since > HELD_SECONDS:
            self._held_since = now
            oldest = self._table.oldest_transaction(connection)
            if oldest is not None:
                waiting = f"{counted(behind, 'row')} of {self._place}"
                self._log.warning(f"{waiting} wait for {oldest}, which may still write older ones.")

    def everything(self, start: Offset) -> Offset:
        """Return the offset after all rows of ended transactions; wait for a database that is away."""

        def look() -> Offset:
            end = start
            while (further := self._look(end, MOST_OF_BATCH)) != end:
                end = further
            return end

        return self._insist(look)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        first, last = int(start["transaction"]), int(end["transaction"])
        if first in (UNDECIDED, last):
            return [Transactions(0, 0, 0)]
        rows = int(end["rows"]) - int(start["rows"])
        if (first, last) not in self._counts:  # an epoch of an earlier run, or of another reader
            present = self._insist(lambda: self._table.count(self._connected(), first, last))
            if present != rows:
                self._log.warning(
                    f"{self._place}: the epoch that is read again had {counted(rows, 'row')}, and {present:,} are there: rows "
                    "were deleted or changed since."
                )
            rows = present
        return [Transactions(first, last, rows)]

    def is_small(self, partition: InputPartition) -> bool:
        assert isinstance(partition, Transactions)
        return partition.rows <= SMALL_ROWS

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Transactions)
        if partition.first == partition.end:
            return
        with closing(self._insist(self._new_connection)) as connection:
            for texts in rows_as_json(connection, self._table, partition.first, partition.end):
                yield pa.RecordBatch.from_arrays([texts], names=["value"])

    def commit(self, end: Offset) -> None:
        """Do nothing: the database keeps no place of ours."""

    def stop(self) -> None:
        self._disconnect()

    def _connected(self) -> Connection[Any]:
        if self._connection is None:
            self._connection = self._new_connection()
        return self._connection

    def _new_connection(self) -> Connection[Any]:
        import psycopg

        connection = psycopg.connect(revealed_url(self._url), connect_timeout=CONNECT_SECONDS, autocommit=True)
        objection = self._table.objection(connection)
        if objection is not None:
            connection.close()
            raise UsageError(f"Source '{self._options.stage}': {self._place} {objection}.")
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _refuse_unless_away(self, error: Exception) -> None:
        """Forget the connection. UsageError unless the database is only away, as for a user who may not read the table."""
        import psycopg

        self._disconnect()
        if not isinstance(error, psycopg.OperationalError):
            raise UsageError(f"Source '{self._options.stage}' cannot read {self._place}: {first_line(error)}.") from error

    def _insist(self, do: Callable[[], T]) -> T:
        """Return what ``do()`` returns; wait for a database that is away."""
        import psycopg

        pause = FIRST_PAUSE
        while True:
            try:
                return do()
            except psycopg.Error as error:
                self._refuse_unless_away(error)
                self._log.warning(f"{self._place}: {first_line(error)}; trying again in {pause:.1f} s")
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)


class PostgresSource(DataSource):
    """Options: url, table, transactionColumn, columns, start, intervalMs, maxRows, and those of every source (shared.py)."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_postgres"

    def schema(self) -> str:
        return "value string"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return prefetching(PostgresReader(SourceOptions("postgres", self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        return EverythingReader(PostgresReader(SourceOptions("postgres", self.options)))


def _check_stream(source: Source) -> str | None:
    return OF_SOURCES["postgres"].missing_package()


def _columns(source: Source) -> dict[str, str]:
    return {"columns": "\n".join(column_names(source.schema or ""))}


def _place(source: Source) -> str:
    return table_place(source.options["url"], source.options["table"])


def _look(spark: SparkSession, source: Source) -> Look:
    import psycopg

    table = Table(source.options["table"], source.options["transactionColumn"], column_names(source.schema or ""))
    place, url = _place(source), revealed_url(source.options["url"])
    try:
        with psycopg.connect(url, connect_timeout=LOOK_SECONDS, autocommit=True) as connection:
            connection.execute(f"SET statement_timeout = {LOOK_SECONDS * 1000}")
            objection = table.objection(connection)
            if objection is not None:
                return Look(f"cannot read {place}: it {objection}")
            slow = f"; without an index on {table.transactions} each look reads the whole table"
            clause = f"reads {place}{slow if table.lacks_index(connection) else ''}"
            newest = table.newest(connection)
    except psycopg.Error as error:
        return Look(f"cannot read {place}: {first_line(error)}")
    sample = None if newest is None else spark.createDataFrame([(newest,)], "value string")
    return Look(clause, sample, "the newest row")


def _placed(source: Source, whole: Callable[[str], str]) -> Source:
    return replace(source, options=source.options | {"url": whole_postgres_url(source.options["url"], whole)})


KIND = python_source(
    PostgresSource,
    batch=True,
    gated=True,
    has_limit=True,
    more=_columns,
    placed=_placed,
    place=_place,
    secrets=True,
    check_stream=_check_stream,
    look=_look,
)
