"""Anything that Spark itself reads, by the name of a format. Offset: that of the format's own reader."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from pyspark.errors import UnsupportedOperationException
from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import PipelineError
from pitstop.machine.named_secrets import errors_without_secrets
from pitstop.pipeline.source import Source
from pitstop.spark.base.failures import reason
from pitstop.spark.base.formats import provide_format
from pitstop.spark.internals.jvm import JavaError
from pitstop.spark.sources import SourceKind, as_spark_has_it


def _stream(spark: SparkSession, source: Source, facts: dict[str, str]) -> DataFrame:
    return _opened(spark, source, lambda: spark.readStream)


def _batch(spark: SparkSession, source: Source, facts: dict[str, str]) -> DataFrame:
    return _opened(spark, source, lambda: spark.read)


def _opened(spark: SparkSession, source: Source, reader: Callable[[], Any]) -> DataFrame:
    """Return the rows. ``reader`` gives Spark's reader for tables, or the one for streams: they have no type in common."""
    form = source.options["format"]
    options: dict[str, str] = json.loads(source.options["options"])
    with errors_without_secrets():
        opened = reader().format(form).options(**provide_format(spark, form, _jars(source), options))
        try:
            rows: DataFrame = (opened.schema(source.schema) if source.schema else opened).load()
        except UnsupportedOperationException as error:
            raise PipelineError(f"Spark cannot read '{form}' as a stream: read it once, with streaming=False.") from error
        except JavaError as error:
            raise PipelineError(f"Spark cannot read '{form}': {reason(error)}") from error
    return rows


def _jars(source: Source) -> list[str]:
    jars: list[str] = json.loads(source.options.get("jars", "[]"))
    return jars


def _check_stream(source: Source) -> str | None:
    return "ends, but the other sources do not: read it with streaming=True." if source.bounded else None


def _placed(source: Source, whole: Callable[[str], str]) -> Source:
    jars = _jars(source)
    return (
        dataclasses.replace(source, options=source.options | {"jars": json.dumps([whole(jar) for jar in jars])})
        if jars
        else source
    )


KIND = SourceKind(_stream, _batch, check_stream=_check_stream, placed=_placed, secrets=True, adopt=as_spark_has_it)
