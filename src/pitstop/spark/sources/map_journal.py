"""The event journal of a map. Offset: ``{"incarnation": id, "sequence": n}``, the last event seen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.errors import StoreError, UsageError
from pitstop.kit.counts import counted
from pitstop.maps.model import JournalBounds, JournalEvent, JournalSlice
from pitstop.maps.ports import MapStore
from pitstop.pipeline.source import Source
from pitstop.plan.places import map_place
from pitstop.spark.internals.prefetching import prefetching
from pitstop.spark.sources import python_source
from pitstop.spark.sources.batch import EverythingReader
from pitstop.spark.sources.map_access import MapAccess
from pitstop.spark.sources.shared import SMALL_ROWS, Behind, Offset, SourceOptions

PAGE = 20_000
UNDECIDED: Offset = {"incarnation": "", "sequence": -1}
"""The offset before the first look at the map, which decides where the stream begins, once for all readers of the stage."""
WAITING: Offset = {"incarnation": "", "sequence": 0}
"""The offset if there was no such map at the first look: all events of one that appears later are read."""


class Events(InputPartition):
    """Events ``after + 1 .. last`` of one incarnation."""

    def __init__(self, incarnation: str, after: int, last: int) -> None:
        self.incarnation, self.after, self.last = incarnation, after, last


class MapJournalReader(DataSourceStreamReader):
    """Rows: sequence, kind, key, old_value, new_value, time, lost."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._log = options.log
        self._map = options.text("map")
        self._start = options.text("start", "oldest")
        if self._start not in ("oldest", "current"):
            raise UsageError(f"Source '{options.stage}': option start is '{self._start}'; it must be oldest or current.")
        self._max_events = options.number("maxEvents", 100_000)
        self._store = MapAccess.of(options)

    def initialOffset(self) -> Offset:
        return self._options.start_offset(dict(UNDECIDED))

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start, self._options.limited(self._max_events)))

    def everything(self, start: Offset) -> Offset:
        """Return the offset after all events that are there now."""
        bounds = self._bounds()
        return dict(WAITING) if bounds is None else {"incarnation": bounds.incarnation, "sequence": bounds.newest}

    def _bounds(self) -> JournalBounds | None:
        return self._store.patiently(lambda store: store.bounds(self._map))

    def _advance(self, start: Offset, most: int) -> Offset:
        try:
            bounds = self._store.now(lambda store: store.bounds(self._map))
        except StoreError:
            return start  # nothing new for now: other sources of the query are not to wait
        if bounds is None:
            return dict(WAITING) if start == UNDECIDED else start
        if start == UNDECIDED and self._start == "current":
            return {"incarnation": bounds.incarnation, "sequence": bounds.newest}
        after = self._after(start, bounds.incarnation, bounds.oldest)
        # From the oldest on, so that events which were lost are followed by one that says so.
        end = min(bounds.newest, max(after, bounds.oldest - 1) + most)
        self._options.behind = Behind(bounds.newest - end, "events")
        return {"incarnation": bounds.incarnation, "sequence": end}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        incarnation, last = str(end["incarnation"]), int(end["sequence"])
        if start == end or not incarnation or (start == UNDECIDED and self._start == "current"):
            return [Events("", 0, 0)]
        if start["incarnation"] and start["incarnation"] != incarnation:
            self._log.warning(
                f"Map '{self._map}' was made anew: what its old journal still had after sequence {start['sequence']} cannot be "
                "read; its new journal is read from the oldest event."
            )
        bounds = self._bounds()
        oldest = bounds.oldest if bounds is not None and bounds.incarnation == incarnation else 1
        return [Events(incarnation, self._after(start, incarnation, oldest), last)]

    def _after(self, start: Offset, incarnation: str, oldest: int) -> int:
        """Return the last event that need not be read. A stream that begins now has no claim on what was dropped before."""
        if start == UNDECIDED:
            return oldest - 1
        return int(start["sequence"]) if start["incarnation"] == incarnation else 0

    def is_small(self, partition: InputPartition) -> bool:
        assert isinstance(partition, Events)
        return partition.last - partition.after <= SMALL_ROWS

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Events)
        after = partition.after
        while after < partition.last:
            found = self._store.patiently(partial(_page, self._map, after, partition.last))
            same = found.bounds.incarnation == partition.incarnation
            events = [event for event in found.events if event.sequence <= partition.last] if same else []
            lost = (events[0].sequence if events else partition.last + 1) - after - 1
            if lost:
                dropped = counted(lost, "event")
                self._log.warning(
                    f"lost events: {dropped} of the journal of map '{self._map}' after sequence {after}, dropped before "
                    "anybody read them; give the journal a larger capacity."
                )
            if not events:
                return
            after = events[-1].sequence
            yield _batch(events, lost)


def _page(name: str, after: int, last: int, store: MapStore) -> JournalSlice:
    return store.journal(name, after, min(PAGE, last - after))


def _batch(events: list[JournalEvent], lost: int) -> pa.RecordBatch:
    columns = [
        pa.array([e.sequence for e in events], pa.int64()),
        pa.array([e.kind.value for e in events], pa.string()),
        pa.array([e.key for e in events], pa.string()),
        pa.array([e.old_value for e in events], pa.string()),
        pa.array([e.new_value for e in events], pa.string()),
        pa.array([round(e.at * 1_000_000) for e in events], pa.timestamp("us", "UTC")),
        pa.array([lost] + [0] * (len(events) - 1), pa.int64()),
    ]
    names = ["sequence", "kind", "key", "old_value", "new_value", "time", "lost"]
    return pa.RecordBatch.from_arrays(columns, names=names)


class MapJournalSource(DataSource):
    """Options: map, start, maxEvents, store, storeFactory, and those of every source (shared.py)."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_map_journal"

    def schema(self) -> str:
        return "sequence bigint, kind string, key string, old_value string, new_value string, time timestamp, lost bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return prefetching(MapJournalReader(SourceOptions("map_journal", self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        return EverythingReader(MapJournalReader(SourceOptions("map_journal", self.options)))


def _reads(source: Source, example: str) -> bool:
    return example == map_place(source.options["map"])


KIND = python_source(MapJournalSource, batch=True, gated=True, has_limit=True, lost="lost", reads=_reads)
