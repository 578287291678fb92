"""Iceberg tables as mappings: read as a stream, or once as a table, and written by jobs."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Mapping as AnyMapping
from dataclasses import replace
from typing import Any, cast

from pitstop.errors import UsageError
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.iceberg_tables import OF_CATALOG, partition_field
from pitstop.pipeline.sink import IcebergSink, Sink
from pitstop.pipeline.source import Source
from pitstop.sql.delta_tables import start_of, streams
from pitstop.sql.mappings import Mapping
from pitstop.sql.types import quoted

_COMMA = re.compile(r",(?![^(]*\))")
"""Matches commas between fields of partitions, not those within parentheses."""
_PROPERTIES = (
    *("name", "type", "uri", "warehouse", "token", "credential", "scope", "oauth2-server-uri"),
    *("s3.endpoint", "s3.region", "s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.force-virtual-addressing"),
    *("gcs.project-id", "gcs.oauth2.token", "adls.account-name", "adls.account-key", "adls.sas-token"),
)
"""The properties of a catalog that a mapping can give."""
CATALOG_OPTIONS: AnyMapping[str, Callable[[str], object]] = {f"{OF_CATALOG}{name}": str for name in _PROPERTIES}


def check_table(mapping: Mapping) -> None:
    """Raise UsageError unless a table can be read and written as the options say."""
    read_table(mapping)
    write_table(mapping)


def read_table(mapping: Mapping) -> Source:
    """Return the source of a table, whose columns are the mapping's."""
    return sources.iceberg(
        mapping.outside,
        ", ".join(f"{quoted(column.outside)} {column.type}" for column in mapping.columns),
        catalog=_catalog(mapping),
        start=start_of(mapping.option("start", "earliest")),
        on_rewrite=cast("Any", mapping.option("onRewrite", "fail")),
        on_loss=cast("Any", mapping.option("onLoss", "fail")),
        interval=mapping.option("interval", "1 second"),
        streaming=streams(mapping),
    )


def write_table(mapping: Mapping) -> Sink:
    """Return the sink of a table, whose rows have the columns' names outside."""
    outside = {column.name: column.outside for column in mapping.columns}
    mode, texts = mapping.options.get("schemaMode"), _COMMA.split(mapping.option("partitionBy", ""))
    fields = [partition_field(text) for text in texts if text.strip()]
    for field in fields:
        if field.column not in outside:
            raise UsageError(f"Option partitionBy names columns of the mapping, and it has no column {field.column}")
    renamed = tuple(replace(field, column=outside[field.column]) for field in fields)
    sink = sinks.iceberg(mapping.outside, catalog=_catalog(mapping), schema_mode=mode)
    assert isinstance(sink, IcebergSink)
    return replace(sink, partition_by=renamed)


def _catalog(mapping: Mapping) -> dict[str, str]:
    return {key.removeprefix(OF_CATALOG): value for key, value in mapping.options.items() if key.startswith(OF_CATALOG)}
