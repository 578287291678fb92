"""Sources as DataFrames: streaming readers, static readers, and the parsing of text."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pitstop.errors import UsageError
from pitstop.model.left_out import LeftOut
from pitstop.pipeline.kafka_values import DECODED_FORMATS
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.object_stores import STORE
from pitstop.pipeline.source import Source
from pitstop.spark.base.columns import struct_of
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.naming import OBSERVED, PARSED, REASON, TOMBSTONE, quoted
from pitstop.spark.base.text_formats import CORRUPT, PLACE, lenient_options, reading_options
from pitstop.spark.lowering.event_time import Observe
from pitstop.spark.lowering.reasons import reason, with_fields
from pitstop.spark.sources import open_batch, open_stream

TEXT = "value"
_PLACES = {"csv_tail": ("file", "position"), "kafka": ("__topic", "__partition", "__offset")}
"""Kind of source -> the columns that say where a text comes from."""
_MOST = 500
"""The most characters of an error, because each row carries it."""


def read_stream(spark: SparkSession, node: Node, settings: SourceSettings) -> DataFrame:
    """Return the source as a streaming DataFrame, before parsing."""
    return open_stream(spark, node, settings.options(node.name))


def read_static(spark: SparkSession, node: Node, settings: SourceSettings) -> DataFrame:
    """Return all that the source holds now, before parsing."""
    return open_batch(spark, node, settings.options(node.name))


def can_be_bad(source: Source) -> bool:
    """True if its rows are parsed, by its reader or here."""
    return source.parse is not None or source.tells_bad


def with_parsed(frame: DataFrame, source: Source) -> DataFrame:
    """Add ``__row``, unless the reader has parsed: the parsed struct, whose ``__corrupt`` is the text if it did not parse."""
    if source.parse is None:
        return frame
    columns = struct_of(source.schema or "")
    for name in source.metadata:
        if name.casefold() in (field.casefold() for field in columns.names):
            raise UsageError(f"There would be a column '{name}' twice: give it another name in with_metadata, by a mapping.")
    schema = StructType([*columns.fields, StructField(CORRUPT, StringType())])
    if source.parse in DECODED_FORMATS:
        return frame
    own = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    if source.parse == "json":
        return frame.withColumn(PARSED, F.from_json(TEXT, schema, own | source.parse_options))
    frame = frame.withColumn(PARSED, F.from_csv(TEXT, _ddl(schema), own | reading_options("csv", columns, source.parse_options)))
    lenient = lenient_options("csv", columns, source.parse_options)
    if lenient is None:
        return frame
    again = F.from_csv(TEXT, _ddl(schema), own | lenient)
    return frame.withColumn(PARSED, F.when(F.col(f"{PARSED}.{CORRUPT}").isNull(), F.col(PARSED)).otherwise(again))


def _ddl(schema: StructType) -> str:
    return ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in schema.fields)


def good_rows(frame: DataFrame, source: Source) -> DataFrame:
    """Return the rows that parsed."""
    good = frame.where(~_is_bad(frame, source))
    if TOMBSTONE in frame.columns:
        good = good.where(~F.col(TOMBSTONE))
    if source.tells_bad:
        return good.drop(CORRUPT, PLACE)
    columns = [name for name in struct_of(source.schema or "").names if name != CORRUPT]
    return good.select(*(F.col(f"{PARSED}.{quoted(name)}") for name in columns), *map(quoted, source.metadata))


def dead_letters(frame: DataFrame, stage: str, source: Source) -> DataFrame:
    """Return the rows that did not parse: ``stage string, text string, time timestamp, error string, place string``."""
    bad, error = _with_error(frame.where(_is_bad(frame, source)), source)
    return bad.select(
        F.lit(stage).alias("stage"),
        _text(source).alias("text"),
        F.current_timestamp().alias("time"),
        error.alias("error"),
        _place(source).alias("place"),
    )


def counted(frame: DataFrame, node: Node, observe: Observe) -> DataFrame:
    """Observe the number of rows that a source gave, the number that did not parse, and one of these."""
    source = node.source
    bad = _is_bad(frame, source)
    tombstones = [F.count_if(TOMBSTONE).alias(LeftOut.TOMBSTONE.value)] if TOMBSTONE in frame.columns else []
    return observe(
        frame,
        f"{OBSERVED}{node.name}",
        F.count(F.lit(1)).alias("rows"),
        F.count_if(bad).alias("bad"),
        F.first(F.when(bad, _text(source)), ignorenulls=True).alias("sample"),
        *tombstones,
    )


def _is_bad(frame: DataFrame, source: Source) -> Column:
    """Return a column that is true if a row did not parse.

    It needs every column where the reader parses: Spark's readers parse, and check, no column that nobody asks for.
    """
    if source.parse in DECODED_FORMATS:
        return F.col(REASON).isNotNull()
    if not source.tells_bad:
        unparsed = F.col(PARSED).isNull() | F.col(f"{PARSED}.{CORRUPT}").isNotNull()
        return F.col(REASON).isNotNull() | unparsed if REASON in frame.columns else unparsed
    columns = [F.col(quoted(name)) for name in frame.columns if name not in (CORRUPT, PLACE)]
    return F.when(F.col(CORRUPT).isNull(), F.lit(False)).otherwise(F.struct(*columns).cast("string") != F.lit(""))


def _text(source: Source) -> Column:
    return F.col(CORRUPT if source.tells_bad else TEXT)


def _place(source: Source) -> Column:
    if source.tells_bad:
        return F.col(PLACE)
    columns = _PLACES.get(source.kind)
    return F.concat_ws(":", *columns) if columns is not None else F.lit(None).cast("string")


def _with_error(bad: DataFrame, source: Source) -> tuple[DataFrame, Column]:
    """Return the bad rows, with columns that the reason is computed from, and the reason."""
    form, otherwise = _form(source), _form_error(source)
    error = F.lit(otherwise)
    if form in ("csv", "json"):
        text = CORRUPT if source.tells_bad else TEXT
        columns, options = _columns(bad, source), _parser_options(source)
        bad = with_fields(bad, form, text, columns, options)
        error = reason(form, text, columns, options, otherwise)
    return bad, F.coalesce(F.col(REASON), error) if REASON in bad.columns else error


def _form(source: Source) -> str:
    return source.parse or source.options["format"]


def _columns(frame: DataFrame, source: Source) -> StructType:
    if source.tells_bad:
        return StructType([field for field in frame.schema.fields if field.name not in (CORRUPT, PLACE)])
    return struct_of(source.schema or "")


def _parser_options(source: Source) -> dict[str, str]:
    options = source.options if source.tells_bad else source.parse_options
    return {name: value for name, value in options.items() if name not in ("path", "format", STORE)}


def _form_error(source: Source) -> str:
    form = _form(source)
    sentence = (
        f"This is no {form} of the columns {source.schema}." if source.schema else f"This is no {form} like the other rows."
    )
    return sentence if len(sentence) <= _MOST else f"{sentence[:_MOST]}…"
