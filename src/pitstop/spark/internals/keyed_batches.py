"""Functions that keep state by key, run on whole Arrow batches in the form in which Spark sends them to its Python workers.

A batch has the rows' columns and, in a last one beside them, a struct for each key: where its rows are, and its state.
"""

from __future__ import annotations

import gc
import json
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Protocol, Self, TypeVar

import pyarrow as pa
from pyspark.serializers import pickle_protocol
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from pitstop.spark.internals.arrow import arrow_rows, python_values

_BATCH_ROWS = 10_000
_COUNTS = StructType([StructField("dataCount", IntegerType()), StructField("stateCount", IntegerType())])
_STATES = StructType(
    [
        StructField("properties", StringType()),
        StructField("keyRowAsUnsafe", BinaryType()),
        StructField("object", BinaryType()),
        StructField("oldTimeoutTimestamp", LongType()),
    ]
)


class Rows(Protocol):
    """Rows of a batch in the form that a function takes."""

    def part(self, start: int, count: int) -> Self:
        """Return ``count`` rows from ``start`` on."""

    def extend(self, more: Self) -> None:
        """Add more rows behind them."""


R = TypeVar("R", bound=Rows)


class BatchFunction(Protocol[R]):
    """A function with state that takes its rows batch by batch."""

    def of_arrow(self, batch: pa.RecordBatch) -> R:
        """Return the rows of a batch."""

    def keys_of_arrow(self, columns: Sequence[pa.Array]) -> list[tuple[Any, ...]]:
        """Return the keys that stand in these columns."""

    def of_key(self, key: tuple[Any, ...], items: R, state: KeptState) -> list[tuple[Any, ...]]:
        """Return the rows that a key's rows make; change its state."""


@dataclass(frozen=True)
class KeyFacts:
    """Spark's facts about a key beside its state. Nearly all keys of an epoch have the same facts, in the same words."""

    exists: bool
    timed_out: bool
    watermark_ms: int
    timeout_ms: int
    """The time at which the key times out; -1: never."""
    head: str
    """The part of Spark's text that goes back unchanged."""


class KeptState:
    """The state of one key: the parts of Spark's GroupState that a function with state needs, without its slow parts."""

    __slots__ = ("_facts", "_key", "_removed", "_timeout_ms", "_updated", "exists", "get")

    def __init__(self, facts: KeyFacts, key: bytes, value: tuple[Any, ...] | None) -> None:
        self._facts, self._key, self._timeout_ms = facts, key, facts.timeout_ms
        self._updated = self._removed = False
        self.exists = facts.exists
        self.get: Any = value

    @property
    def hasTimedOut(self) -> bool:
        return self._facts.timed_out

    def getCurrentWatermarkMs(self) -> int:
        return self._facts.watermark_ms

    def update(self, values: tuple[Any, ...]) -> None:
        self.get, self.exists, self._updated, self._removed = values, True, True, False

    def remove(self) -> None:
        self.exists, self._updated, self._removed = False, False, True

    def setTimeoutTimestamp(self, at: int) -> None:
        self._timeout_ms = at

    def sent(self) -> tuple[str, bytes, bytes | None, int]:
        """Return what goes back to Spark: facts about the key, the key, its state, and its previous timeout."""
        facts = (
            f'{self._facts.head}, "defined": {_truth(self.exists)}, "updated": {_truth(self._updated)}, '
            f'"removed": {_truth(self._removed)}, "timeoutTimestamp": {self._timeout_ms}}}'
        )
        return facts, self._key, pickle.dumps(self.get, pickle_protocol) if self.exists else None, self._facts.timeout_ms


class KeyedBatches(Generic[R]):
    """The function that the worker runs for a partition of an epoch.

    It turns batches as Spark sends them into batches as Spark wants them.
    """

    def __init__(self, function: BatchFunction[R], key_columns: Sequence[int], output: StructType) -> None:
        """Create it.

        ``key_columns`` are the places of the key's columns in a batch; ``output`` is the form of the resulting rows.
        """
        self._function, self._key_columns, self._output = function, key_columns, output

    def __call__(self, partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: list[tuple[Any, ...]] = []
        states: list[tuple[Any, ...]] = []
        with _garbage_by_hand():
            for key, items, state in self._groups(batches):
                rows += self._function.of_key(key, items, state)
                states.append(state.sent())
                if len(rows) >= _BATCH_ROWS or len(states) >= _BATCH_ROWS:
                    yield self._batch(rows, states)
                    rows, states = [], []
                    gc.collect(0)
            if rows or states:
                yield self._batch(rows, states)

    def _groups(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[tuple[Any, ...], R, KeptState]]:
        """Yield each key with its rows, which may come in several chunks, and its state."""
        state: KeptState | None = None
        items: R | None = None
        for batch in batches:
            data = pa.RecordBatch.from_arrays(batch.columns[:-1], names=batch.schema.names[:-1])
            rows, groups = self._function.of_arrow(data), _told(batch.column(batch.num_columns - 1))
            starts = pa.array([group["startOffset"] for group in groups], pa.int64())
            keys = self._function.keys_of_arrow([data.column(place).take(starts) for place in self._key_columns])
            for group, key in zip(groups, keys, strict=True):
                own = rows.part(group["startOffset"], group["numRows"])
                state = _received(group) if state is None else state
                if items is None:
                    items = own
                else:
                    items.extend(own)
                if group["isLastChunk"]:
                    yield key, items, state
                    state = items = None

    def _batch(self, rows: list[tuple[Any, ...]], states: list[tuple[Any, ...]]) -> pa.RecordBatch:
        """Return three structs side by side, filled with nulls to one length. The first says how many rows are real."""
        length = max(len(rows), len(states))
        counts = [(len(rows), len(states))] * length
        parts = [(counts, _COUNTS), (rows, self._output), (states, _STATES)]
        structs = [_struct([*own, *[(None,) * len(kind.fields)] * (length - len(own))], kind) for own, kind in parts]
        return pa.RecordBatch.from_arrays(structs, names=["_0", "_1", "_2"])


@contextmanager
def _garbage_by_hand() -> Iterator[None]:
    """Keep Python's cycle collector from running by itself meanwhile: it would go through all rows again and again."""
    by_itself = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if by_itself:
            gc.enable()


def _received(record: dict[str, Any]) -> KeptState:
    pickled = record["object"]
    return KeptState(facts_of(record["properties"]), record["keyRowAsUnsafe"], pickle.loads(pickled) if pickled else None)


@lru_cache(maxsize=1_000)
def facts_of(text: str) -> KeyFacts:
    """Return the facts in Spark's text about a key."""
    facts: dict[str, Any] = json.loads(text)
    changing = {name: facts.pop(name) for name in ("defined", "updated", "removed", "timeoutTimestamp")}
    head = json.dumps(facts | {"optionalValue": None}).removesuffix("}")
    exists, timed_out = changing["defined"], facts["hasTimedOut"]
    return KeyFacts(exists, timed_out, facts["eventTimeWatermarkMs"], changing["timeoutTimestamp"], head)


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _told(structs: pa.StructArray) -> list[dict[str, Any]]:
    """Return Spark's record of each key. Nulls follow the last key, because there are more rows than keys."""
    names = [field.name for field in structs.type]
    records = structs.slice(0, len(structs) - structs.null_count)
    return [dict(zip(names, values, strict=True)) for values in zip(*map(python_values, records.flatten()), strict=True)]


def _struct(rows: Sequence[Sequence[Any]], schema: StructType) -> pa.StructArray:
    batch = arrow_rows(rows, schema)
    return pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
