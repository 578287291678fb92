"""Delta tables as mappings: read as a stream, or once as a table, and written by jobs."""

from __future__ import annotations

from typing import Any, cast

from pitstop.errors import UsageError
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source
from pitstop.sql.mappings import Column, Mapping, truth
from pitstop.sql.stores import store_in
from pitstop.sql.types import quoted

_FEED = {"_change_type": "string", "_commit_version": "bigint", "_commit_timestamp": "timestamp"}
"""Column of a change data feed -> its type."""


def check_table(mapping: Mapping) -> None:
    """Raise UsageError unless a table can be read and written as the options say."""
    read_table(mapping)
    write_table(mapping)


def read_table(mapping: Mapping) -> Source:
    """Return the source of a table, whose columns are the mapping's, or those that a change data feed has beside them."""
    changes = truth(mapping.option("changes", "false"))
    columns = [column for column in mapping.columns if not (changes and _is_of_feed(column))]
    if not columns:
        raise UsageError("A mapping of TYPE Delta needs a column of its table")
    return sources.delta(
        mapping.options["path"],
        ", ".join(f"{quoted(column.outside)} {column.type}" for column in columns),
        start=start_of(mapping.option("start", "earliest")),
        changes=changes,
        on_rewrite=cast("Any", mapping.option("onRewrite", "fail")),
        on_loss=cast("Any", mapping.option("onLoss", "fail")),
        streaming=streams(mapping),
        store=store_in(mapping),
    )


def write_table(mapping: Mapping) -> Sink:
    """Return the sink of a table, whose rows have the columns' names outside."""
    outside = {column.name: column.outside for column in mapping.columns}
    for name in mapping.names("partitionBy"):
        if name not in outside:
            raise UsageError(f"Option partitionBy names columns of the mapping, and it has no column {name}")
    partition_by = [outside[name] for name in mapping.names("partitionBy")]
    compaction: dict[str, Any] = {"target_file_size": mapping.options.get("targetFileSize")}
    if "compactEvery" in mapping.options:
        compaction["compact_every"] = int(mapping.options["compactEvery"])
    mode, store = mapping.options.get("schemaMode"), store_in(mapping)
    return sinks.delta(mapping.options["path"], partition_by=partition_by, schema_mode=mode, store=store, **compaction)


def start_of(text: str) -> str | int:
    """Return where a table is read from: a word, a version, or a time as a text."""
    return int(text) if text.isascii() and text.isdecimal() else text


def streams(mapping: Mapping) -> bool:
    """Return True unless the table is read once."""
    return truth(mapping.option("streaming", "true"))


def _is_of_feed(column: Column) -> bool:
    if column.outside not in _FEED:
        return False
    if column.type != _FEED[column.outside]:
        raise UsageError(f"Column {column.outside} of a change data feed is {_FEED[column.outside]}, not {column.type}")
    return True
