"""Changes of values deep within others, compared with Python's own on the same rows."""

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType

from pitstop.spark.base.nested import changed_within

pytestmark = pytest.mark.spark

DDL = "n bigint, a array<struct<n: bigint, t: string>>, m map<bigint, array<bigint>>, s struct<s: struct<n: bigint>, t: string>"
ROWS = [
    (1, [(2, "x"), None, (None, "y")], {3: [4, None], 5: None}, ((6,), "z")),
    (None, None, None, None),
    (7, [], {}, (None, None)),
]


def test_values_of_a_type_are_changed_at_any_depth_and_nulls_and_keys_of_maps_stay(spark):
    rows = spark.createDataFrame(ROWS, DDL)
    columns = [
        changed_within(F.col(field.name), field.dataType, (LongType,), lambda value, kind: value + 10).alias(field.name)
        for field in rows.schema.fields
    ]
    changed = rows.select(*columns)
    assert [field.dataType for field in changed.schema.fields] == [field.dataType for field in rows.schema.fields]
    assert sorted((row.asDict(recursive=True) for row in changed.collect()), key=str) == sorted(
        (
            {
                "n": 11,
                "a": [{"n": 12, "t": "x"}, None, {"n": None, "t": "y"}],
                "m": {3: [14, None], 5: None},
                "s": {"s": {"n": 16}, "t": "z"},
            },
            {"n": None, "a": None, "m": None, "s": None},
            {"n": 17, "a": [], "m": {}, "s": {"s": None, "t": None}},
        ),
        key=str,
    )


def test_a_column_without_such_values_is_left_as_it_is(spark):
    rows = spark.createDataFrame(ROWS, DDL)
    column = F.col("s")
    assert changed_within(column, rows.schema["s"].dataType, (DoubleType,), lambda value, kind: value) is column
