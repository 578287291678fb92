"""Functions that keep state by key, run on whole Arrow batches in the form in which Spark sends them to its Python workers.

A batch has the rows' columns and, in a last one beside them, a struct for each key: where its rows are, and its state.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Generic, Protocol, Self, TypeVar

import pyarrow as pa
from pyspark.serializers import pickle_protocol
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from pitstop.spark.internals.arrow import arrow_rows

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
    """Rows of a batch in the form that a function likes."""

    def part(self, start: int, count: int) -> Self:
        """So many of them, from the given place."""

    def extend(self, more: Self) -> None:
        """Add more rows behind them."""


R = TypeVar("R", bound=Rows)


class BatchFunction(Protocol[R]):
    """A function with state that takes its rows by the batch."""

    def of_arrow(self, batch: pa.RecordBatch) -> R:
        """The rows of a batch."""

    def keys_of_arrow(self, columns: Sequence[pa.Array]) -> list[tuple[Any, ...]]:
        """The keys that stand in these columns."""

    def of_key(self, key: tuple[Any, ...], items: R, state: GroupState) -> list[tuple[Any, ...]]:
        """The rows that a key's rows make; changes the state."""


class KeyedBatches(Generic[R]):
    """What the worker runs for a partition of an epoch: batches as Spark sends them to batches as it wants them."""

    def __init__(self, function: BatchFunction[R], key_columns: Sequence[int], output: StructType, state: StructType) -> None:
        """``key_columns`` are the places of the key's columns in a batch, ``state`` is the schema of what Spark keeps."""
        self._function, self._key_columns, self._output, self._state = function, key_columns, output, state

    def __call__(self, partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: list[tuple[Any, ...]] = []
        states: list[tuple[Any, ...]] = []
        for key, items, state in self._groups(batches):
            rows += self._function.of_key(key, items, state)
            states.append(self._sent(state))
            if len(rows) >= _BATCH_ROWS or len(states) >= _BATCH_ROWS:
                yield self._batch(rows, states)
                rows, states = [], []
        if rows or states:
            yield self._batch(rows, states)

    def _groups(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[tuple[Any, ...], R, GroupState]]:
        """Each key with its rows, which may come in several chunks, and its state."""
        state: GroupState | None = None
        items: R | None = None
        for batch in batches:
            data = pa.RecordBatch.from_arrays(batch.columns[:-1], names=batch.schema.names[:-1])
            found, groups = self._function.of_arrow(data), _told(batch.column(batch.num_columns - 1))
            starts = pa.array([told["startOffset"] for told in groups], pa.int64())
            keys = self._function.keys_of_arrow([data.column(place).take(starts) for place in self._key_columns])
            for told, key in zip(groups, keys, strict=True):
                own = found.part(told["startOffset"], told["numRows"])
                state = self._received(told) if state is None else state
                if items is None:
                    items = own
                else:
                    items.extend(own)
                if told["isLastChunk"]:
                    yield key, items, state
                    state = items = None

    def _received(self, told: dict[str, Any]) -> GroupState:
        kept = told["object"]
        properties = _properties(told["properties"]) | {"optionalValue": pickle.loads(kept) if kept else None}
        return GroupState(keyAsUnsafe=told["keyRowAsUnsafe"], valueSchema=self._state, **properties)

    def _sent(self, state: GroupState) -> tuple[Any, ...]:
        kept = pickle.dumps(self._state.toInternal(state._value), pickle_protocol) if state.exists else None
        return state.json(), state._keyAsUnsafe, kept, state.oldTimeoutTimestamp

    def _batch(self, rows: list[tuple[Any, ...]], states: list[tuple[Any, ...]]) -> pa.RecordBatch:
        """Three structs side by side, filled up with nulls to one length, of which the first says how many rows are real."""
        length = max(len(rows), len(states))
        counts = [(len(rows), len(states))] * length
        parts = [(counts, _COUNTS), (rows, self._output), (states, _STATES)]
        structs = [_struct([*own, *[(None,) * len(kind.fields)] * (length - len(own))], kind) for own, kind in parts]
        return pa.RecordBatch.from_arrays(structs, names=["_0", "_1", "_2"])


@lru_cache(maxsize=1_000)
def _properties(text: str) -> dict[str, Any]:
    # Most keys of an epoch have the same.
    found: dict[str, Any] = json.loads(text)
    return found


def _told(structs: pa.StructArray) -> list[dict[str, Any]]:
    """What Spark says of each key; behind that there are nulls, for there are more rows than keys."""
    names = [field.name for field in structs.type]
    known = structs.slice(0, len(structs) - structs.null_count)
    return [dict(zip(names, values, strict=True)) for values in zip(*[c.to_pylist() for c in known.flatten()], strict=True)]


def _struct(rows: Sequence[Sequence[Any]], schema: StructType) -> pa.StructArray:
    batch = arrow_rows(rows, schema)
    return pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
