"""The entries of a map as they are when it is read: a table, for batch jobs and for hash joins."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.maps.model import Entry
from pitstop.maps.ports import MapStore
from pitstop.spark.sources import python_source
from pitstop.spark.sources.map_access import MapAccess
from pitstop.spark.sources.map_journal import PAGE
from pitstop.spark.sources.shared import SourceOptions


class MapEntriesReader(DataSourceReader):
    """Rows: key, value, in the order of the keys. Each page is of one moment; entries that change meanwhile are old or new."""

    def __init__(self, options: SourceOptions) -> None:
        self._map = options.text("map")
        self._store = MapAccess.of(options)

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        after: str | None = None
        while True:
            found = self._store.patiently(partial(_page, self._map, after))
            if found:
                keys, values = [entry.key for entry in found], [entry.value for entry in found]
                columns = [pa.array(keys, pa.string()), pa.array(values, pa.string())]
                yield pa.RecordBatch.from_arrays(columns, names=["key", "value"])
            if len(found) < PAGE:
                return
            after = found[-1].key


def _page(name: str, after: str | None, store: MapStore) -> list[Entry]:
    return store.entries(name, after=after, limit=PAGE)


class MapEntriesSource(DataSource):
    """Options: map, store, storeFactory, and those of every source (shared.py)."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_map_entries"

    def schema(self) -> str:
        return "key string, value string"

    def reader(self, schema: StructType) -> DataSourceReader:
        return MapEntriesReader(SourceOptions("map_entries", self.options))


KIND = dataclasses.replace(
    python_source(MapEntriesSource, batch=True),
    check_stream=lambda source: (
        "holds the map's entries at the time of reading, and is not a stream: read the changes of the map by map_journal, or use "
        "it as the table of a hash_join"
    ),
)
