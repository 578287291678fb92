"""Sources as DataFrames: streaming readers, static readers, and the parsing of text."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType, _parse_datatype_string

from pitstop.pipeline.nodes import Node
from pitstop.pipeline.sources import Source
from pitstop.spark.sources import open_batch, open_stream

CORRUPT = "__corrupt"
PARSED = "__row"
TEXT = "value"


@dataclass(frozen=True)
class SourceSettings:
    """What every reader of a job is told beside its own options."""

    job: str = "job"
    store_url: str | None = None
    store_factory: str | None = None
    """``module:function`` that opens the MapStore from ``store_url`` in a worker process."""
    admission: str | None = None
    """File that tells sources their share, see spark.admission."""
    agreements: str | None = None
    """Folder in which several readers of one source agree on where each epoch ends."""
    extra: dict[str, str] = field(default_factory=dict)

    @classmethod
    def working_in(cls, folder: Path, job: str, store_url: str | None, store_factory: str | None) -> SourceSettings:
        """Of a job whose readers keep their files in this folder."""
        return cls(job, store_url, store_factory, str(folder / "admission.json"), str(folder / "agreements"))

    def options(self, stage: str) -> dict[str, str]:
        pairs = {
            "job": self.job,
            "stage": stage,
            "store": self.store_url,
            "storeFactory": self.store_factory,
            "admission": self.admission,
            "agreements": self.agreements,
        }
        return {key: value for key, value in pairs.items() if value is not None} | self.extra


def read_stream(spark: SparkSession, node: Node, settings: SourceSettings) -> DataFrame:
    """The source as a streaming DataFrame, before parsing."""
    return open_stream(spark, node, settings.options(node.name))


def read_static(spark: SparkSession, node: Node, settings: SourceSettings) -> DataFrame:
    """All that the source holds now, before parsing."""
    return open_batch(spark, node, settings.options(node.name))


def with_parsed(frame: DataFrame, source: Source) -> DataFrame:
    """Add ``__row``: the parsed struct, whose ``__corrupt`` is the text if it did not parse."""
    schema = row_schema(source).add(StructField(CORRUPT, StringType()))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT} | source.parse_options
    parsed = F.from_csv(TEXT, _ddl(schema), options) if source.parse == "csv" else F.from_json(TEXT, schema, options)
    return frame.withColumn(PARSED, parsed)


def row_schema(source: Source) -> StructType:
    """The struct type of a source's DDL schema. ValueError if that names no columns."""
    schema = row_schema_of(source.schema or "")
    if not isinstance(schema, StructType):
        raise ValueError(f"its schema {source.schema!r} names no columns")
    return StructType(list(schema.fields))


def row_schema_of(kind: str) -> DataType:
    """A Spark type from its text (``bigint``, ``struct<a:int>``)."""
    return _parse_datatype_string(kind)


def _ddl(schema: StructType) -> str:
    return ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in schema.fields)


def good_rows(frame: DataFrame) -> DataFrame:
    """The rows that parsed."""
    return frame.where(F.col(f"{PARSED}.{CORRUPT}").isNull()).select(f"{PARSED}.*").drop(CORRUPT)


def dead_letters(frame: DataFrame, stage: str) -> DataFrame:
    """The rows that did not: ``stage string, text string, time timestamp``."""
    bad = frame.where(F.col(f"{PARSED}.{CORRUPT}").isNotNull())
    return bad.select(F.lit(stage).alias("stage"), F.col(TEXT).alias("text"), F.current_timestamp().alias("time"))


def counted(frame: DataFrame, node: Node, observed: dict[str, Any]) -> DataFrame:
    """Observe how many rows a text source gave, how many did not parse, and one of these."""
    bad = F.col(f"{PARSED}.{CORRUPT}").isNotNull()
    name = f"source:{node.name}"
    observed[name] = node.name
    return frame.observe(
        name,
        F.count(F.lit(1)).alias("rows"),
        F.count_if(bad).alias("bad"),
        F.first(F.when(bad, F.col(TEXT)), ignorenulls=True).alias("sample"),
    )
