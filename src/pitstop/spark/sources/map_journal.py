"""The event journal of a map. Offset: ``{"incarnation": id, "sequence": n}``, the last event seen."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.maps.ports import MapStore
from pitstop.spark.sources.shared import Offset, SourceOptions

PAGE = 20_000
WAITING: Offset = {"incarnation": "", "sequence": 0}


class Events(InputPartition):
    def __init__(self, after: int, last: int, lost: int) -> None:
        self.after, self.last, self.lost = after, last, lost


class MapJournalReader(DataSourceStreamReader):
    """Rows: sequence, kind, key, old_value, new_value, time, lost."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._map = options.text("map")
        self._start = options.text("start", "oldest")
        self._max_events = options.number("maxEvents", 100_000)
        self._opened: MapStore | None = None

    def _store(self) -> MapStore:
        if self._opened is None:
            module, _, function = self._options.text("storeFactory").partition(":")
            self._opened = getattr(importlib.import_module(module), function)(self._options.text("store"))
        return self._opened

    def __getstate__(self) -> dict[str, Any]:
        # The reader travels to the workers; each opens the store anew.
        return self.__dict__ | {"_opened": None}

    def initialOffset(self) -> Offset:
        bounds = self._store().bounds(self._map)
        if bounds is None:
            return dict(WAITING)
        sequence = bounds.newest if self._start == "current" else bounds.oldest - 1
        return {"incarnation": bounds.incarnation, "sequence": sequence}

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        bounds = self._store().bounds(self._map)
        if bounds is None:
            return start
        after = self._after(start, bounds.incarnation, bounds.oldest)
        end = min(bounds.newest, max(after, bounds.oldest - 1) + self._options.limited(self._max_events))
        if end == after and start["incarnation"] == bounds.incarnation:
            return start
        return {"incarnation": bounds.incarnation, "sequence": end}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        if start == end:
            return [Events(0, 0, 0)]
        last = int(end["sequence"])
        bounds = self._store().bounds(self._map)
        oldest = bounds.oldest if bounds is not None else last + 1
        after = self._after(start, str(end["incarnation"]), oldest)
        lost = max(0, min(oldest - 1, last) - after)
        if lost:
            self._options.log.warning(
                f"lost events: {lost} events of the journal of map '{self._map}' after sequence {after} were dropped before "
                "they were read; give the journal a larger capacity."
            )
        return [Events(after, last, lost)]

    def _after(self, start: Offset, incarnation: str, oldest: int) -> int:
        if start["incarnation"] == incarnation:
            return int(start["sequence"])
        if start["incarnation"]:
            self._options.log.warning(f"Map '{self._map}' was made anew: reading its new journal from the oldest event.")
        return oldest - 1

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Events)
        after, lost = partition.after, partition.lost
        while after < partition.last:
            found = self._store().journal(self._map, after, min(PAGE, partition.last - after))
            events = [event for event in found.events if event.sequence <= partition.last]
            if not events:
                return
            after = events[-1].sequence
            columns = [
                pa.array([e.sequence for e in events], pa.int64()),
                pa.array([e.kind.value for e in events], pa.string()),
                pa.array([e.key for e in events], pa.string()),
                pa.array([e.old_value for e in events], pa.string()),
                pa.array([e.new_value for e in events], pa.string()),
                pa.array([int(e.at * 1_000_000) for e in events], pa.timestamp("us", "UTC")),
                pa.array([lost] + [0] * (len(events) - 1), pa.int64()),
            ]
            lost = 0
            names = ["sequence", "kind", "key", "old_value", "new_value", "time", "lost"]
            yield pa.RecordBatch.from_arrays(columns, names=names)


class MapJournalSource(DataSource):
    """Options: map, start, maxEvents, store, storeFactory."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_map_journal"

    def schema(self) -> str:
        return "sequence bigint, kind string, key string, old_value string, new_value string, time timestamp, lost bigint"

    def streamReader(self, schema: StructType) -> MapJournalReader:
        return MapJournalReader(SourceOptions("map_journal", self.options))
