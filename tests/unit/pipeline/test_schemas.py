"""Schemas as DDL, as a StructType or as a dataclass are the same columns."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated

import pytest
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.pipeline.schemas import column_names, ddl


@dataclass
class Item:
    name: str
    price: Annotated[Decimal, "decimal(10,2)"]


@dataclass
class Order:
    id: int
    total: float
    paid: bool
    day: date
    at: datetime
    note: str | None
    raw: bytes
    size: Annotated[int, "smallint"]
    items: list[Item]
    tags: dict[str, int]


def test_a_dataclass_has_the_columns_of_its_annotations():
    assert ddl(Order) == (
        "id bigint, total double, paid boolean, day date, at timestamp, note string, raw binary, size smallint, "
        "items array<struct<name: string, price: decimal(10,2)>>, tags map<string, bigint>"
    )


def test_a_struct_type_has_its_columns_with_odd_names_in_quotes():
    struct = StructType(
        [
            StructField("a b", IntegerType(), False),
            StructField("m", MapType(StringType(), ArrayType(StructType([StructField("x`y", DecimalType(5, 2))])))),
            StructField("ts", TimestampType()),
        ]
    )
    assert ddl(struct) == "`a b` int, m map<string, array<struct<`x``y`: decimal(5,2)>>>, ts timestamp"


def test_a_field_of_no_type_is_named():
    @dataclass
    class Wrong:
        when: complex

    with pytest.raises(
        UsageError, match=r"Field 'when' of Wrong is <class 'complex'>, which is no type of a column: use str, int"
    ):
        ddl(Wrong)
    with pytest.raises(UsageError, match="A schema is DDL such as 'id bigint, name string', a StructType or a dataclass, not 3"):
        ddl(3)


def test_names_of_columns_are_those_between_commas_of_no_brackets():
    assert column_names("a int, `b, ``c` decimal(3,1), d: struct<e: int, f: int>") == ("a", "b, `c", "d")


@pytest.mark.parametrize(
    "source",
    [
        lambda schema: ps.sources.csv_tail("in", schema=schema),
        lambda schema: ps.sources.http_poll("http://x", schema=schema),
        lambda schema: ps.sources.files("in", "json", schema=schema, streaming=True),
        lambda schema: ps.sources.kafka("h:1", "t", schema=schema),
        lambda schema: ps.sources.delta("in", schema=schema),
        lambda schema: ps.sources.items([], schema),
        lambda schema: ps.sources.spark("x", schema),
        lambda schema: ps.sources.custom(object, schema),
    ],
    ids=["csv_tail", "http_poll", "files", "kafka", "delta", "items", "spark", "custom"],
)
def test_each_source_takes_all_three(source):
    @dataclass
    class Row:
        id: int
        name: str

    struct = StructType([StructField("id", LongType()), StructField("name", StringType())])
    assert source(Row) == source(struct) == source("id bigint, name string")


def test_state_and_output_of_a_function_take_them_too():
    @dataclass
    class Counted:
        n: int

    def specs(state):
        p = ps.Pipeline()
        rows = p.read_from(ps.sources.rate(5), name="numbers").group_by("sequence")
        return rows.map_stateful("s", len, state, state)._node.spec

    assert specs(Counted) == specs("n bigint")
