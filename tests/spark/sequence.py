"""A deterministic, seekable source for tests, and the plain-Python computation over the same events.

Event n: key = n * 7919 mod keys, value = n mod 10, time = n milliseconds after the epoch + 1 hour.
"""

from collections import defaultdict
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

START_MS = 3_600_000
SCHEMA = "seq bigint, key bigint, v bigint, ts timestamp"


class Span(InputPartition):
    def __init__(self, start, end, keys):
        self.start, self.end, self.keys = start, end, keys


class SequenceReader(DataSourceStreamReader):
    def __init__(self, options):
        self.rows = int(options.get("rows", "100000"))
        self.step = int(options.get("step", "10000"))
        self.keys = int(options.get("keys", "100"))

    def initialOffset(self):
        return {"seq": 0}

    def latestOffset(self, start, limit):
        return {"seq": min(self.rows, start["seq"] + self.step)}

    def partitions(self, start, end):
        a, b = start["seq"], end["seq"]
        half = max(1, (b - a + 1) // 2)
        return [Span(x, min(b, x + half), self.keys) for x in range(a, b, half)] or [Span(a, a, self.keys)]

    def read(self, partition):
        if partition.end <= partition.start:
            return
        seq = np.arange(partition.start, partition.end, dtype="int64")
        columns = [
            pa.array(seq),
            pa.array((seq * 7919) % partition.keys),
            pa.array(seq % 10),
            pa.array((seq + START_MS) * 1000, pa.timestamp("us", "UTC")),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=["seq", "key", "v", "ts"])


class Sequence(DataSource):
    @classmethod
    def name(cls):
        return "test_sequence"

    def schema(self):
        return SCHEMA

    def streamReader(self, schema):
        return SequenceReader(self.options)


def events(rows, keys):
    """(seq, key, v, time in ms) of every event."""
    for n in range(rows):
        yield n, (n * 7919) % keys, n % 10, n + START_MS


def expected_windows(rows, keys, size_ms, slide_ms, until_ms, every=1):
    """{(key, window start ms, window end ms): (n, sum)} of all windows that end by ``until_ms``."""
    found = defaultdict(lambda: [0, 0])
    for n, key, v, ms in events(rows, keys):
        if n % every:
            continue
        last = ms - ms % slide_ms
        for start in range(last - size_ms + slide_ms, last + 1, slide_ms):
            if start + size_ms <= until_ms:
                entry = found[(key, start, start + size_ms)]
                entry[0] += 1
                entry[1] += v
    return {window: tuple(value) for window, value in found.items()}


def millis(moment: datetime) -> int:
    """Milliseconds since the epoch of a timestamp that Spark gave (naive means UTC)."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
