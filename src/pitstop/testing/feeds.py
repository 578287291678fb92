"""Sources as a test feeds them: the rows that it pushes take the place of those that a source's reader would bring.

What Pitstop does with the text that a reader brings, it does with pushed rows too: a row of a source of CSV or JSON becomes text,
which is parsed as usual, and a text that is pushed may be one that does not parse.
"""

from __future__ import annotations

import base64
import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from pitstop.errors import UsageError
from pitstop.pipeline.kafka_source import METADATA
from pitstop.pipeline.kafka_values import DECODED_FORMATS
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.source import Source
from pitstop.spark.base.columns import struct_of
from pitstop.spark.base.naming import PARSED, REASON, TOMBSTONE
from pitstop.spark.base.text_formats import CORRUPT, PLACE
from pitstop.spark.lowering.source import TEXT
from pitstop.spark.sources.pushed import KIND_NAME

ReadTexts = Callable[[Source, list[str]], list[dict[str, Any]]]
"""Reads texts as a source reads the lines of a file; returns rows by column, with CORRUPT for what does not parse."""
_NOT_READ = "This text was pushed as one that cannot be read."


@dataclass(frozen=True)
class Feed:
    """A source that a test pushes rows into."""

    name: str
    """The name of its rows in the folder of pushed rows; that of the source when the test first met it."""
    source: Source
    """The source as it is written in the job."""
    columns: StructType
    """The columns of a row that is pushed."""
    raw: StructType
    """The columns that the reader brings."""

    @classmethod
    def of(cls, name: str, node: Node, schema: StructType | None) -> Feed:
        """Return the feed of a source; ``schema`` is what its reader says of itself, needed where the job does not say it."""
        source = node.source
        own = struct_of(source.schema) if source.schema else schema
        if own is None:
            raise UsageError(f"Source '{node.name}' ({node.location}) does not tell its columns: give it a schema.")
        beside = [StructField(column, _metadata_type(source, column)) for column in source.metadata]
        columns = StructType([*[field for field in own.fields if field.name not in (CORRUPT, PLACE)], *beside])
        text = [StructField(TEXT, StringType())]
        if source.parse in DECODED_FORMATS:
            judged = [StructField(PARSED, own), StructField(REASON, StringType())]
            tombstone = [StructField(TOMBSTONE, BooleanType())] if source.parse == "debezium" else []
            return cls(name, source, columns, StructType([*text, *judged, *tombstone, *beside]))
        if source.parse is not None:
            return cls(name, source, columns, StructType([*text, *beside]))
        if source.tells_bad:
            marks = [StructField(CORRUPT, StringType()), StructField(PLACE, StringType())]
            return cls(name, source, columns, StructType([*columns.fields, *marks]))
        return cls(name, source, columns, columns)

    def fed_from(self, folder: str) -> Source:
        """Return the source that reads the pushed rows."""
        options = {"folder": folder, "feed": self.name, "format": self.source.options.get("format", "")}
        return dataclasses.replace(self.source, kind=KIND_NAME, options=options, reader=self.raw.json(), bounded=False)

    def rows(self, pushed: Iterable[Any], read: ReadTexts) -> list[list[Any]]:
        """Return rows as the reader would bring them: those of texts that ``read`` has read come last.

        UsageError names a row that does not fit.
        """
        if isinstance(pushed, (str, bytes, Mapping)):
            raise UsageError(f"push('{self.name}', ...) takes a list of rows, not one row: put it into [ ].")
        rows = list(pushed)
        texts = [row for row in rows if isinstance(row, str)] if self.source.tells_bad else []
        brought = [self._raw(row) for row in rows if not (self.source.tells_bad and isinstance(row, str))]
        names = [name for name in self.raw.fieldNames() if name != PLACE]
        return [*brought, *([*(row[name] for name in names), None] for row in (read(self.source, texts) if texts else ()))]

    def _raw(self, row: Any) -> list[Any]:
        if isinstance(row, str):
            return self._text(row)
        values = self._values(row)
        beside = values[len(values) - len(self.source.metadata) :] if self.source.metadata else []
        own = values[: len(values) - len(beside)]
        names = self.columns.fieldNames()[: len(own)]
        if self.source.parse in DECODED_FORMATS:
            tombstone = [False] if self.source.parse == "debezium" else []
            return [None, dict(zip(names, own, strict=True)), None, *tombstone, *beside]
        if self.source.parse == "json":
            return [json.dumps(dict(zip(names, own, strict=True)), default=_as_text, ensure_ascii=False), *beside]
        if self.source.parse == "csv":
            return [_csv_line(own, self.source.parse_options.get("sep", ",")), *beside]
        return [*values, None, None] if self.source.tells_bad else values

    def _text(self, text: str) -> list[Any]:
        beside = [None] * len(self.source.metadata)
        if self.source.parse in DECODED_FORMATS:
            tombstone = [False] if self.source.parse == "debezium" else []
            return [text, None, _NOT_READ, *tombstone, *beside]
        if self.source.parse is not None:
            return [text, *beside]
        raise UsageError(f"Source '{self.name}' has no rows of text: push rows of its columns ({self._names}), not {text!r}.")

    def _values(self, row: Any) -> list[Any]:
        names = self.columns.fieldNames()
        if isinstance(row, Row) and hasattr(row, "__fields__"):
            row = row.asDict(recursive=True)
        elif dataclasses.is_dataclass(row) and not isinstance(row, type):
            row = dataclasses.asdict(row)
        if isinstance(row, Mapping):
            if unknown := sorted(row.keys() - set(names), key=str):
                raise UsageError(f"Source '{self.name}' has no column '{unknown[0]}'. It has: {self._names}.")
            return [row.get(name) for name in names]
        if isinstance(row, Sequence) and not isinstance(row, bytes) and len(row) == len(names):
            return list(row)
        raise UsageError(f"A row of source '{self.name}' is {row!r}: give a dict, or a value for each of {self._names}.")

    @property
    def _names(self) -> str:
        return ", ".join(self.columns.fieldNames())


def _metadata_type(source: Source, column: str) -> Any:
    facts = {column_name: fact for fact, column_name in json.loads(source.options.get("metadata", "{}")).items()}
    return struct_of(f"c {METADATA[facts[column]]}")["c"].dataType if column in facts else StringType()


def _csv_line(values: Sequence[Any], separator: str) -> str:
    return separator.join(_csv_field(value, separator) for value in values)


def _csv_field(value: Any, separator: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        if value and not set(value) & {separator, '"', "\n", "\r"} and value == value.strip():
            return value
        line = io.StringIO()
        csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow([value])
        return line.getvalue()
    return str(value).lower() if isinstance(value, bool) else str(_as_text(value)) if isinstance(value, date) else str(value)


def _as_text(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.isoformat() + "Z"
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, date) else str(value)
