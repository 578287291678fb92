"""A user-defined data source, whose class comes with the pipeline."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from pitstop.pipeline.source import Source
from pitstop.spark.internals.archived_code import code_sent_along
from pitstop.spark.sources import SourceKind, as_spark_has_it


def _stream(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
    with code_sent_along(source.reader):
        spark.dataSource.register(source.reader)
    reader = spark.readStream.format(source.reader.name()).options(**source.options)
    return (reader.schema(source.schema) if source.schema else reader).load()


def _has_limit(source: Source) -> bool:
    return getattr(source.reader, "has_limit", False) is True


KIND = SourceKind(_stream, has_limit=_has_limit, secrets=True, adopt=as_spark_has_it)
