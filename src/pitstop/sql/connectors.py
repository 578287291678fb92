"""The connectors that a mapping's TYPE names: the source that reads it and the sink that writes it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field, replace

from pitstop.errors import UsageError
from pitstop.kit.durations import milliseconds
from pitstop.machine.local_paths import local_path, scheme_of, whole_pattern
from pitstop.model.origin import PathOrigin, of_nobody_here
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.file_sources import NO_FOLDERS, instead_of_tail
from pitstop.pipeline.option_paths import Whole, whole_postgres_url
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source
from pitstop.sql import database_tables, delta_tables, iceberg_tables, topics
from pitstop.sql.mappings import KEY, VALUE, Column, Mapping, truth
from pitstop.sql.statements import Writing
from pitstop.sql.stores import STORE_OPTIONS, check_store, store_in
from pitstop.sql.types import quoted


def _by_insert(mapping: Mapping, writing: Writing) -> str | None:
    return None if writing is Writing.INSERT else ""


def _by_sink(mapping: Mapping, writing: Writing) -> str | None:
    return None if writing is Writing.SINK else f", use {Writing.SINK} INTO"


def _any(mapping: Mapping) -> None:
    """Accept every mapping whose options and columns are right by themselves."""


@dataclass(frozen=True)
class Connector:
    """A TYPE of mappings."""

    name: str
    source: Callable[[Mapping], Source] | None = None
    """Makes the source that reads a mapping; None: it cannot be read."""
    sink: Callable[[Mapping], Sink] | None = None
    """Makes the sink that writes a mapping; None: it cannot be written."""
    objection: Callable[[Mapping, Writing], str | None] = _by_insert
    """Gives the reason why a statement does not write it: a clause that goes on ``INSERT INTO clause is not supported for TYPE``;
    None if it does."""
    streams: Callable[[Mapping], bool] = lambda mapping: True
    """Returns True if the rows of a mapping have no end."""
    columns: tuple[Column, ...] | None = None
    """The columns that it always has; None: the mapping gives them."""
    options: AnyMapping[str, Callable[[str], object]] = field(default_factory=dict)
    """Option -> the function that reads its text, with ValueError or UsageError for a wrong one."""
    needed: tuple[str, ...] = ()
    check: Callable[[Mapping], None] = _any
    """Raises UsageError for columns and options that are not right together."""
    renames: bool = False
    """True if its sink writes the mapping's columns by their names outside, and so needs columns."""
    paths: AnyMapping[str, Callable[[str, Whole], str]] = field(default_factory=dict)
    """Option -> the function that returns its value with whole paths, by what relative ones count from."""


def connector_of(mapping: Mapping) -> Connector:
    """Return the connector of a mapping; UsageError for an unknown TYPE, and for wrong options or columns."""
    kind = _BY_NAME.get(mapping.type.lower())
    if kind is None:
        raise UsageError(f"There is no TYPE {mapping.type}: there are {', '.join(sorted(c.name for c in CONNECTORS))}")
    for key, value in mapping.options.items():
        if key not in kind.options:
            options = ", ".join(sorted(kind.options)) or "none"
            raise UsageError(f"Unknown option of a mapping of TYPE {kind.name}: {key} (it has {options})")
        try:
            kind.options[key](value)
        except (ValueError, UsageError):
            raise UsageError(f"Invalid value for option {key}: {value}") from None
    for key in kind.needed:
        if key not in mapping.options:
            raise UsageError(f"A mapping of TYPE {kind.name} needs option {key}")
    if kind.columns is not None and mapping.columns and mapping.columns != kind.columns:
        raise UsageError(f"A mapping of TYPE {kind.name} has columns {', '.join(c.name for c in kind.columns)}: leave them out")
    if kind.columns is None and not mapping.columns and (kind.source is not None or kind.renames):
        raise UsageError(f"A mapping of TYPE {kind.name} needs its columns: name (column type, ...)")
    names = [column.name.lower() for column in mapping.columns]
    for number, name in enumerate(names):
        if name in names[:number]:
            twice = f"'{mapping.columns[names.index(name)].name}' and '{mapping.columns[number].name}'"
            raise UsageError(f"Columns {twice} differ only in case, and Spark treats them as the same")
    if kind is IMAP and not mapping.has(KEY):
        raise UsageError(f"A mapping of TYPE {kind.name} needs a column {KEY}")
    for name in mapping.names("orderBy"):
        if name not in (column.name for column in mapping.columns):
            raise UsageError(f"Option orderBy names columns of the mapping, and it has no column {name}")
    kind.check(mapping)
    return kind


def placed(mapping: Mapping, origin: PathOrigin) -> Mapping:
    """Return the mapping with whole paths.

    UsageError if one counts from what is not known, or if nothing can read or write there.
    """
    connector = connector_of(mapping)
    _check_place(connector, mapping)

    def whole(path: str) -> str:
        text = origin.whole(path)
        if text is None:
            raise UsageError(f"Mapping '{mapping.name}' has the path '{path}', {of_nobody_here(path)}")
        return text

    return replace(
        mapping,
        options={
            **mapping.options,
            **{
                name: make_whole(mapping.options[name], whole)
                for name, make_whole in connector.paths.items()
                if name in mapping.options
            },
        },
    )


def _check_place(connector: Connector, mapping: Mapping) -> None:
    refusals = []
    for make in (connector.source, connector.sink):
        if make is not None:
            try:
                make(mapping)
            except UsageError as error:
                refusals.append(error)
            else:
                return
    raise refusals[0]


def columns_of(mapping: Mapping) -> tuple[Column, ...]:
    """Return the columns of a mapping, which its connector or the mapping itself gives."""
    return connector_of(mapping).columns or mapping.columns


def is_single(mapping: Mapping) -> bool:
    """Return True for a map whose values are no objects: its only column beside the key is ``this``."""
    return [column.name for column in mapping.columns if column.name != KEY] == [VALUE]


def columns_of_entries(mapping: Mapping) -> list[str]:
    """Return Spark's expressions for the columns of a map's entries, whose values are JSON."""
    fields = [column for column in mapping.columns if column.name != KEY]
    if is_single(mapping):
        schema, document = f"{VALUE} {fields[0].type}", f"concat('{{\"{VALUE}\":', value, '}}')"
        texts_of_fields = {VALUE: f"from_json({document}, '{schema}').{VALUE}"}
    else:
        schema = ", ".join(f"{quoted(column.outside)} {column.type}" for column in fields)
        schema = schema.replace("\\", "\\\\").replace("'", "\\'")
        texts_of_fields = {column.name: f"from_json(value, '{schema}').{quoted(column.outside)}" for column in fields}
    key = next(column for column in mapping.columns if column.name == KEY)
    texts = {KEY: f"CAST(key AS {key.type})"} | texts_of_fields
    return [f"{texts[column.name]} AS {quoted(column.name)}" for column in mapping.columns]


def _ddl(mapping: Mapping) -> str:
    return ", ".join(f"{quoted(column.outside)} {column.type}" for column in mapping.columns)


def _csv_tail(mapping: Mapping) -> Source:
    path = mapping.options["path"]
    instead = instead_of_tail(path, "by a mapping of TYPE File", "by a mapping of TYPE HttpPoll")
    local_path(path, f"What mapping '{mapping.name}' of TYPE CsvTail reads", instead)
    return sources.csv_tail(
        mapping.options["path"],
        _ddl(mapping),
        glob=mapping.option("glob", "*.csv"),
        separator=mapping.option("separator", ","),
        multiline=truth(mapping.option("multiline", "false")),
    )


def _http_poll(mapping: Mapping) -> Source:
    url = mapping.options["url"]
    if scheme_of(url) not in (None, "http", "https"):
        raise UsageError(
            f"Mapping '{mapping.name}' of TYPE HttpPoll reads http:// and https://, and {url!r} is another URL: "
            "read files by a mapping of TYPE CsvTail or File."
        )
    return sources.http_poll(
        mapping.options["url"],
        _ddl(mapping),
        limit=int(mapping.option("limit", "200")),
        interval=mapping.option("interval", "2 seconds"),
        timeout=mapping.option("timeout", "10 seconds"),
        sequence=mapping.option("sequence", "sequence"),
        since=int(mapping.option("since", "-1")),
    )


def _journal(mapping: Mapping) -> Source:
    return sources.map_journal(mapping.options.get("map", mapping.outside), start=mapping.option("start", "oldest"))


def _files(mapping: Mapping) -> Source:
    format_, path = mapping.option("format", "parquet"), mapping.options["path"]
    if scheme_of(path) in NO_FOLDERS:
        raise UsageError(
            f"Mapping '{mapping.name}' of TYPE File reads folders, and {path!r} is none: put its files into a folder of the "
            "machine that jobs run on, or read JSON over HTTP by a mapping of TYPE HttpPoll."
        )
    streaming, store = _is_watched(mapping), store_in(mapping)
    return sources.files(path, format_, _ddl(mapping), streaming, store, **_header(mapping, format_))


def _header(mapping: Mapping, format_: str) -> dict[str, str]:
    return {"header": mapping.options["header"]} if "header" in mapping.options and format_ == "csv" else {}


def _into_files(mapping: Mapping) -> Sink:
    parts = mapping.names("partitionBy")
    format_, path = mapping.option("format", "parquet"), mapping.options["path"]
    local_path(path, f"What is written into mapping '{mapping.name}' of TYPE File")
    return sinks.files(path, format_, parts, **_header(mapping, format_))


def _into_map(mapping: Mapping) -> Sink:
    order_by = [quoted(name) for name in mapping.names("orderBy")] if "orderBy" in mapping.options else None
    if is_single(mapping):
        return sinks.map(mapping.outside, key=KEY, value=quoted(VALUE), order_by=order_by)
    fields = [column for column in mapping.columns if column.name != KEY]
    parts = ", ".join(f"{quoted(column.name)} AS {quoted(column.outside)}" for column in fields)
    value = f"struct({parts})" if parts else f"struct({quoted(KEY)})"
    return sinks.map(mapping.outside, key=KEY, value=value, order_by=order_by)


def _is_watched(mapping: Mapping) -> bool:
    return truth(mapping.option("streaming", "false"))


def _span(text: str) -> int:
    return milliseconds(text, "time")


def _as_path(path: str, whole: Whole) -> str:
    return whole(path)


def _one_of(*names: str) -> Callable[[str], object]:
    return lambda text: names.index(text)


IMAP = Connector(
    "IMap",
    lambda mapping: sources.map_entries(mapping.outside),
    _into_map,
    _by_sink,
    lambda mapping: False,
    options={"keyFormat": str, "valueFormat": str, "orderBy": str},
)
CONNECTORS = (
    IMAP,
    Connector(
        "File",
        _files,
        _into_files,
        streams=_is_watched,
        options={
            "path": str,
            "format": _one_of("csv", "json", "parquet", "text"),
            "header": truth,
            "streaming": truth,
            "partitionBy": str,
            **STORE_OPTIONS,
        },
        needed=("path",),
        check=check_store,
        paths={"path": whole_pattern},
    ),
    Connector(
        "CsvTail",
        _csv_tail,
        options={"path": str, "glob": str, "separator": str, "multiline": truth},
        needed=("path",),
        paths={"path": _as_path},
    ),
    Connector(
        "HttpPoll",
        _http_poll,
        options={"url": str, "limit": int, "interval": _span, "timeout": _span, "sequence": str, "since": int},
        needed=("url",),
    ),
    Connector(
        "Kafka",
        topics.read_topic,
        topics.write_topic,
        topics.objection,
        options={
            "bootstrap.servers": str,
            "keyFormat": _one_of("varchar"),
            "valueFormat": _one_of("json", "json-flat", "csv", "varchar", "avro", "protobuf", "debezium-json"),
            "auto.offset.reset": _one_of("earliest", "latest"),
            "onLoss": _one_of("fail", "wait", "continue"),
            "group.id": str,
            **topics.DECODING_OPTIONS,
            **{name: read for name, (_, read) in topics.SECURITY.items()},
        },
        needed=("bootstrap.servers",),
        check=topics.check_topic,
        paths={"schemaFolder": _as_path, "descriptorFile": _as_path},
    ),
    Connector(
        "Postgres",
        database_tables.read_table,
        database_tables.write_table,
        database_tables.objection,
        options={
            **{"url": str, "key": str, "orderBy": str, "deleteWhen": str},
            **{"transactionColumn": str, "start": _one_of("earliest", "latest"), "interval": _span, "maxRows": int},
        },
        needed=("url",),
        check=database_tables.check_table,
        renames=True,
        paths={"url": whole_postgres_url},
    ),
    Connector(
        "Delta",
        delta_tables.read_table,
        delta_tables.write_table,
        streams=delta_tables.streams,
        options={
            "path": str,
            "streaming": truth,
            "start": lambda text: sources.delta("/", start=delta_tables.start_of(text)),
            "changes": truth,
            "onRewrite": _one_of("fail", "skip"),
            "onLoss": _one_of("fail", "continue"),
            "partitionBy": str,
            "schemaMode": _one_of("merge"),
            "targetFileSize": lambda text: sinks.delta("/", target_file_size=text),
            "compactEvery": int,
            **STORE_OPTIONS,
        },
        needed=("path",),
        check=delta_tables.check_table,
        renames=True,
        paths={"path": _as_path},
    ),
    Connector(
        "Iceberg",
        iceberg_tables.read_table,
        iceberg_tables.write_table,
        streams=delta_tables.streams,
        options={
            "streaming": truth,
            "start": lambda text: sources.delta("/", start=delta_tables.start_of(text)),
            "onRewrite": _one_of("fail", "skip"),
            "onLoss": _one_of("fail", "continue"),
            "interval": _span,
            "partitionBy": str,
            "schemaMode": _one_of("merge"),
            **iceberg_tables.CATALOG_OPTIONS,
        },
        needed=("catalog.type",),
        check=iceberg_tables.check_table,
        renames=True,
    ),
    Connector(
        "Rate",
        lambda mapping: sources.rate(int(mapping.option("rowsPerSecond", "10")), int(mapping.option("start", "0"))),
        columns=(Column("sequence", "bigint"), Column("time", "timestamp")),
        options={"rowsPerSecond": int, "start": int},
    ),
    Connector(
        "MapJournal",
        _journal,
        columns=(
            Column("sequence", "bigint"),
            Column("kind", "string"),
            Column("key", "string"),
            Column("old_value", "string"),
            Column("new_value", "string"),
            Column("time", "timestamp"),
            Column("lost", "bigint"),
        ),
        options={"map": str, "start": _one_of("oldest", "current")},
    ),
    Connector("Log", sink=lambda mapping: sinks.logger(mapping.options.get("template")), options={"template": str}),
    Connector("Noop", sink=lambda mapping: sinks.noop()),
)
_BY_NAME = {connector.name.lower(): connector for connector in CONNECTORS}
