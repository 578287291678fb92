"""Types of plans are read by Spark whatever the names within them are."""

import pytest

from pitstop.spark.base.type_texts import ddl_of


@pytest.mark.parametrize("kind", ["bigint", "decimal(10,2)", "timestamp_ntz", "interval day to second", "array<int>", "struct<>"])
def test_a_type_without_names_stays_as_it_is(kind):
    assert ddl_of(kind) == kind


@pytest.mark.parametrize(
    ("kind", "ddl"),
    [
        ("struct<user-id:string>", "struct<`user-id`:string>"),
        ("struct<p:struct<user-id:string,n:int>,q:bigint>", "struct<`p`:struct<`user-id`:string,`n`:int>,`q`:bigint>"),
        ("map<decimal(10,2),struct<a b:decimal(38,18),c:date>>", "map<decimal(10,2),struct<`a b`:decimal(38,18),`c`:date>>"),
        ("array<struct<a:array<int>,b:map<string,int>>>", "array<struct<`a`:array<int>,`b`:map<string,int>>>"),
        ("struct<a:b:string,c,d:int,e>f:timestamp>", "struct<`a:b`:string,`c,d`:int,`e>f`:timestamp>"),
        ("struct<a`b:varchar(5),from:char(2)>", "struct<`a``b`:varchar(5),`from`:char(2)>"),
        ("struct<a:interval year to month,b:void>", "struct<`a`:interval year to month,`b`:void>"),
        ("struct<a:struct<>,b:string>", "struct<`a`:struct<>,`b`:string>"),
        ("struct<a:timestamp_ntz,b:int>", "struct<`a`:timestamp_ntz,`b`:int>"),
        ("struct<b:int,a:timestamp_ntz>", "struct<`b`:int,`a`:timestamp_ntz>"),
        ("map<timestamp_ntz,struct<a:time(6),b:int>>", "map<timestamp_ntz,struct<`a`:time(6),`b`:int>>"),
        ("struct<a:string collate de_AI,b-c:geometry(any)>", "struct<`a`:string collate de_AI,`b-c`:geometry(any)>"),
        ("struct<:int,a:integer:int,b:struct<:string>", "struct<``:int,`a:integer`:int,`b:struct<`:string>"),
    ],
)
def test_names_within_a_type_are_quoted(kind, ddl):
    assert ddl_of(kind) == ddl


@pytest.mark.parametrize(
    "kind",
    [
        "struct<a:int,b:udt>",
        "struct<b:udt,a:int>",
        "array<struct<a:time,b:int>>",
        "map<int,struct<a:int,b:later_type>>",
        "struct<a:struct<b:later_type,c:int>,d:int>",
        "struct<a:int",
        "struct<a:int>>",
        "struct<a:int,>",
        "struct<a>",
    ],
)
def test_a_text_that_is_not_understood_stays_as_it_is(kind):
    assert ddl_of(kind) == kind


def test_a_long_text_that_is_not_understood_is_soon_given_up():
    kind = "struct<a:" * 100 + "later_type" + ">" * 100
    assert ddl_of(kind) == kind
