"""Spark's types as Arrow's, and Python's values as Arrow's columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
from pyspark.sql.conversion import PandasToArrowConversion
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema in which a Python data source gives rows of this schema; timestamps are in UTC."""
    return to_arrow_schema(schema, timezone="UTC")


def arrow_rows(rows: Sequence[Sequence[Any]], schema: StructType) -> pa.RecordBatch:
    """Return rows of Python values as Arrow, in the types of a Spark schema; timestamps without a zone are in UTC.

    Spark raises its exception if a value has another type and cannot be converted.
    """
    target, columns = arrow_schema(schema), list(zip(*rows, strict=True)) or [()] * len(schema.fields)
    arrays = [_column(values, kind.type, field) for values, kind, field in zip(columns, target, schema.fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def python_values(values: pa.Array) -> list[Any]:
    """Return the result of ``to_pylist``, for most types many times faster. Timestamps must have no zone."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        texts: list[Any] = values.to_numpy(zero_copy_only=False).tolist()
        return texts
    if not _quick(values):
        listed: list[Any] = values.to_pylist()
        return listed
    quick: list[Any] = values.fill_null(_ANY.get(str(kind), 0)).to_numpy(zero_copy_only=False).tolist()
    for place in _nulls(values):
        quick[place] = None
    return quick


_ANY = {"bool": False, "timestamp[us]": datetime(1970, 1, 1)}
_PYTHON_YEARS = tuple((moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) for moment in (datetime.min, datetime.max))
"""The first and the last moment that Python's datetime can hold, in microseconds."""


def _quick(values: pa.Array) -> bool:
    """True if NumPy's values are those that Python would have."""
    kind = values.type
    if kind == pa.timestamp("us"):
        first, last = compute.min_max(values).values()
        return not first.is_valid or (_PYTHON_YEARS[0] <= first.value and last.value <= _PYTHON_YEARS[1])
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _nulls(values: pa.Array) -> list[int]:
    if not values.null_count:
        return []
    places: list[int] = compute.indices_nonzero(values.is_null()).to_numpy().tolist()
    return places


def _column(values: Sequence[Any], kind: pa.DataType, field: StructField) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Spark converts more, and says what it cannot. Few jobs come here, and pandas takes time and memory in all of them.
        import pandas as pd

        series = pd.Series(list(values), dtype=object)
        return PandasToArrowConversion.convert([series], StructType([field]), timezone="UTC", arrow_cast=True).column(0)
