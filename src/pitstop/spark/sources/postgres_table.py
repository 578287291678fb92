"""The SQL by which a table of PostgreSQL is read by transactions (spark.sources.postgres)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv

from pitstop.spark.base.databases import qualified_name, sql_name

if TYPE_CHECKING:
    from psycopg import Connection

BATCH_BYTES = 4 << 20
"""The bytes after which rows of a large epoch become a batch of Arrow."""
_BYTEA = 17
"""The number of the type bytea in every database."""


@dataclass(frozen=True)
class Table:
    """A table with the column of its transactions, which has the type xid8, and the columns that are read."""

    name: str
    """The table's name, with its schema if it has one."""
    transactions: str
    columns: tuple[str, ...]

    @property
    def target(self) -> str:
        return qualified_name(self.name)

    def objection(self, connection: Connection[Any]) -> str | None:
        """Return why the table cannot be read, as a clause that goes on its name; None if it can."""
        types = self.types(connection)
        if not types:
            return "is not there"
        missing = [name for name in self.columns if name not in types]
        if missing:
            return f"has no column {missing[0]}: there are {', '.join(types)}"
        kind = types.get(self.transactions)
        if kind == "xid8":
            return None
        has = f"has the column {self.transactions} of type {kind}" if kind else f"has no column {self.transactions}"
        return (
            f"{has}, and each row needs the number of its transaction: ALTER TABLE {self.name} ADD COLUMN "
            f"{self.transactions if kind is None else 'xid'} xid8 NOT NULL DEFAULT pg_current_xact_id()"
        )

    def types(self, connection: Connection[Any]) -> dict[str, str]:
        """Return the types of all columns; none if there is no such table."""
        rows = connection.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (self.target,),
        )
        return {str(name): str(kind) for name, kind in rows}

    def horizon(self, connection: Connection[Any]) -> int:
        """Return the number of the oldest transaction that is under way: all before it have ended."""
        return _number(connection, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")

    def end_of(self, connection: Connection[Any], first: int, horizon: int, most: int) -> tuple[int, int]:
        """Return the end of an epoch of whole transactions from ``first``, and its rows: at most so many, if one has no more."""
        numbers = f"SELECT {self._column}::text::bigint AS n FROM {self.target} WHERE {self._between(first, horizon)}"
        some = f"{numbers} ORDER BY {self._column} LIMIT {most + 1}"
        row = connection.execute(f"SELECT count(*), max(n) FROM ({some}) rows").fetchone()
        assert row is not None
        rows, last = row
        if rows <= most:
            return horizon, rows
        end = last if last > self._lowest(connection, first, horizon) else last + 1
        return end, self.count(connection, first, end)

    def _lowest(self, connection: Connection[Any], first: int, horizon: int) -> int:
        numbers = f"SELECT {self._column}::text::bigint FROM {self.target} WHERE {self._between(first, horizon)}"
        return _number(connection, f"{numbers} ORDER BY {self._column} LIMIT 1")

    def count(self, connection: Connection[Any], first: int, end: int) -> int:
        """Return the number of rows of the transactions from ``first`` to ``end - 1``."""
        return _number(connection, f"SELECT count(*) FROM {self.target} WHERE {self._between(first, end)}")

    def rows_from(self, connection: Connection[Any], first: int, most: int) -> int:
        """Return the number of rows from a transaction on, at most so many."""
        rows = f"SELECT 1 FROM {self.target} WHERE {self._column} >= '{first}'::xid8 LIMIT {most}"
        return _number(connection, f"SELECT count(*) FROM ({rows}) rows")

    def oldest_transaction(self, connection: Connection[Any]) -> str | None:
        """Return the oldest transaction that is under way, in words; None if this user may not see it."""
        row = connection.execute(
            "SELECT pid, to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), application_name FROM pg_stat_activity "
            "WHERE backend_xid IS NOT NULL AND xact_start IS NOT NULL ORDER BY age(backend_xid) DESC LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        pid, began, application = row
        return f"the transaction of process {pid}{f' ({application})' if application else ''}, under way since {began} UTC"

    def query(self, connection: Connection[Any], first: int, end: int) -> str:
        """Return the query for the rows, each as JSON. Bytes are base64, as Spark reads them."""
        names = ", ".join(map(sql_name, self.columns))
        description = connection.execute(f"SELECT {names} FROM {self.target} LIMIT 0").description or []
        columns = ", ".join(
            f"translate(encode({sql_name(name)}, 'base64'), E'\\n', '') AS {sql_name(name)}"
            if column.type_code == _BYTEA
            else sql_name(name)
            for name, column in zip(self.columns, description, strict=True)
        )
        rows = f"SELECT {columns} FROM {self.target} WHERE {self._between(first, end)} ORDER BY {self._column}"
        return f"SELECT row_to_json(rows)::text FROM ({rows}) rows"

    def newest(self, connection: Connection[Any]) -> str | None:
        """Return the newest row as JSON; None if there is none."""
        column = self._column
        numbers = f"SELECT {column}::text::bigint FROM {self.target} WHERE {column} IS NOT NULL ORDER BY {column} DESC LIMIT 1"
        row = connection.execute(numbers).fetchone()
        if row is None:
            return None
        text = connection.execute(f"{self.query(connection, row[0], row[0] + 1)} LIMIT 1").fetchone()
        return None if text is None else str(text[0])

    def lacks_index(self, connection: Connection[Any]) -> bool:
        """Return True for a table without an index that begins with the column of the transactions."""
        return bool(
            connection.execute(
                "SELECT c.relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid "
                "AND a.attnum = i.indkey[0] WHERE i.indrelid = c.oid AND a.attname = %s) FROM pg_class c "
                "WHERE c.oid = to_regclass(%s)",
                (self.transactions, self.target),
            ).fetchone()
            == (True,)
        )

    @property
    def _column(self) -> str:
        return sql_name(self.transactions)

    def _between(self, first: int, end: int) -> str:
        return f"{self._column} >= '{first}'::xid8 AND {self._column} < '{end}'::xid8"


def rows_as_json(connection: Connection[Any], table: Table, first: int, end: int) -> Iterator[pa.Array]:
    """Return the rows of the transactions from ``first`` to ``end - 1`` as JSON, in batches."""
    query = table.query(connection, first, end)
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
        lines, size = [], 0
        for line in copy:
            lines.append(line)
            size += len(line)
            if size > BATCH_BYTES:
                yield _texts(lines)
                lines, size = [], 0
        if lines:
            yield _texts(lines)


def _texts(lines: list[bytes | bytearray | memoryview]) -> pa.Array:
    """Return the fields of CSV of one column. JSON has no newlines, so each line is one."""
    text = b"".join(lines)
    table = pyarrow.csv.read_csv(
        io.BytesIO(text),
        pyarrow.csv.ReadOptions(column_names=["value"], block_size=len(text) + 1),
        convert_options=pyarrow.csv.ConvertOptions(column_types={"value": pa.string()}, strings_can_be_null=False),
    )
    return table.column("value").combine_chunks()


def _number(connection: Connection[Any], query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])
