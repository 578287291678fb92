"""Every type that Spark has can be read again where a plan has written it."""

import pytest
from pyspark.sql import types

from pitstop.spark.base.type_texts import type_of

pytestmark = pytest.mark.spark

KINDS = [
    types.NullType(),
    types.ByteType(),
    types.ShortType(),
    types.IntegerType(),
    types.LongType(),
    types.FloatType(),
    types.DoubleType(),
    types.DecimalType(10, 2),
    types.DecimalType(38, 0),
    types.StringType(),
    types.StringType("UTF8_LCASE"),
    types.StringType("de_CI_AI"),
    types.CharType(3),
    types.VarcharType(300),
    types.BinaryType(),
    types.BooleanType(),
    types.DateType(),
    types.TimeType(),
    types.TimeType(0),
    types.TimestampType(),
    types.TimestampNTZType(),
    types.GeographyType(4326),
    types.GeographyType("ANY"),
    types.GeometryType(3857),
    types.GeometryType("ANY"),
    types.VariantType(),
    types.CalendarIntervalType(),
    *(types.YearMonthIntervalType(start, end) for start in range(2) for end in range(start, 2)),
    *(types.DayTimeIntervalType(start, end) for start in range(4) for end in range(start, 4)),
]
NAMES = ["a", "user-id", "its name", "a:b", "c,d", "e>f", "g<h", "i`j", "from", "1", "", "k:integer"]


def kinds_within(kind):
    """The kinds of a type that have no others below them."""
    below = kind.__subclasses__()
    return {found for part in below for found in kinds_within(part)} if below else {kind}


def test_each_of_spark_s_types_is_tried():
    nested = {types.ArrayType, types.MapType, types.StructType, types.StructField, types.UserDefinedType}
    own = {kind for kind in kinds_within(types.DataType) - nested if kind.__module__ == types.__name__}
    assert own == {type(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_type_is_read_as_it_was_wherever_it_stands(spark, kind):
    inner, other = types.StructField("at", kind), types.StructField("n", types.LongType())
    fields = [types.StructType([inner, other]), types.StructType([other, inner])]
    around = [kind, types.ArrayType(kind), types.MapType(types.StringType(), kind), types.MapType(kind, kind)]
    parts = [*fields, *around, *map(types.ArrayType, fields)]
    whole = types.StructType([types.StructField(f"part {place}", part) for place, part in enumerate(parts)])
    for each in (*parts, whole):
        assert type_of(each.simpleString()) == each


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_names_are_read_as_they_were_beside_any_type(spark, kind):
    named = types.StructType([types.StructField(name, kind) for name in NAMES])
    for each in (named, types.ArrayType(named), types.MapType(types.DateType(), named)):
        assert type_of(each.simpleString()) == each
