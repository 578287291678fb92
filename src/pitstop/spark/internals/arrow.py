"""Spark's types as Arrow's, and Python's values as Arrow's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.conversion import PandasToArrowConversion
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema in which a Python data source gives rows of this schema; timestamps are in UTC."""
    return to_arrow_schema(schema, timezone="UTC")


def arrow_rows(rows: Sequence[Sequence[Any]], schema: StructType) -> pa.RecordBatch:
    """Rows of Python values as Arrow, in the types of a Spark schema; timestamps without a zone are in UTC.

    Spark's exception if a value is of another type and cannot be converted.
    """
    wanted, columns = arrow_schema(schema), list(zip(*rows, strict=True)) or [()] * len(schema.fields)
    arrays = [_column(values, kind.type, field) for values, kind, field in zip(columns, wanted, schema.fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _column(values: Sequence[Any], kind: pa.DataType, field: StructField) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Spark converts more, and says what it cannot.
        given = pd.Series(list(values), dtype=object)
        return PandasToArrowConversion.convert([given], StructType([field]), timezone="UTC", arrow_cast=True).column(0)
