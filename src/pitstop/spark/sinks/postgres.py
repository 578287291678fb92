"""Tables of PostgreSQL as sinks: the rows of an epoch and its mark are in one transaction."""

from __future__ import annotations

import dataclasses
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType

from pitstop.errors import EngineError
from pitstop.kit.counts import counted
from pitstop.machine.named_secrets import revealed_url
from pitstop.maps.json_form import OPTIONS
from pitstop.model.config import ProcessingGuarantee
from pitstop.pipeline.needs import OF_SINKS
from pitstop.pipeline.option_paths import whole_postgres_url
from pitstop.pipeline.sink import PostgresSink
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.databases import sql_name, table_place
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.row_order import ORDER
from pitstop.spark.sinks import LAST, EpochContext, SinkKind, take_all
from pitstop.spark.sinks.postgres_look import look_at_table

if TYPE_CHECKING:
    from psycopg import Cursor

_PLACE, _REMOVES = "__place", "__removes"
_MARKS = "pitstop_marks"
_CONNECT_SECONDS = 10


@dataclass(frozen=True)
class _Names:
    """Names of the database as SQL."""

    schema: str | None
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def target(self) -> str:
        return ".".join(sql_name(part) for part in (self.schema, self.table) if part)

    @property
    def marks(self) -> str:
        return ".".join(sql_name(part) for part in (self.schema, _MARKS) if part)


def write_postgres(sink: PostgresSink, rows: DataFrame, context: EpochContext) -> int:
    """Write one epoch's rows, once; return their number. EngineError if the table has another epoch by its name."""
    import psycopg

    run = context.run
    table = rows_of(sink, rows).toArrow()
    names = _names(sink, [name for name in table.column_names if name not in (_PLACE, _REMOVES)])
    table = _with_key(sink, table, context)
    run.ownership.check()
    run.begins()
    with psycopg.connect(revealed_url(sink.url), connect_timeout=_CONNECT_SECONDS) as connection, connection.cursor() as cursor:
        if run.guarantee is ProcessingGuarantee.EXACTLY_ONCE and not _marked(cursor, names, context):
            return 0
        if table.num_rows:
            _put(cursor, sink, names, table)
    return int(table.num_rows)


def rows_of(sink: PostgresSink, rows: DataFrame) -> DataFrame:
    """Return the rows as the table has them: nested columns as JSON, and whether a row removes the one of its key."""
    columns = [field for field in rows.schema.fields if field.name not in (ORDER, *sink.leave_out)]
    texts = [
        f"to_json({quoted(field.name)}, {OPTIONS}) AS {quoted(field.name)}"
        if isinstance(field.dataType, (StructType, ArrayType, MapType))
        else f"concat('\\\\x', hex({quoted(field.name)})) AS {quoted(field.name)}"
        if isinstance(field.dataType, BinaryType)
        else quoted(field.name)
        for field in columns
    ]
    if sink.delete_when is None:
        return rows.selectExpr(*texts)
    marked = rows.withColumn(_REMOVES, to_column(rows, sink.delete_when).cast("boolean"))
    return marked.selectExpr(*texts, f"coalesce({_REMOVES}, false) AS {_REMOVES}")


def check_columns(sink: PostgresSink, rows: DataFrame) -> str | None:
    """Return why the sink cannot be written; Spark's own errors report a condition that is none."""
    missing_package = OF_SINKS["postgres"].missing_package()
    if missing_package is not None:
        return missing_package
    missing = [name for name in (*sink.key, *([sink.order_by] if sink.order_by else [])) if name not in rows.columns]
    unknown = [name for name in sink.leave_out if name not in rows.columns]
    if unknown:
        return f"leave_out names columns of the rows, and there is no column {unknown[0]}."
    if missing:
        return f"its key and order_by are columns of the rows, and there is no column {missing[0]}."
    rows_of(sink, rows)
    return None


def _names(sink: PostgresSink, columns: list[str]) -> _Names:
    schema, _, table = sink.table.rpartition(".")
    return _Names(schema or None, table, tuple(map(sql_name, columns)), tuple(map(sql_name, sink.key)))


def _with_key(sink: PostgresSink, table: pa.Table, context: EpochContext) -> pa.Table:
    """Return the rows with a whole key, numbered as they come."""
    if sink.key:
        whole = compute.is_valid(table.column(sink.key[0]))
        for name in sink.key[1:]:
            whole = compute.and_(whole, compute.is_valid(table.column(name)))
        keyless = table.num_rows - (compute.sum(whole).as_py() or 0)
        if keyless:
            message = f"{counted(keyless, 'row')} for sink '{context.stage}' without a key: left out"
            context.run.log("WARN", "pitstop.sink.postgres", message)
            table = table.filter(whole)
    return table.append_column(_PLACE, pa.array(range(table.num_rows), pa.int64()))


def _marked(cursor: Cursor[Any], names: _Names, context: EpochContext) -> bool:
    """Mark the epoch; return False if the table has it already. The mark's row lets one writer at a time go on."""
    run = context.run
    token = run.fence.token if run.fence is not None else 0
    # Whoever may not make tables can write all the same, where an administrator has made this one.
    cursor.execute("SELECT to_regclass(%s)", (names.marks,))
    if cursor.fetchone() == (None,):
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {names.marks} (job text, sink text, lineage text NOT NULL, epoch bigint NOT NULL, "
            "digest text, token bigint NOT NULL, PRIMARY KEY (job, sink))"
        )
    place = (run.job_id, context.stage)
    cursor.execute(
        f"INSERT INTO {names.marks} VALUES (%s, %s, '', -1, NULL, 0) ON CONFLICT DO NOTHING",
        place,
    )
    cursor.execute(f"SELECT lineage, epoch, digest, token FROM {names.marks} WHERE (job, sink) = (%s, %s) FOR UPDATE", place)
    row = cursor.fetchone()
    assert row is not None
    lineage, epoch, digest, last_token = row
    if last_token > token:
        raise EngineError(f"Sink '{context.stage}': another run of the job has taken over.")
    if (lineage == context.lineage and epoch >= context.epoch) or (lineage, epoch) in run.known_as:
        if None not in (digest, context.digest) and digest != context.digest:
            raise EngineError(
                f"Sink '{context.stage}': the table has another epoch {epoch} of this job: its saved state was put back from an "
                "older copy, or two servers run from one copy. Write into another table, or start the job from a snapshot under "
                "another name."
            )
        return False
    cursor.execute(
        f"UPDATE {names.marks} SET (lineage, epoch, digest, token) = (%s, %s, %s, %s) WHERE (job, sink) = (%s, %s)",
        (context.lineage, context.epoch, context.digest, token, *place),
    )
    return True


def _put(cursor: Cursor[Any], sink: PostgresSink, names: _Names, table: pa.Table) -> None:
    columns = ", ".join(names.columns)
    if not sink.key:
        _copy(cursor, f"{names.target} ({columns})", table.drop_columns([_PLACE]))
        return
    removes = f", {_REMOVES} boolean" if _REMOVES in table.column_names else ""
    cursor.execute(f"CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS SELECT {columns} FROM {names.target} WITH NO DATA")
    cursor.execute(f"ALTER TABLE incoming ADD COLUMN {_PLACE} bigint{removes.replace(',', ', ADD COLUMN', 1)}")
    by = sql_name(sink.order_by) if sink.order_by else None
    order = f"{by} DESC NULLS LAST, " if by else ""
    ordered = [*names.columns, _PLACE, *([_REMOVES] if removes else [])]
    _copy(cursor, f"incoming ({', '.join(ordered)})", table.select([*_bare(table), _PLACE, *([_REMOVES] if removes else [])]))
    key = ", ".join(names.key)
    newest = f"SELECT DISTINCT ON ({key}) * FROM incoming ORDER BY {key}, {order}{_PLACE} DESC"
    newer = f"(t.{by} IS NULL OR i.{by} >= t.{by})" if by else "true"
    if removes:
        same = " AND ".join(f"t.{name} = i.{name}" for name in names.key)
        cursor.execute(f"DELETE FROM {names.target} t USING ({newest}) i WHERE i.{_REMOVES} AND {same} AND {newer}")
    others = [name for name in names.columns if name not in names.key]
    changes = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
    condition = f" WHERE {newer.replace('i.', 'EXCLUDED.')}" if sink.order_by else ""
    action = f"DO UPDATE SET {changes}{condition}" if others else "DO NOTHING"
    puts = f" WHERE NOT {_REMOVES}" if removes else ""
    cursor.execute(
        f"INSERT INTO {names.target} AS t ({columns}) SELECT {columns} FROM ({newest}) i{puts} ON CONFLICT ({key}) {action}"
    )


def _bare(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if name not in (_PLACE, _REMOVES)]


def _copy(cursor: Cursor[Any], target: str, table: pa.Table) -> None:
    """Send rows as CSV: pyarrow puts texts in quotes and leaves nulls without, as PostgreSQL tells them apart."""
    text = io.BytesIO()
    pyarrow.csv.write_csv(table, text, pyarrow.csv.WriteOptions(include_header=False))
    with cursor.copy(f"COPY {target} FROM STDIN (FORMAT csv)") as copy:
        copy.write(text.getvalue())


def _rehearse(sink: PostgresSink, rows: DataFrame, context: EpochContext) -> None:
    take_all(rows_of(sink, rows))


def _place(sink: PostgresSink) -> str:
    return table_place(sink.url, sink.table)


def _look(sink: PostgresSink, columns: tuple[tuple[str, str], ...]) -> str:
    written = tuple((name, kind) for name, kind in columns if name not in sink.leave_out)
    return look_at_table(sink, written, _names(sink, []).target, _place(sink))


KIND = SinkKind(
    write_postgres,
    check_columns,
    _rehearse,
    rank=LAST,
    reads_once=True,
    transactional=True,
    handles_epochs=True,
    placed=lambda sink, whole: dataclasses.replace(sink, url=whole_postgres_url(sink.url, whole)),
    place=_place,
    adds=lambda sink: not sink.key,
    secrets=("url",),
    look=_look,
)
