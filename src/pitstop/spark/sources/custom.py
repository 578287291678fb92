"""A user's own data source, whose class comes with the pipeline."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zipimport import zipimporter

import pyspark.cloudpickle
from pyspark.sql import DataFrame, SparkSession

from pitstop.pipeline.sources import Source
from pitstop.spark.sources import SourceKind


def _stream(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
    with _code_sent_along(source.reader):
        spark.dataSource.register(source.reader)
    reader = spark.readStream.format(source.reader.name()).options(**source.options)
    return (reader.schema(source.schema) if source.schema else reader).load()


@contextmanager
def _code_sent_along(reader: type) -> Iterator[None]:
    """Within it, a class of an archive is pickled with the code of its package.

    Spark's process that plans streaming reads knows the ``.py`` files of a session, but none of its archives.
    """
    package = sys.modules.get(reader.__module__.partition(".")[0])
    if package is None or not isinstance(package.__loader__, zipimporter):
        yield
        return
    pickler: Any = pyspark.cloudpickle
    pickler.register_pickle_by_value(package)
    try:
        yield
    finally:
        pickler.unregister_pickle_by_value(package)


KIND = SourceKind(_stream)
