"""A deterministic, seekable source for tests, and the plain-Python computation over the same events.

Event n: key = n * 7919 mod keys, value = n mod 10, time = n milliseconds after the epoch + 1 hour. With ``burst``, each
that many events are followed by a pause of ``pause`` milliseconds of event time.
"""

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

START_MS = 3_600_000
SCHEMA = "seq bigint, key bigint, v bigint, ts timestamp"


class Span(InputPartition):
    def __init__(self, start, end, options):
        self.start, self.end = start, end
        self.keys, self.burst, self.pause = options


class SequenceReader(DataSourceStreamReader):
    def __init__(self, options):
        self.rows = int(options.get("rows", "100000"))
        self.step = int(options.get("step", "10000"))
        self.first = int(options.get("first", "0"))
        self.options = tuple(int(options.get(name, default)) for name, default in (("keys", 100), ("burst", 0), ("pause", 0)))

    def initialOffset(self):
        return {"seq": self.first, "of": self.rows}

    def latestOffset(self, start, limit):
        return {"seq": max(start["seq"], min(self.rows, start["seq"] + self.step)), "of": self.rows}

    def partitions(self, start, end):
        a, b = start["seq"], end["seq"]
        half = max(1, (b - a + 1) // 2)
        return [Span(x, min(b, x + half), self.options) for x in range(a, b, half)] or [Span(a, a, self.options)]

    def read(self, partition):
        if partition.end <= partition.start:
            return
        seq = np.arange(partition.start, partition.end, dtype="int64")
        pauses = seq // partition.burst * partition.pause if partition.burst else 0
        columns = [
            pa.array(seq),
            pa.array((seq * 7919) % partition.keys),
            pa.array(seq % 10),
            pa.array((seq + START_MS + pauses) * 1000, pa.timestamp("us", "UTC")),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=["seq", "key", "v", "ts"])


class Sequence(DataSource):
    has_limit = True

    @classmethod
    def name(cls):
        return "test_sequence"

    def schema(self):
        return SCHEMA

    def streamReader(self, schema):
        return SequenceReader(self.options)


def position(offset):
    """How many events an offset (JSON text) has read."""
    return json.loads(offset)["seq"]


def end(offset):
    """How many events the source of an offset has."""
    return json.loads(offset)["of"]


def events(rows, keys, burst=0, pause=0):
    """(seq, key, v, time in ms) of every event."""
    for n in range(rows):
        yield n, (n * 7919) % keys, n % 10, n + START_MS + (n // burst * pause if burst else 0)


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


def expected_sessions(found, timeout_ms):
    """[(key, start ms, end ms, n, sum)] of the sessions of events (seq, key, v, ms), in their order of time."""
    by_key = defaultdict(list)
    for _, key, v, ms in found:
        by_key[key].append((ms, v))
    sessions = []
    for key, own in by_key.items():
        own.sort()
        start, last, n, total = own[0][0], own[0][0], 0, 0
        for ms, v in own:
            if ms >= last + timeout_ms:
                sessions.append((key, start, last + timeout_ms, n, total))
                start, n, total = ms, 0, 0
            last, n, total = ms, n + 1, total + v
        sessions.append((key, start, last + timeout_ms, n, total))
    return sessions


def millis(moment: datetime) -> int:
    """Milliseconds since the epoch of a timestamp that Spark gave (naive means UTC)."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
