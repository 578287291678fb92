"""Functions of ``ps.sinks``. Each makes a sink, into which rows go (pipeline.sink)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name
from pitstop.kit.sizes import bytes_of
from pitstop.machine.local_paths import local_path
from pitstop.pipeline.databases import check_postgres_url
from pitstop.pipeline.iceberg_tables import catalog_properties, check_table_name, partition_fields
from pitstop.pipeline.kafka_security import KafkaSecurity, security_of
from pitstop.pipeline.kafka_source import TOPIC
from pitstop.pipeline.kafka_values import written_form
from pitstop.pipeline.object_stores import S3Store, is_s3, s3_address, store_of
from pitstop.pipeline.sink import (
    Compaction,
    CustomSink,
    DeltaSink,
    EpochInfo,
    FilesSink,
    IcebergSink,
    KafkaSink,
    LoggerSink,
    MapSink,
    NoopSink,
    PostgresSink,
    Sink,
    SinkWriter,
    SparkSink,
)
from pitstop.pipeline.sources import options_text

__all__ = [
    "EpochInfo",
    "SinkWriter",
    "custom",
    "delta",
    "files",
    "iceberg",
    "kafka",
    "logger",
    "map",
    "noop",
    "postgres",
    "spark",
]

_COMPACT_EVERY = 100
"""The number of epochs after which a table with small files is compacted."""


def map(
    name: str,
    key: Any,
    value: Any = None,
    mode: str = "upsert",
    merge: Callable[[Any, Any], Any] | None = None,
    update: Callable[[Any, dict[str, Any]], Any] | None = None,
    order_by: Any = None,
) -> Sink:
    """Write rows into the map ``name``. The text of ``key``, a column's name, SQL or a Spark Column, is the key of the entry.

    ``value`` is of the same kind; default: a JSON object of all columns. A null value removes the
    entry. ``mode="delete"`` removes every key it gets. With ``merge(old, new) -> value`` or ``update(old, row)
    -> value`` (values as Python objects, ``old`` None if absent, a result of None removes) an entry is
    changed by a function. Exactly-once: rows and epoch are committed in one transaction.

    The newest row of a key wins: the one with the highest ``window_end`` behind windows (the result of a window wins over an
    early one), else with the highest event time, if there is one; of equal ones the last. Of the results of a rolling aggregate
    with the same key the one that comes last wins: it has all rows so far. A row that is older than what the
    entry holds is left out, a removal too; of a removed entry nothing is remembered. ``order_by``, a column or
    expression or several of them, says by what else rows are newer (null is the oldest); ``order_by=()``: the row that
    comes last wins. Functions get all rows, those of an epoch in that order.
    """
    check_name("map", name)
    if mode not in ("upsert", "delete"):
        raise UsageError(f"The map sink's mode is 'upsert' or 'delete', not {mode!r}.")
    if merge is not None and update is not None:
        raise UsageError("A map sink has a merge or an update function, not both.")
    chosen = "merge" if merge is not None else "update" if update is not None else mode
    by = order_by if order_by is None else tuple(order_by) if isinstance(order_by, tuple | list) else (order_by,)
    return MapSink(name, key, value, chosen, merge or update, by)


def logger(template: str | None = None) -> Sink:
    """Write each row as a log line ``[<job>/<stage>#<partition>] <text>``.

    ``template`` names columns in braces, ``"speed {vin} {avg}"``; default: the row as JSON. At least once.
    """
    return LoggerSink(template)


def files(path: str, format: str = "parquet", partition_by: str | tuple[str, ...] | list[str] = (), **options: Any) -> Sink:
    """Write files into a folder; ``format`` is ``parquet``, ``json`` or ``csv``. Exactly-once: a file appears with its epoch.

    ``options`` are those of Spark's writer of that format, such as ``header=True`` or ``timestampFormat``, and go before what
    follows. One whose name is almost that of an option of Spark is refused. CSV is that of RFC 4180: quotes are doubled,
    blanks stay, an empty text is ``""`` and null is nothing. (In a CSV of one column all is in quotes, and null is ``""``,
    for readers pass over empty lines.) Times of CSV and JSON have microseconds. What a format cannot hold is refused when the
    job is checked: nested and binary columns in CSV, keys of maps in JSON that are no text, whole number or boolean, structs
    without fields, and intervals of months with days. A file that would hold no row is not written. Keys of maps in JSON are
    read back as texts: ``map<string, ...>``.

    The folder also holds ``_pitstop``, with a record of each epoch. Spark and pyarrow pass it over, as all names
    that begin with ``_``; a pattern of your own, such as ``**/*.json``, has to leave it out.

    ``path`` is a folder of the machine that the job runs on, also as ``file:///x``. A relative one and ``~/x`` count from the
    folder and the home of whoever submits the job from that machine; submitted from elsewhere they are refused.

    The columns in ``partition_by`` become folders ``column=value``, as Hive has them: null and an empty text share one, which
    is read as null. A row whose text is too long for a folder's name (255 bytes), has a NUL, or is Hive's name for null, is
    kept in the folder ``_unplaced`` with all its columns, and the log says how many: readers pass that folder over.
    """
    local_path(str(path), "What the file sink writes")
    if format not in ("parquet", "json", "csv"):
        raise UsageError(f"files writes parquet, json or csv, not {format!r}.")
    columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    return FilesSink(str(path), format, columns, tuple((name, _option(value)) for name, value in options.items()))


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def kafka(
    servers: str,
    topic: str,
    *,
    key: Any = None,
    value: Any = None,
    headers: Mapping[str, Any] | None = None,
    value_format: Literal["json", "avro"] = "json",
    avro_schema: str | None = None,
    schema_registry: str | None = None,
    subject: str | None = None,
    settings: Mapping[str, str] | None = None,
    security: KafkaSecurity | Mapping[str, Any] | None = None,
) -> Sink:
    """Write rows as messages of ``topic``. Exactly once for readers of committed messages (``isolation.level=read_committed``).

    ``servers`` are addresses as ``host:port,host:port``.
    ``key``, ``value`` and ``headers`` are column names or expressions. A text or binary column is written as it is, any other
    one as JSON; without ``value`` it is a JSON object of all columns. A null value is a tombstone. Rows with one key keep to one
    partition.

    With ``value_format="avro"`` the value, which is a struct, or all columns, is written as a record of Avro. Its schema follows
    from the columns, each of which may be null, or is the record ``avro_schema`` (JSON): fields get the columns of their names,
    and those without a column their default. ``schema_registry`` is the URL of a registry that speaks Confluent's REST
    (``https://user:${secret:REGISTRY_PASSWORD}@host:8081``): the job registers the schema there as ``subject`` (default:
    ``<topic>-value``), and values begin with its id. Without a registry they begin without one.

    An epoch is written by four tasks, each in one transaction that also holds the mark of the epoch, so an epoch that is
    written again adds nothing. A reader may see a part of an epoch for a moment, but no row twice, and none of a task that
    failed. What was written is not withdrawn when a job goes back from an update.

    It needs ``pip install 'pitstop[kafka]'`` where jobs run. ``settings`` are those of librdkafka's producer.
    ``security`` says how the job signs in: see :func:`pitstop.kafka_security`, whose arguments may also be given as a mapping.
    """
    if not TOPIC.fullmatch(topic):
        raise UsageError(f"{topic!r} is not a topic name: use at most 249 letters, digits, '.', '_' and '-'.")
    for name in settings or {}:
        if name.lower() in ("bootstrap.servers", "transactional.id", "enable.idempotence"):
            raise UsageError(f"{name} is Pitstop's own: leave it out of settings.")
    consumers = tuple((name, str(setting)) for name, setting in (settings or {}).items())
    signing_in = security_of(security, settings or {})
    avro = written_form(value_format, avro_schema, schema_registry, subject)
    return KafkaSink(servers, topic, key, value, tuple((headers or {}).items()), consumers, signing_in, avro)


def postgres(
    url: str,
    table: str,
    *,
    key: str | Sequence[str] = (),
    order_by: str | None = None,
    delete_when: Any = None,
    leave_out: str | Sequence[str] = (),
) -> Sink:
    """Write rows into a table of PostgreSQL, exactly once: the rows of an epoch and its mark are in one transaction.

    ``url``: ``postgresql://user:${secret:DB_PASSWORD}@host:port/database``, with the name of a secret in the place of the
    password, or the secret of a whole URL, ``secret:DB_URL`` (docs/security.md). The columns of the rows are columns of
    ``table``, which is there already; other ones keep their defaults. Structs, arrays and maps are written as JSON, into columns
    ``jsonb`` or ``text``.

    Without ``key`` each row is inserted. With the columns of a key, which the table has a unique index of, a row replaces the
    one of its key; ``delete_when``, a condition on the row, removes it instead. ``leave_out`` names columns that only this
    condition needs: they are not written. ``order_by``, a column of the table, says which
    row of a key is newer: an older one changes nothing, a null is the oldest. Without it the row that comes last wins. Rows whose
    key is null are left out, and the log says how many.

    The marks of epochs are in a table ``pitstop_marks`` of the same schema, which the sink makes. It needs ``pip install
    'pitstop[postgres]'`` where jobs run. What was written is not withdrawn when a job goes back from an update.
    """
    names = (key,) if isinstance(key, str) else tuple(key)
    check_postgres_url(url, "postgres writes to")
    if not names and (order_by is not None or delete_when is not None):
        raise UsageError("order_by and delete_when change the row of a key: name the columns of the key.")
    unwritten = (leave_out,) if isinstance(leave_out, str) else tuple(leave_out)
    if unwritten and delete_when is None:
        raise UsageError("leave_out names columns that only delete_when needs: give delete_when, or select fewer columns.")
    if set(unwritten) & {*names, *filter(None, (order_by,))}:
        raise UsageError("leave_out cannot name columns of key or order_by, because the sink writes those.")
    return PostgresSink(url, table, names, order_by, delete_when, unwritten)


def delta(
    path: str,
    *,
    partition_by: str | Sequence[str] = (),
    schema_mode: str | None = None,
    store: S3Store | Mapping[str, Any] | None = None,
    target_file_size: str | int | None = None,
    compact_every: int = _COMPACT_EVERY,
) -> Sink:
    """Append rows to a Delta table, exactly once: one commit of its log has all rows of an epoch, and its mark.

    ``path`` is a folder of the machine that the job runs on, as for :func:`files`, or one of S3 (``s3a://bucket/table``), for
    which ``store`` says how it is reached (:func:`pitstop.s3_store`). A table that is not there is made, partitioned
    by the columns in ``partition_by``. To one that is there rows of the same names and types are appended, and columns that
    the rows do not have are null; ``schema_mode="merge"`` adds columns of the rows that the table does not have. What does not
    fit is refused when the job is checked.

    Each epoch is a commit with files of its own. With a ``target_file_size``, such as ``"128 MB"``, smaller ones are put together
    after each ``compact_every`` epochs: that epoch takes longer, and readers of a stream read no row again.

    When a job goes back from an update, the files of the version that failed are taken out of the table. The sink needs ``pip
    install 'pitstop[delta]'`` where jobs and the server run.
    """
    address = s3_address(str(path))
    if not is_s3(address):
        local_path(address, "A Delta table")
    reached_by = store_of(store, address)
    if schema_mode not in (None, "merge"):
        raise UsageError(f'schema_mode is "merge", or left out, not {schema_mode!r}.')
    columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    if type(compact_every) is not int or compact_every < 1:
        raise UsageError(f"compact_every is a number of epochs from 1 on, not {compact_every!r}.")
    if target_file_size is None and compact_every != _COMPACT_EVERY:
        raise UsageError('compact_every needs a target_file_size, such as "128 MB".')
    size = bytes_of("target_file_size", target_file_size) if target_file_size is not None else None
    compaction = Compaction(size, compact_every) if size is not None else None
    return DeltaSink(address, columns, schema_mode == "merge", reached_by, compaction)


def iceberg(
    table: str,
    *,
    catalog: Mapping[str, str],
    partition_by: str | Sequence[str] = (),
    schema_mode: str | None = None,
) -> Sink:
    """Append rows to an Iceberg table, exactly once: one snapshot has all rows of an epoch, and its commit the epoch's mark.

    ``table`` is a name with its namespace (``shop.orders``). ``catalog`` has the properties by which PyIceberg opens the catalog:
    ``{"type": "rest", "uri": "https://catalog:8181", "warehouse": "shop", "token": "secret:CATALOG_TOKEN"}``, or the ``type``
    ``sql`` with the ``uri`` of a database and a ``warehouse``. Files lie where the catalog says: on S3, say.

    A table that is not there is made, in format 2, partitioned by the fields in ``partition_by``: columns, ``year(c)``,
    ``month(c)``, ``day(c)``, ``hour(c)``, ``bucket(n, c)`` and ``truncate(n, c)``. To one that is there rows of the same names
    and types are appended, as its own partitions say, and columns that the rows do not have are null; ``schema_mode="merge"``
    adds columns of the rows that the table does not have. Rows that do not fit fail the job.

    When a job goes back from an update, the files of the version that failed are taken out of the table. Each epoch is a
    snapshot: let epochs be long (``max_latency``), and expire old snapshots. The sink needs ``pip install 'pitstop[iceberg]'``
    where jobs and the server run.
    """
    check_table_name(table)
    if schema_mode not in (None, "merge"):
        raise UsageError(f'schema_mode is "merge", or left out, not {schema_mode!r}.')
    return IcebergSink(table, catalog_properties(catalog), partition_fields(partition_by), schema_mode == "merge")


def spark(format: str, *, mode: str = "append", jars: Sequence[str] = (), **options: Any) -> Sink:
    """Write rows by Spark's writer of a ``format``, such as ``jdbc``, with the ``options`` of that writer. At least once.

    The rows of each epoch are a table that Spark writes with ``mode``: ``append``, or ``overwrite``, by which the target has the
    rows of the last epoch alone. An epoch without rows writes nothing. An epoch that was cut off is written again, and nothing
    keeps its rows from being there twice. What was written is not withdrawn when a job goes back from an update.

    ``jars`` are files on the machine that jobs run on, which Spark gets before it looks for the format. Values of options may
    name secrets: ``password="secret:DB_PASSWORD"`` (docs/security.md).
    """
    if mode not in ("append", "overwrite"):
        raise UsageError(f"mode is append or overwrite, not {mode!r}.")
    texts: dict[str, str] = json.loads(options_text(options))
    return SparkSink(format, mode, tuple(texts.items()), tuple(str(jar) for jar in jars))


def noop() -> Sink:
    """Take every row and write none."""
    return NoopSink()


def custom(writer: SinkWriter) -> Sink:
    """Write rows by a user-defined sink: ``writer`` is a :class:`SinkWriter`."""
    if isinstance(writer, type) or not callable(getattr(writer, "write", None)):
        raise UsageError("A sink of your own is an object with write(rows, info): write ps.sinks.custom(MySink()).")
    return CustomSink(writer)


def __dir__() -> list[str]:
    """Name what users call."""
    return list(__all__)
