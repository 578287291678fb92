"""Dead letters of stages with a Python function: rows that the function cannot take, carried among the rows that it makes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pitstop.pipeline.nodes import Node
from pitstop.spark.base.naming import FAILED
from pitstop.spark.base.values import value_of
from pitstop.spark.internals.arrow import arrow_rows
from pitstop.spark.state.codec import StateCodec
from pitstop.spark.state.row_shape import RowShape

LETTER = "__letter"
"""Column of what a stage makes: the letter, null for rows of its output."""
LETTER_TYPE = StructType([StructField(name, StringType()) for name in ("key", "text", "error")])

Values = tuple[Any, ...]

_LONGEST_ERROR = 500
_SAMPLE = 300


@dataclass(frozen=True)
class Letter:
    """A letter about one row, or about a key whose time has run out; ``text`` is then None."""

    key: str
    """The key as JSON."""
    text: str | None
    """The row as JSON."""
    error: str
    """The error, in one sentence."""

    @property
    def parts(self) -> dict[str, Any]:
        """The letter as a value of LETTER_TYPE."""
        return vars(self)


@dataclass(frozen=True)
class Letters:
    """Writes the letters of a stage; it is pickled and runs in the workers."""

    stage: str
    keys: tuple[str, ...]
    row: StructType
    """The rows that the stage takes."""
    output: StructType
    """The rows that its function makes, without the keys."""
    guards: bool
    """True if a row for which the function fails becomes a letter, too; otherwise the failure ends the epoch."""

    def of_row(self, row: Any, error: Exception) -> Letter:
        """Return the letter of a row for which the function failed."""
        values = dict(zip(self.row.fieldNames(), row, strict=True))
        return Letter(_encoded(self._key_codec, values), _encoded(self._row_codec, values), sentence(error))

    def of_key(self, key: Values, state: str, error: Exception) -> Letter:
        """Return the letter of a key whose state could not be handled when its time had come."""
        values = dict(zip(self.keys, key, strict=True))
        return Letter(_encoded(self._key_codec, values), None, f"{sentence(error)} (on_evict, with the state {state})")

    def unreadable(self, struct: Any, error: Exception) -> Letter:
        """Return the letter of an Arrow struct that holds a value which Python cannot represent."""
        values = value_of(struct)
        key = {name: values[name] for name in self.keys}
        return Letter(_json(key), _json(values), f"Python has no such value: {sentence(error)}")

    def check(self, rows: list[Values]) -> None:
        """Raise an exception if a row cannot be a row of the output."""
        for row in rows:
            if not all(map(_certain, self._kinds, row)):
                arrow_rows([row], self.output)

    def nothing(self) -> Values:
        """Return the values that fill a row of the output where there is a letter."""
        return (None,) * len(self.output.fields)

    @cached_property
    def _kinds(self) -> list[type[DataType]]:
        return [type(field.dataType) for field in self.output.fields]

    @cached_property
    def _row_codec(self) -> StateCodec:
        return StateCodec(self.stage, self.row)

    @cached_property
    def _key_codec(self) -> StateCodec:
        return StateCodec(self.stage, StructType([self.row[name] for name in self.keys]))


def read_rows(shape: RowShape, structs: pa.StructArray, letters: Letters | None) -> tuple[list[Any], bool]:
    """Return (the rows, True if all can be read). Rows that Python cannot hold become letters in their places."""
    try:
        return shape.rows(structs), True
    except (OverflowError, ValueError):
        if letters is None:
            raise
    rows: list[Any] = []
    for place in range(len(structs)):
        try:
            rows += shape.rows(structs.slice(place, 1))
        except (OverflowError, ValueError) as error:
            rows.append(letters.unreadable(structs[place], error))
    return rows, False


def sentence(error: Exception) -> str:
    """Return the kind of an exception and its first line, cut where it is very long."""
    first = (str(error).strip().splitlines() or [""])[0]
    text = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


def told(frame: DataFrame, node: Node) -> DataFrame:
    """Observe the number of letters a stage has written, and one of them. A bounded frame is not observed."""
    if not frame.isStreaming:
        return frame
    sample = F.concat(F.col(f"{LETTER}.error"), F.lit(" of "), F.coalesce(F.col(f"{LETTER}.text"), F.col(f"{LETTER}.key")))
    return frame.observe(
        f"{FAILED}{node.name}",
        F.count_if(_is_letter()).alias("rows"),
        F.first(F.when(_is_letter(), F.substring(sample, 1, _SAMPLE)), ignorenulls=True).alias("sample"),
    )


def output_rows(frame: DataFrame) -> DataFrame:
    """Return the rows of the stage's output."""
    return frame.where(~_is_letter()).drop(LETTER)


def dead_letters(frame: DataFrame, stage: str) -> DataFrame:
    """Return the stage's letters: ``stage string, key string, text string, error string, time timestamp``."""
    parts = [F.col(f"{LETTER}.{name}").alias(name) for name in LETTER_TYPE.fieldNames()]
    return frame.where(_is_letter()).select(F.lit(stage).alias("stage"), *parts, F.current_timestamp().alias("time"))


def _is_letter() -> Column:
    return F.col(LETTER).isNotNull()


def _certain(kind: type[DataType], value: Any) -> bool:
    """Return True if the value is surely of the type. If this is not sure, Arrow decides more slowly."""
    if value is None:
        return True
    own = type(value)
    if kind is LongType:
        return own is int and -(2**63) <= value < 2**63
    if kind is StringType:
        return own is str and value.isascii()
    return own.__name__ == _PLAIN.get(kind)


_PLAIN: dict[type[DataType], str] = {
    DoubleType: "float",
    BooleanType: "bool",
    TimestampType: "datetime",
    DateType: "date",
}


def _encoded(codec: StateCodec, values: dict[str, Any]) -> str:
    try:
        return codec.encode(values)
    except TypeError:  # a type that state may not have, such as an interval
        return _json(values)


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=_text)


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, (bytes, bytearray)) else str(value)
