"""Fails when Spark maps its types to Arrow's otherwise."""

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructType, TimestampType

from pitstop.spark.internals.arrow import arrow_schema


def test_types_are_those_that_a_data_source_may_give():
    schema = StructType().add("id", LongType()).add("name", StringType()).add("at", TimestampType())
    found = arrow_schema(schema)
    expected = pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us", tz="UTC"))])
    assert found.equals(expected), f"Spark maps its types to Arrow otherwise: {found}"
