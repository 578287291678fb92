"""What every store of mappings and views promises."""

import pytest

from pitstop.sql.mappings import Column, Mapping, View

PINGS = Mapping(
    'the "pings"',
    "CsvTail",
    (
        Column("vin", "string"),
        Column("max speed", "decimal(5,2)", 'max "speed"'),
        Column("codes", "array<string>"),
        Column("at", "struct<`a b`:int,`c`:map<string,double>>"),
        Column("ts", "timestamp"),
    ),
    {"path": "/it's/here;", "glob": "*.csv"},
    "pings of alpha",
)
PLAIN = Mapping("plain", "Rate")
VIEW = View("fast", 'SELECT * FROM "the ""pings""" WHERE vin = \';\' -- all of them')


@pytest.fixture
def catalog(store):
    return store.catalog


def test_what_was_put_comes_back_as_it_was_by_name(catalog):
    for each in (PINGS, PLAIN, VIEW):
        assert catalog.put(each, replace=False)
    assert catalog.all() == {each.name: each for each in (PINGS, PLAIN, VIEW)}
    assert list(catalog.all()) == ["fast", "plain", 'the "pings"']


def test_a_name_is_taken_by_mappings_and_views_alike_unless_it_is_replaced(catalog):
    assert catalog.put(PLAIN, replace=False)
    assert not catalog.put(View("plain", "SELECT 1"), replace=False)
    assert catalog.all() == {"plain": PLAIN}
    assert catalog.put(View("plain", "SELECT 1"), replace=True)
    assert catalog.all() == {"plain": View("plain", "SELECT 1")}


def test_only_what_is_of_the_kind_is_removed(catalog):
    catalog.put(PLAIN, replace=False)
    assert not catalog.remove(View, "plain")
    assert not catalog.remove(Mapping, "nothing")
    assert catalog.remove(Mapping, "plain")
    assert catalog.all() == {}
