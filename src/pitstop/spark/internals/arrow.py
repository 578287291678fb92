"""Spark's types as Arrow's."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema in which a Python data source gives rows of this schema; timestamps are in UTC."""
    return to_arrow_schema(schema, timezone="UTC")
