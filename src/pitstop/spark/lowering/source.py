"""Sources as DataFrames: streaming readers, static readers, and the parsing of text."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.sources import Source
from pitstop.spark.base.columns import struct_of
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.naming import OBSERVED, quoted
from pitstop.spark.sources import open_batch, open_stream

CORRUPT = "__corrupt"
PARSED = "__row"
TEXT = "value"


def read_stream(spark: SparkSession, node: Node, settings: SourceSettings) -> DataFrame:
    """The source as a streaming DataFrame, before parsing."""
    return open_stream(spark, node, settings.options(node.name))


def read_static(spark: SparkSession, node: Node, settings: SourceSettings) -> DataFrame:
    """All that the source holds now, before parsing."""
    return open_batch(spark, node, settings.options(node.name))


def with_parsed(frame: DataFrame, source: Source) -> DataFrame:
    """Add ``__row``: the parsed struct, whose ``__corrupt`` is the text if it did not parse."""
    schema = struct_of(source.schema or "").add(StructField(CORRUPT, StringType()))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT} | source.parse_options
    parsed = F.from_csv(TEXT, _ddl(schema), options) if source.parse == "csv" else F.from_json(TEXT, schema, options)
    return frame.withColumn(PARSED, parsed)


def _ddl(schema: StructType) -> str:
    return ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in schema.fields)


def good_rows(frame: DataFrame) -> DataFrame:
    """The rows that parsed."""
    return frame.where(F.col(f"{PARSED}.{CORRUPT}").isNull()).select(f"{PARSED}.*").drop(CORRUPT)


def dead_letters(frame: DataFrame, stage: str) -> DataFrame:
    """The rows that did not: ``stage string, text string, time timestamp``."""
    bad = frame.where(F.col(f"{PARSED}.{CORRUPT}").isNotNull())
    return bad.select(F.lit(stage).alias("stage"), F.col(TEXT).alias("text"), F.current_timestamp().alias("time"))


def counted(frame: DataFrame, node: Node) -> DataFrame:
    """Observe how many rows a text source gave, how many did not parse, and one of these."""
    bad = F.col(f"{PARSED}.{CORRUPT}").isNotNull()
    return frame.observe(
        f"{OBSERVED}{node.name}",
        F.count(F.lit(1)).alias("rows"),
        F.count_if(bad).alias("bad"),
        F.first(F.when(bad, F.col(TEXT)), ignorenulls=True).alias("sample"),
    )
