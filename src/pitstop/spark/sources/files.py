"""Files of a folder, by Spark's own reader."""

from __future__ import annotations

import os
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession

from pitstop.pipeline.sources import Source
from pitstop.spark.sources import SourceKind

_WILD = set("*?[{")
LIMITS = ("maxfilespertrigger", "maxbytespertrigger")
"""Options of Spark's reader, in lower case: what an epoch reads at most."""


def _stream(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
    path, form, options = _parts(source)
    reader = spark.readStream.format(form).options(**options)
    return (reader.schema(source.schema) if source.schema else reader).load(path)


def _batch(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
    path, form, options = _parts(source)
    reader = spark.read.format(form).options(**options)
    return (reader.schema(source.schema) if source.schema else reader).load(path)


def _parts(source: Source) -> tuple[str, str, dict[str, str]]:
    """Folder, format, and what Spark's reader is told."""
    options = dict(source.options)
    return options.pop("path"), options.pop("format"), options


def folder_url(source: Source) -> str:
    """The folder below which all that the source reads is, as Spark names it: ``file:///data/``."""
    path = str(dict(source.options)["path"])
    scheme, found, rest = path.partition("://") if "://" in path else ("file", "://", os.path.abspath(path))
    parts = rest.split("/")
    plain = next((place for place, part in enumerate(parts) if set(part) & _WILD), len(parts))
    return quote(f"{scheme}{found}{'/'.join(parts[:plain]).rstrip('/')}/", safe=":/")


def _check_stream(source: Source) -> str | None:
    return "ends, and others do not: read its folder with streaming=True." if source.bounded else None


def _has_limit(source: Source) -> bool:
    return any(name.casefold() in LIMITS for name in source.options)


KIND = SourceKind(_stream, _batch, check_stream=_check_stream, has_limit=_has_limit, folder=folder_url)
