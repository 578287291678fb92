"""Functions of ``ps.sources``. Each makes a source, from which rows come: a value that the engine opens.

The ``schema`` of a source is DDL (``id bigint, name string``), a StructType of Spark, or a dataclass.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit.durations import Duration, milliseconds
from pitstop.kit.ids import check_name
from pitstop.machine.local_paths import scheme_of
from pitstop.pipeline.file_sources import csv_tail, files
from pitstop.pipeline.kafka_source import kafka
from pitstop.pipeline.schemas import ddl, optional_ddl
from pitstop.pipeline.source import Source
from pitstop.pipeline.table_sources import delta, iceberg, postgres

__all__ = [
    "csv_tail",
    "custom",
    "delta",
    "files",
    "http_poll",
    "iceberg",
    "items",
    "kafka",
    "map_entries",
    "map_journal",
    "postgres",
    "rate",
    "spark",
]


def http_poll(
    url: str,
    schema: Any,
    limit: int = 200,
    interval: Duration = "2 seconds",
    timeout: Duration = "10 seconds",
    sequence: str = "sequence",
    since: int = -1,
    max_rows: int = 10_000,
    headers: Mapping[str, str] | None = None,
) -> Source:
    """Read objects of a JSON array served over HTTP: ``GET url?since=N&limit=M``, where ``url`` is yours.

    Rows: the columns of ``schema`` (DDL), taken from the object. Offset: the highest value of the field
    ``sequence`` seen; ``since`` is exclusive, -1 begins at the beginning. At most ``limit`` objects a
    request, a request at most every ``interval`` once the source has caught up (now and then one more, to see that it has),
    ``max_rows`` an epoch.
    An answer that is not complete after ``timeout`` is an error. Errors and bad JSON are retried with back-off and never skip
    data; redirects are followed. An answer of more than 64 MiB ends the run: ask for less at once by ``limit``. A server whose
    numbers start again is read from its beginning, with a warning, once it has been seen to have lower numbers only; one that
    has passed the old number before it is asked again cannot be told from one that went on.

    ``headers`` go with each request, but not to another host that it is redirected to. Passwords and tokens in ``url`` and
    ``headers`` are given by the names of secrets: ``{"Authorization": "Bearer ${secret:FEED_TOKEN}"}`` (docs/security.md).
    """
    if scheme_of(url) not in (None, "http", "https"):
        raise UsageError(f"http_poll reads http:// and https://, and {url!r} is another URL: read files with csv_tail or files.")
    return Source(
        "http_poll",
        {
            "url": url,
            "limit": str(limit),
            "intervalMs": str(milliseconds(interval, "poll interval")),
            "timeoutMs": str(milliseconds(timeout, "timeout")),
            "sequence": sequence,
            "since": str(since),
            "maxRows": str(max_rows),
            **({"headers": json.dumps(dict(headers))} if headers else {}),
        },
        schema=ddl(schema),
        parse="json",
    )


def map_journal(map_name: str, start: str = "oldest", max_events: int = 100_000) -> Source:
    """Read the event journal of the map ``map_name``: every put, update and removal, in order.

    Rows: ``sequence bigint, kind string, key string, old_value string, new_value string, time timestamp,
    lost bigint`` (``kind`` is ADDED, UPDATED, REMOVED or EXPIRED; values are JSON text; ``lost`` is how many events were
    dropped unread just before this one). ``start`` is ``oldest`` or ``current``, for a job that does not start from a snapshot;
    ``max_events`` bounds what one epoch reads.
    """
    if start not in ("oldest", "current"):
        raise UsageError(f"map_journal starts at 'oldest' or 'current', not {start!r}.")
    return Source("map_journal", {"map": check_name("map", map_name), "start": start, "maxEvents": str(max_events)})


def map_entries(map_name: str) -> Source:
    """Read the entries of the map ``map_name`` as they are now: ``key string, value string`` (JSON text); bounded.

    For batch jobs, and for tables of hash joins.
    """
    return Source("map_entries", {"map": check_name("map", map_name)}, bounded=True)


def items(rows: Sequence[Sequence[Any] | dict[str, Any]], schema: Any) -> Source:
    """Read a fixed list of ``rows``, which have the columns of ``schema`` (DDL), for tests and examples; bounded."""
    return Source("items", schema=ddl(schema), bounded=True, reader=tuple(rows))


def rate(rows_per_second: int = 10, start: int = 0) -> Source:
    """Read ``sequence bigint, time timestamp``: ``rows_per_second`` numbers a second, from ``start`` on, without gaps.

    The time of number n is the moment it was due, so reading it again gives the same rows.
    """
    if rows_per_second < 1:
        raise UsageError("rate needs at least one row a second.")
    return Source("rate", {"rowsPerSecond": str(rows_per_second), "start": str(start)})


def spark(format: str, schema: Any = None, *, jars: Sequence[str] = (), streaming: bool = True, **options: Any) -> Source:
    """Read anything that Spark can read by the name of a ``format``, with the ``options`` of its reader.

    ``schema`` is the DDL of its rows, for formats that need one. With ``streaming=False`` it is read as a batch, the source ends,
    and can be the table of a hash join; ``jdbc`` can be read in no other way. ``jars`` are files on the machine that jobs run
    on, which Spark gets before it looks for the format.

    The format's own reader keeps the place in its offsets. Each row is in one epoch if that reader gives the same rows between
    the same two offsets; a reader that does not replay (``socket``) loses rows when a job starts again. How much one epoch
    reads is for the options of the format. Values of options may name secrets: ``password="secret:DB_PASSWORD"``
    (docs/security.md).
    """
    files_of_jars = {"jars": json.dumps([str(jar) for jar in jars])} if jars else {}
    return Source(
        "spark",
        {"format": format, "options": options_text(options), **files_of_jars},
        schema=optional_ddl(schema),
        bounded=not streaming,
    )


def options_text(options: Mapping[str, Any]) -> str:
    """Return options of Spark as JSON: all of them texts, with true and false as Spark writes them."""
    return json.dumps({name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()})


def custom(data_source: type, schema: Any = None, **options: Any) -> Source:
    """Read a user-defined source: a ``pyspark.sql.datasource.DataSource`` class with a ``streamReader``.

    Its offsets must be explicit and seekable: reading between the same two offsets gives the same rows. ``data_source`` is the
    class, ``schema`` the DDL of its rows (None: it says them itself), and ``options`` are those that it reads.
    """
    return Source("custom", {k: str(v) for k, v in options.items()}, schema=optional_ddl(schema), reader=data_source)


def __dir__() -> list[str]:
    """Name what users call."""
    return list(__all__)
