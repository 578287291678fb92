"""Sources of tables: Delta tables, Iceberg tables, and tables of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pitstop.errors import UsageError
from pitstop.kit.durations import Duration, milliseconds
from pitstop.machine.local_paths import local_path
from pitstop.pipeline.databases import check_postgres_url
from pitstop.pipeline.iceberg_tables import OF_CATALOG, catalog_properties, check_table_name
from pitstop.pipeline.object_stores import STORE, S3Store, is_s3, s3_address, store_of
from pitstop.pipeline.schemas import ddl, optional_ddl
from pitstop.pipeline.source import Source
from pitstop.pipeline.starts import table_start


def delta(
    path: str,
    schema: Any = None,
    *,
    start: str | int | datetime = "earliest",
    changes: bool = False,
    on_rewrite: Literal["fail", "skip"] = "fail",
    on_loss: Literal["fail", "continue"] = "fail",
    max_files: int = 1000,
    max_bytes: int = 1 << 30,
    streaming: bool = True,
    store: S3Store | Mapping[str, Any] | None = None,
) -> Source:
    """Read a Delta table as a stream: the rows that it has, then those of each commit that appends rows.

    ``path`` is a folder of the machine that the job runs on, as in :func:`files`, or one of S3 (``s3a://bucket/table``), for
    which ``store`` says how it is reached (:func:`pitstop.s3_store`). Rows: the columns of ``schema`` (DDL), which
    are columns of the table with the same types; without it all columns that the table has when a version of the job is
    compiled. Offset: the table's id, a version, and the number of its files that were read.

    ``start`` is where a job begins that does not start from a snapshot: ``earliest``, with all rows of the newest version;
    ``latest``, with the next commit; a version, whose commit is the first that is read; or a time (a datetime, or its text in
    ISO 8601), with the first commit since then. It is decided once, in a first epoch without rows.

    A commit that deletes, updates, merges or overwrites rows fails the job with the version and the operation; with
    ``on_rewrite="skip"`` the whole commit is passed over, with a warning. Commits that only compact files have no rows.
    ``changes=True`` reads the table's change data feed instead: each inserted, deleted and updated row, with the columns
    ``_change_type string``, ``_commit_version bigint`` and ``_commit_timestamp timestamp`` behind the others.

    A table that was made anew, versions that were cleaned from its log, and files that were vacuumed before they were read fail
    the job. With ``on_loss="continue"`` it goes on without them, with a warning, and reads a new table from its beginning.
    ``max_files`` and ``max_bytes`` bound what one epoch reads. With ``streaming=False`` the source ends: it reads what is there
    when the job begins, and can be the table of a hash join.

    Tables with column mapping, and rows marked by deletion vectors, are refused. It needs ``pip install 'pitstop[delta]'``
    where jobs run.
    """
    address = s3_address(str(path))
    if not is_s3(address):
        local_path(address, "A Delta table")
    reached_by = store_of(store, address)
    if on_rewrite not in ("fail", "skip"):
        raise UsageError(f"on_rewrite is fail or skip, not {on_rewrite!r}.")
    if on_loss not in ("fail", "continue"):
        raise UsageError(f"on_loss is fail or continue, not {on_loss!r}.")
    if changes and on_rewrite != "fail":
        raise UsageError("The change data feed has the rows of every commit: leave out on_rewrite, or changes.")
    if max_files < 1 or max_bytes < 1:
        raise UsageError("max_files and max_bytes are at least 1.")
    return Source(
        "delta",
        {
            "path": address,
            **({} if reached_by is None else {STORE: reached_by.to_text()}),
            "start": table_start(start),
            "changes": str(changes).lower(),
            "onRewrite": on_rewrite,
            "onLoss": on_loss,
            "maxFiles": str(max_files),
            "maxBytes": str(max_bytes),
        },
        schema=optional_ddl(schema),
        bounded=not streaming,
    )


def iceberg(
    table: str,
    schema: Any = None,
    *,
    catalog: Mapping[str, str],
    start: str | int | datetime = "earliest",
    on_rewrite: Literal["fail", "skip"] = "fail",
    on_loss: Literal["fail", "continue"] = "fail",
    interval: Duration = "1 second",
    max_files: int = 1000,
    max_bytes: int = 1 << 30,
    streaming: bool = True,
) -> Source:
    """Read an Iceberg table as a stream: the rows that it has, then those of each snapshot that appends rows to its main branch.

    ``table`` and ``catalog`` are as in :func:`pitstop.sinks.iceberg`. Rows: the columns of ``schema`` (DDL), which are columns of
    the table with the same types; without it all columns that the table has when a version of the job is compiled. Offset: the
    table's id, a snapshot, and the number of its files that were read.

    ``start`` is where a job begins that does not start from a snapshot of its own: ``earliest``, with all rows that the table
    has; ``latest``, with the next snapshot of the table; the id of a snapshot, which is the first that is read; or a time (a
    datetime, or its text in ISO 8601), with the first snapshot since then. It is decided once, in a first epoch without rows.

    A snapshot that deletes or overwrites rows fails the job; with ``on_rewrite="skip"`` the whole snapshot is passed over, with a
    warning. Compaction has no rows. A table that was made anew or rolled back, and snapshots that were expired before they were
    read, fail the job. With ``on_loss="continue"`` it goes on without them, with a warning, and reads a new table from its
    beginning.

    Once the source has caught up, it asks the catalog at most every ``interval``. ``max_files`` and ``max_bytes`` bound what one
    epoch reads. With ``streaming=False`` the source ends: it reads what is there when the job begins, and can be the table of a
    hash join. A catalog that is away is waited for. It needs ``pip install 'pitstop[iceberg]'`` where jobs run.
    """
    check_table_name(table)
    if on_rewrite not in ("fail", "skip"):
        raise UsageError(f"on_rewrite is fail or skip, not {on_rewrite!r}.")
    if on_loss not in ("fail", "continue"):
        raise UsageError(f"on_loss is fail or continue, not {on_loss!r}.")
    if max_files < 1 or max_bytes < 1:
        raise UsageError("max_files and max_bytes are at least 1.")
    return Source(
        "iceberg",
        {
            "table": table,
            **{f"{OF_CATALOG}{name}": value for name, value in catalog_properties(catalog)},
            "start": table_start(start),
            "onRewrite": on_rewrite,
            "onLoss": on_loss,
            "intervalMs": str(milliseconds(interval, "interval")),
            "maxFiles": str(max_files),
            "maxBytes": str(max_bytes),
        },
        schema=optional_ddl(schema),
        bounded=not streaming,
    )


def postgres(
    url: str,
    table: str,
    schema: Any,
    *,
    transaction_column: str = "xid",
    start: Literal["earliest", "latest"] = "earliest",
    interval: Duration = "1 second",
    max_rows: int = 100_000,
) -> Source:
    """Read the rows of a table of PostgreSQL, and then those that are added, by the transactions that wrote them.

    ``url`` is ``postgresql://user:${secret:NAME}@host:port/database``, or ``secret:NAME``, a secret that is the whole URL.
    ``table`` is the name of a table or view, with its schema if it has one. Rows: the columns of ``schema`` (DDL), by their
    names; the database gives them as JSON. Offset: the number of a transaction, and how many rows were read.

    ``transaction_column`` holds the number of the transaction that wrote the row, and has the type ``xid8``: ``ALTER TABLE
    orders ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id()``. Rows in which it is null are not read. An epoch reads the
    rows of whole transactions, up to the oldest one that is under way: a long transaction anywhere on the server holds back what
    was written after it began. A row that is changed is read again only if its ``transaction_column`` is set anew, by a trigger,
    and one that is deleted is not told.

    ``start`` is where a job begins that does not start from a snapshot: ``earliest``, with all rows, or ``latest``, with those
    that are written from then on; it is decided once, in a first epoch without rows. Once the source has caught up, it looks for
    more rows at most every ``interval``. ``max_rows`` bounds what one epoch reads, unless one transaction has written more.

    A database that is away is waited for. One that was put back from a backup, so that its transactions have lower numbers than
    those that were read, fails the job. It needs ``pip install 'pitstop[postgres]'`` where jobs run.
    """
    check_postgres_url(url, "postgres reads from")
    if start not in ("earliest", "latest"):
        raise UsageError(f"start is earliest or latest, not {start!r}.")
    if max_rows < 1:
        raise UsageError("max_rows is at least 1.")
    return Source(
        "postgres",
        {
            "url": url,
            "table": table,
            "transactionColumn": transaction_column,
            "start": start,
            "intervalMs": str(milliseconds(interval, "interval")),
            "maxRows": str(max_rows),
        },
        schema=ddl(schema),
        parse="json",
    )
