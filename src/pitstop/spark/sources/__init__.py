"""Our data sources: explicit, seekable offsets; the same two offsets always give the same rows."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from pitstop.spark.sources.csv_tail import CsvTailSource
from pitstop.spark.sources.generated import ItemsSource, RateSource
from pitstop.spark.sources.hold import HoldSource
from pitstop.spark.sources.http_poll import HttpPollSource
from pitstop.spark.sources.map_journal import MapJournalSource

DATA_SOURCES: tuple[type[DataSource], ...] = (
    CsvTailSource,
    HttpPollSource,
    MapJournalSource,
    ItemsSource,
    RateSource,
    HoldSource,
)


def register(spark: SparkSession) -> None:
    """Make our sources known to a session."""
    for source in DATA_SOURCES:
        spark.dataSource.register(source)
