"""The same events for every measurement: (key, v, ts), one a millisecond of event time, by Arrow; or in parquet files."""

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

SCHEMA = "key bigint, v bigint, ts timestamp"


class Span(InputPartition):
    def __init__(self, start, end, keys):
        self.start, self.end, self.keys = start, end, keys


class EventsReader(DataSourceStreamReader):
    def __init__(self, options):
        self.rows, self.step = int(options["rows"]), int(options["step"])
        self.keys = int(options["keys"])

    def initialOffset(self):
        return {"n": 0}

    def latestOffset(self, start, limit):
        return {"n": min(self.rows, start["n"] + self.step)}

    def partitions(self, start, end):
        middle = (start["n"] + end["n"]) // 2
        return [Span(start["n"], middle, self.keys), Span(middle, end["n"], self.keys)]

    def read(self, partition):
        n = np.arange(partition.start, partition.end, dtype="int64")
        for part in np.array_split(n, max(1, len(n) // 100_000)):
            times = pa.array((part + 3_600_000) * 1000, pa.timestamp("us", "UTC"))
            columns = [pa.array((part * 7919) % partition.keys), pa.array(part % 10), times]
            yield pa.RecordBatch.from_arrays(columns, names=["key", "v", "ts"])


class Events(DataSource):
    has_limit = True

    @classmethod
    def name(cls):
        return "benchmark_events"

    def schema(self):
        return SCHEMA

    def streamReader(self, schema):
        return EventsReader(self.options)


FILES: dict[str, Any] = {"maxFilesPerTrigger": 1}
"""Options of Spark's file source: an epoch a file."""


def write_files(folder, rows, step, keys):
    """The events as files of ``step`` rows, in the order of their times; nothing if the folder is there."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    for number in range(rows // step):
        write_file(folder, number, step, keys)


def write_file(folder, number, step, keys):
    """The ``number``-th file of ``step`` rows; it appears whole."""
    reader = EventsReader({"rows": 0, "step": step, "keys": keys})
    path, begun = folder / f"{number:05}.parquet", folder / f".{number}"
    pq.write_table(pa.Table.from_batches(reader.read(Span(number * step, (number + 1) * step, keys))), begun)
    os.utime(begun, (1_700_000_000 + number,) * 2)
    begun.rename(path)
