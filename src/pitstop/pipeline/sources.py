"""Sources, from which rows come. Each is a value; the engine opens it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pitstop.errors import UsageError
from pitstop.kit.durations import Duration, milliseconds
from pitstop.kit.local_paths import local_path

_CORRUPT_RECORD = re.compile(r"(?i)(^|[\s,`])_corrupt_record\b")
"""Spark's own column for rows that do not parse, in a DDL text."""
_OWN_WAYS = ("mode", "columnnameofcorruptrecord")
"""Options of Spark's reader, in lower case, that decide what becomes of rows that do not parse."""

__all__ = ["csv_tail", "custom", "files", "http_poll", "items", "map_entries", "map_journal", "rate"]


@dataclass(frozen=True)
class Source:
    """The origin of rows. Functions make one for their users; see docs/extending.md."""

    kind: str
    """The name of the SourceKind by which the engine opens it."""
    options: dict[str, str] = field(default_factory=dict)
    """The options of its reader."""
    schema: str | None = None
    """The DDL of its rows; None if the reader knows it."""
    parse: str | None = None
    """``csv`` or ``json`` if the reader delivers text in a column ``value``, which Spark parses with the schema. Rows that do
    not parse are counted, sampled in the log, and go to the dead letters."""
    parse_options: dict[str, str] = field(default_factory=dict)
    """The options of Spark's parser."""
    bounded: bool = False
    """True if the source ends. A job whose sources all end completes."""
    reader: Any = None
    """For ``custom``: the DataSource class; for ``items``: the rows."""
    tells_bad: bool = False
    """True if its reader parses text itself and marks the rows that do not parse (``files``). They are treated as with
    ``parse``."""

    @property
    def digest(self) -> str:
        """A hash of the settings, equal for equal ones; options may be secret. The rows of ``items`` are not part of it."""
        reader = self.reader.__name__ if isinstance(self.reader, type) else ""
        options = sorted((name, str(value)) for name, value in self.options.items())
        facts = [self.kind, options, self.schema, self.parse, sorted(self.parse_options.items()), self.bounded, reader]
        return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]


def csv_tail(
    path: str,
    schema: str,
    glob: str = "*.csv",
    separator: str = ",",
    max_bytes: int = 16 * 1024 * 1024,
    multiline: bool = False,
) -> Source:
    """Read lines appended to the files of a folder as CSV (RFC 4180) without header; UTF-8, with or without a byte order mark.

    Rows: the columns of ``schema`` (DDL). Offset: the byte position in each file. A line counts once its newline is there.
    ``glob`` says which files of the folder; ``max_bytes`` bounds what one epoch reads. A file that was renamed in its folder, or
    moved to another one of the glob, is read on to its end, whatever its new name; one that was truncated or replaced is read
    from its start, with a warning; one with several names, by links, is read once. A field in quotes may hold separators and
    doubled quotes; newlines only with ``multiline``: then a quote that is never closed takes in what follows, up to 1 MiB.

    A version of the job with a narrower ``glob`` reads no further what that leaves out, and one that turns on ``multiline`` ends
    a record that was read in part by rows of their own, both with a warning. Only the folder itself is waited for while it is
    away: files of one below it, such as the mount of one host in ``*/logs/*.csv``, are read anew when that comes back.

    ``path`` is a folder of the machine that the job runs on, also as ``~/x`` (the home of the server's user) or ``file:///x``; a
    relative one counts from the folder that the server was started in. An empty text stands in quotes (``""``); nothing between
    two separators is null. In a row in which something else than a text is ``""`` all empty texts are null.
    """
    local_path(str(path), "What csv_tail reads")
    return Source(
        "csv_tail",
        {"path": str(path), "glob": glob, "maxBytes": str(max_bytes), "multiline": str(multiline).lower()},
        schema=schema,
        parse="csv",
        parse_options={"sep": separator, "escape": '"'},
    )


def http_poll(
    url: str,
    schema: str,
    limit: int = 200,
    interval: Duration = "2 seconds",
    timeout: Duration = "10 seconds",
    sequence: str = "sequence",
    since: int = -1,
    max_rows: int = 10_000,
) -> Source:
    """Read objects of a JSON array served over HTTP: ``GET url?since=N&limit=M``.

    Rows: the columns of ``schema`` (DDL), taken from the object. Offset: the highest value of the field
    ``sequence`` seen; ``since`` is exclusive, -1 begins at the beginning. At most ``limit`` objects a
    request, a request at most every ``interval`` once the source has caught up (now and then one more, to see that it has),
    ``max_rows`` an epoch.
    An answer that is not complete after ``timeout`` is an error. Errors and bad JSON are retried with back-off and never skip
    data; redirects are followed. An answer of more than 64 MiB ends the run: ask for less at once by ``limit``. A server whose
    numbers start again is read from its beginning, with a warning, once it has been seen to have lower numbers only; one that
    has passed the old number before it is asked again cannot be told from one that went on.
    """
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
        },
        schema=schema,
        parse="json",
    )


def map_journal(map_name: str, start: str = "oldest", max_events: int = 100_000) -> Source:
    """Read the event journal of a map: every put, update and removal, in order.

    Rows: ``sequence bigint, kind string, key string, old_value string, new_value string, time timestamp,
    lost bigint`` (``kind`` is ADDED, UPDATED, REMOVED or EXPIRED; values are JSON text; ``lost`` is how many events were
    dropped unread just before this one). ``start`` is ``oldest`` or ``current``, for a job that does not start from a snapshot;
    ``max_events`` bounds what one epoch reads.
    """
    if start not in ("oldest", "current"):
        raise UsageError(f"map_journal starts at 'oldest' or 'current', not {start!r}.")
    return Source("map_journal", {"map": map_name, "start": start, "maxEvents": str(max_events)})


def map_entries(map_name: str) -> Source:
    """Read the entries of a map as they are at that moment: ``key string, value string`` (JSON text); bounded.

    For batch jobs, and for tables of hash joins.
    """
    return Source("map_entries", {"map": map_name}, bounded=True)


def files(path: str, format: str, schema: str | None = None, streaming: bool = False, **options: Any) -> Source:
    """Read files of a folder by Spark's own reader: ``csv``, ``json``, ``parquet`` or ``text``.

    Batch by default (the job completes when they are read); with ``streaming=True`` the folder is watched
    for new files, each read once; such a folder needs a schema, unless it is one of text. ``options`` are those of Spark's
    reader, such as ``header=True``, or ``maxFilesPerTrigger=1``, which bounds what one epoch reads.
    A file that was written more than a week before the newest that was read is passed over, unless ``maxFileAge="365d"``, or
    what you choose, says otherwise: Spark remembers for that long which files it has read.

    Rows of csv and json that do not parse, or have a field too few, too many or of another type, are left out: they are counted,
    sampled in the log, and go to the dead letters (:meth:`Pipeline.read_from`), with their file. Who gives the option ``mode``
    or ``columnNameOfCorruptRecord``, or a column ``_corrupt_record``, has what Spark makes of them instead. CSV is read as
    ``csv_tail`` reads it (RFC 4180, empty texts in quotes); options of yours go before that. ``multiLine=True`` reads newlines
    in quotes, each file in one task.

    ``path`` may be a pattern (``/data/*/in``), unless there is a file or folder of just that name. ``~/x`` counts from the home
    of the server's user, a relative path from the folder that the server was started in. Columns of folders (``day=7/``) have the
    types of the schema; without a schema Spark guesses them, and takes ``007`` for a number.
    """
    if format not in ("csv", "json", "parquet", "text"):
        raise UsageError(f"files reads csv, json, parquet or text, not {format!r}.")
    if streaming and schema is None and format != "text":
        raise UsageError(f"A streaming folder of {format} files needs a schema.")
    own = any(name.casefold() in _OWN_WAYS for name in options) or _CORRUPT_RECORD.search(schema or "") is not None
    return Source(
        "files",
        {"path": str(path), "format": format} | {k: str(v) for k, v in options.items()},
        schema=schema,
        bounded=not streaming,
        tells_bad=format in ("csv", "json") and not own,
    )


def items(rows: Sequence[Sequence[Any] | dict[str, Any]], schema: str) -> Source:
    """Read a fixed list of rows, for tests and examples; bounded."""
    return Source("items", schema=schema, bounded=True, reader=tuple(rows))


def rate(rows_per_second: int = 10, start: int = 0) -> Source:
    """Read ``sequence bigint, time timestamp``: so many numbers a second, from ``start`` on, without gaps.

    The time of number n is the moment it was due, so reading it again gives the same rows.
    """
    if rows_per_second < 1:
        raise UsageError("rate needs at least one row a second.")
    return Source("rate", {"rowsPerSecond": str(rows_per_second), "start": str(start)})


def custom(data_source: type, schema: str | None = None, **options: Any) -> Source:
    """Read a user-defined source: a ``pyspark.sql.datasource.DataSource`` class with a ``streamReader``.

    Its offsets must be explicit and seekable: reading between the same two offsets gives the same rows.
    """
    return Source("custom", {k: str(v) for k, v in options.items()}, schema=schema, reader=data_source)


def __dir__() -> list[str]:
    """Name what users call."""
    return list(__all__)
