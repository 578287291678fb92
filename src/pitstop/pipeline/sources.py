"""Sources, from which rows come. Each is a value; the engine opens it.

The ``schema`` of a source is DDL (``id bigint, name string``), a StructType of Spark, or a dataclass.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pitstop.errors import UsageError
from pitstop.kit.durations import Duration, milliseconds
from pitstop.machine.local_paths import local_path, scheme_of
from pitstop.pipeline.databases import check_postgres_url
from pitstop.pipeline.kafka_security import KafkaSecurity, security_of
from pitstop.pipeline.kafka_values import Format, values_of
from pitstop.pipeline.schemas import ddl, optional_ddl
from pitstop.pipeline.starts import delta_start, kafka_start

_CORRUPT_RECORD = re.compile(r"(?i)(^|[\s,`])_corrupt_record\b")
"""Spark's own column for rows that do not parse, in a DDL text."""
_OWN_WAYS = ("mode", "columnnameofcorruptrecord")
"""Options of Spark's reader, in lower case, that decide what becomes of rows that do not parse."""
NO_FOLDERS = ("http", "https", "ftp", "sftp", "data", "jar")
"""Schemes whose URLs name no folder that can be listed and watched."""

_CONSUMERS_OWN = ("bootstrap.servers", "isolation.level", "group.id", "auto.offset.reset", "enable.auto.commit")
TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""The name of a topic of Kafka."""
METADATA = {
    "key": "string",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "headers": "map<string,string>",
}
"""Column that tells where a message of Kafka is from -> its type."""

__all__ = [
    *("csv_tail", "custom", "delta", "files", "http_poll", "items", "kafka", "map_entries", "map_journal"),
    *("postgres", "rate", "spark"),
]


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
    """``csv`` or ``json`` if the reader delivers text in a column ``value``, which Spark parses with the schema; ``avro`` or
    ``debezium`` if it delivers rows and what speaks against them. Rows that do not parse are counted, sampled in the log, and go
    to the dead letters."""
    parse_options: dict[str, str] = field(default_factory=dict)
    """The options of Spark's parser."""
    bounded: bool = False
    """True if the source ends. A job whose sources all end completes."""
    reader: Any = None
    """For ``custom``: the DataSource class; for ``items``: the rows."""
    tells_bad: bool = False
    """True if its reader parses text itself and marks the rows that do not parse (``files``). They are treated as with
    ``parse``."""
    metadata: tuple[str, ...] = ()
    """The columns that the reader delivers beside the text, and that stay beside the parsed ones."""

    @property
    def values(self) -> list[Any]:
        """All that its user has written: the texts of its options, and the values in those that are JSON."""
        texts = [*self.options.values(), *self.parse_options.values()]
        return [*texts, *(json.loads(text) for text in texts if text.startswith("{") and text.endswith("}") and _is_json(text))]

    @property
    def digest(self) -> str:
        """A hash of the settings, equal for equal ones; options may be secret. The rows of ``items`` are not part of it."""
        reader = self.reader.__name__ if isinstance(self.reader, type) else ""
        options = sorted((name, str(value)) for name, value in self.options.items())
        facts: list[Any] = [self.kind, options, self.schema, self.parse, sorted(self.parse_options.items()), self.bounded, reader]
        facts += [self.metadata] if self.metadata else []
        return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def csv_tail(
    path: str,
    schema: Any,
    glob: str = "*.csv",
    separator: str = ",",
    max_bytes: int = 16 * 1024 * 1024,
    multiline: bool = False,
) -> Source:
    """Read lines appended to the files of a folder as CSV (RFC 4180) without header; UTF-8, with or without a byte order mark.

    Rows: the columns of ``schema`` (DDL). Offset: the byte position in each file. A line counts once its newline is there.
    ``separator`` stands between fields.
    ``glob`` says which files of the folder; ``max_bytes`` bounds what one epoch reads. A file that was renamed in its folder, or
    moved to another one of the glob, is read on to its end, whatever its new name; one that was truncated or replaced is read
    from its start, with a warning; one with several names, by links, is read once. A field in quotes may hold separators and
    doubled quotes; newlines only with ``multiline``: then a quote that is never closed takes in what follows, up to 1 MiB.

    A version of the job with a narrower ``glob`` reads no further what that leaves out, and one that turns on ``multiline`` ends
    a record that was read in part by rows of their own, both with a warning. Only the folder itself is waited for while it is
    away: files of one below it, such as the mount of one host in ``*/logs/*.csv``, are read anew when that comes back.

    ``path`` is a folder of the machine that the job runs on, also as ``file:///x``. A relative one and ``~/x`` count from the
    folder and the home of whoever submits the job from that machine; submitted from elsewhere they are refused. An empty text
    stands in quotes (``""``); nothing between two separators is null. In a row in which something else than a text is ``""``
    all empty texts are null.
    """
    local_path(str(path), "What csv_tail reads", instead_of_tail(str(path), "with files", "with http_poll"))
    return Source(
        "csv_tail",
        {"path": str(path), "glob": glob, "maxBytes": str(max_bytes), "multiline": str(multiline).lower()},
        schema=ddl(schema),
        parse="csv",
        parse_options={"sep": separator, "escape": '"'},
    )


def instead_of_tail(path: str, by_files: str, by_http: str) -> str:
    """Return the end of a sentence that says what else reads a URL that ``csv_tail`` cannot read: ``with files``, for example."""
    scheme = scheme_of(path)
    if scheme in NO_FOLDERS:
        return f", or read JSON over HTTP {by_http}"
    if scheme in (None, "file"):
        return ""
    return f", or read whole files {by_files}, for which Spark needs the jar for {scheme}://"


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


def kafka(
    servers: str,
    topic: str | None = None,
    *,
    topics: Sequence[str] = (),
    pattern: str | None = None,
    value: Format = "json",
    schema: Any = None,
    schema_registry: str | None = None,
    schema_folder: str | None = None,
    avro_schema: str | None = None,
    op_column: str = "op",
    number_times: Literal["millis", "micros"] | None = None,
    start: str | datetime | Mapping[str, Mapping[int, int]] = "earliest",
    with_metadata: Sequence[str] | Mapping[str, str] = (),
    on_loss: Literal["fail", "wait", "continue"] = "fail",
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
    max_rows: int = 1_000_000,
    settings: Mapping[str, str] | None = None,
    security: KafkaSecurity | Mapping[str, Any] | None = None,
    group: str | None = None,
) -> Source:
    """Read the messages of topics of Kafka. Spark's own reader does it; its jars are fetched when a job first needs them.

    Rows: the columns of ``schema`` (DDL), by which ``value`` is parsed (``json``, ``csv``, ``avro``, ``debezium``); without a
    schema ``value string`` (``text``) or ``value binary`` (``bytes``). Beside them the columns of ``with_metadata``: ``key
    string``, ``topic string``, ``partition int``, ``offset bigint``, ``timestamp timestamp``, ``headers map<string,string>``; as
    a mapping ``{"offset": "place"}`` under other names. Offset: the id of each topic, and the next offset of each partition.

    ``servers`` are addresses as ``host:port,host:port``. Name one ``topic``, several ``topics``, or all whose names match
    ``pattern``; those that appear later, and new partitions, are read from their beginning. ``start`` is where a job begins that
    does not start from a snapshot: ``earliest``, ``latest``, a time (a datetime, or its text in ISO 8601), or offsets, as in
    ``{"orders": {0: 17}}``; it is decided once, in a first epoch without rows. ``max_rows`` bounds what one epoch reads.

    Messages that do not parse go to the dead letters with topic, partition and offset: null ones (tombstones), empty ones, what
    is not UTF-8 (its text is then ``base64:...``), and more than one JSON object, too. Of transactions only what is committed is
    read, unless ``isolation`` says otherwise.

    Values of ``avro`` begin with the id of the schema with which they were written: it is looked up while the job runs, in the
    ``schema_registry``, a URL (``https://user:${secret:REGISTRY_PASSWORD}@host:8081``), or in the ``schema_folder``, whose files
    are ``ID.avsc``. Values without an id are all of the one ``avro_schema``, a text of JSON. Fields become the columns of
    ``schema`` by their names; ``schema`` may also be a record of Avro as JSON, into which Avro then resolves each value, with
    that record's defaults and aliases. A registry that is away is waited for.

    Values of ``debezium`` are its envelopes of JSON. A row has the columns of ``schema`` as they are after the change, before it
    for a delete, and the change in the column ``op_column``: ``c``, ``r``, ``u`` or ``d``. The null value behind a delete is
    skipped and counted. ``number_times`` says in which unit a column ``timestamp`` is a number: ``millis`` or ``micros``.

    A topic that was deleted and made anew, one that was cut, and messages that the topic has dropped before they were read are
    noticed before anything else is read. ``on_loss`` says what then happens: the job fails with topic, partition, offsets and
    their number (``fail``), waits where it is (``wait``), or goes on without them (``continue``). What is away is
    waited for.

    ``security`` says how the job signs in: see :func:`pitstop.kafka_security`, whose arguments may also be given as a mapping.
    ``settings`` are those of Kafka's consumer, such as ``{"fetch.max.bytes": "1048576"}``. ``group`` names a consumer group that
    gets the offsets of the job after each committed epoch, for tools that show the lag of groups; the job never reads them.
    """
    if isinstance(topics, str):
        raise UsageError(f"topics is a list of names: write topic={topics!r} for one.")
    names = [*([topic] if topic is not None else []), *topics]
    if bool(names) == (pattern is not None):
        raise UsageError("kafka reads one topic, several topics, or the topics of a pattern: give topic, topics or pattern.")
    for name in names:
        if not TOPIC.fullmatch(name):
            raise UsageError(f"{name!r} is not a topic name: use at most 249 letters, digits, '.', '_' and '-'.")
    values = values_of(value, optional_ddl(schema), schema_registry, schema_folder, avro_schema, op_column, number_times)
    if on_loss not in ("fail", "wait", "continue"):
        raise UsageError(f"on_loss is fail, wait or continue, not {on_loss!r}.")
    if isolation not in ("read_committed", "read_uncommitted"):
        raise UsageError(f"isolation is read_committed or read_uncommitted, not {isolation!r}.")
    if max_rows < 1:
        raise UsageError("max_rows is at least 1.")
    if group is not None and not group.strip():
        raise UsageError("group is the name of a consumer group, or left out.")
    columns = dict(with_metadata) if isinstance(with_metadata, Mapping) else {name: name for name in with_metadata}
    if unknown := columns.keys() - METADATA.keys():
        raise UsageError(f"Messages of Kafka have no {', '.join(sorted(unknown))}. There are: {', '.join(METADATA)}.")
    for name in settings or {}:
        if name.lower() in _CONSUMERS_OWN:
            instead = ", or set group= for other tools" if name.lower() == "group.id" else ""
            raise UsageError(f"{name} is Pitstop's own: leave it out of settings{instead}.")
    if len(set(columns.values())) < len(columns):
        raise UsageError("with_metadata gives two columns one name.")
    if "value" in columns.values() and values.schema is None:
        raise UsageError(
            "Two columns would have the name 'value': give the metadata another name, with a mapping as with_metadata."
        )
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise UsageError(f"The pattern {pattern!r} is not a regular expression: {error}.") from None
    where = {"pattern": pattern} if pattern is not None else {"topics": ",".join(names)}
    consumer = {f"kafka.{name}": str(setting) for name, setting in (settings or {}).items()}
    signing_in = security_of(security, settings or {})
    return Source(
        "kafka",
        {
            **consumer,
            **({"security": signing_in.to_text()} if signing_in is not None else {}),
            "kafka.bootstrap.servers": servers,
            "kafka.isolation.level": isolation,
            **where,
            "value": value,
            **values.options,
            "start": kafka_start(start),
            "metadata": json.dumps(columns),
            "onLoss": on_loss,
            "maxRows": str(max_rows),
            **({"group": group} if group is not None else {}),
        },
        schema=values.schema,
        parse=values.parse,
        parse_options=values.parse_options,
        metadata=tuple(columns.values()),
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
    return Source("map_journal", {"map": map_name, "start": start, "maxEvents": str(max_events)})


def map_entries(map_name: str) -> Source:
    """Read the entries of the map ``map_name`` as they are now: ``key string, value string`` (JSON text); bounded.

    For batch jobs, and for tables of hash joins.
    """
    return Source("map_entries", {"map": map_name}, bounded=True)


def files(path: str, format: str, schema: Any = None, streaming: bool = False, **options: Any) -> Source:
    """Read files of a folder by Spark's own reader; ``format`` is ``csv``, ``json``, ``parquet`` or ``text``.

    Batch by default (the job completes when they are read); with ``streaming=True`` the folder is watched
    for new files, each read once; such a folder needs a ``schema`` (DDL), unless it is one of text. ``options`` are those of
    Spark's reader, such as ``header=True``, or ``maxFilesPerTrigger=1``, which bounds what one epoch reads.
    A file that was written more than a week before the newest that was read is passed over, unless ``maxFileAge="365d"``, or
    what you choose, says otherwise: Spark remembers for that long which files it has read.

    Rows of csv and json that do not parse, or have a field too few, too many or of another type, are left out: they are counted,
    sampled in the log, and go to the dead letters (:meth:`Pipeline.read_from`), with their file. Who gives the option ``mode``
    or ``columnNameOfCorruptRecord``, or a column ``_corrupt_record``, has what Spark makes of them instead. CSV is read as
    ``csv_tail`` reads it (RFC 4180, empty texts in quotes); options of yours go before that. ``multiLine=True`` reads newlines
    in quotes, each file in one task.

    ``path`` may be a pattern (``/data/*/in``), unless there is a file or folder of just that name. A relative path and ``~/x``
    count as in ``csv_tail``. URLs of other file systems are read if Spark has their jar. Columns of folders (``day=7/``) have
    the types of the schema; without a schema Spark guesses them, and takes ``007`` for a number.
    """
    columns = optional_ddl(schema)
    if format not in ("csv", "json", "parquet", "text"):
        raise UsageError(f"files reads csv, json, parquet or text, not {format!r}.")
    if streaming and schema is None and format != "text":
        raise UsageError(f"A streaming folder of {format} files needs a schema.")
    if scheme_of(str(path)) in NO_FOLDERS:
        raise UsageError(
            f"files reads folders, and {str(path)!r} is not one: put its files into a folder of the machine that jobs run on, or "
            "read JSON over HTTP with http_poll."
        )
    own = any(name.casefold() in _OWN_WAYS for name in options) or _CORRUPT_RECORD.search(columns or "") is not None
    return Source(
        "files",
        {"path": str(path), "format": format} | {k: str(v) for k, v in options.items()},
        schema=columns,
        bounded=not streaming,
        tells_bad=format in ("csv", "json") and not own,
    )


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
) -> Source:
    """Read a Delta table as a stream: the rows that it has, then those of each commit that appends rows.

    ``path`` is a folder of the machine that the job runs on, as in :func:`files`. Rows: the columns of ``schema`` (DDL), which
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
    local_path(str(path), "A Delta table")
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
            "path": str(path),
            "start": delta_start(start),
            "changes": str(changes).lower(),
            "onRewrite": on_rewrite,
            "onLoss": on_loss,
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
