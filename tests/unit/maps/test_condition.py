"""Conditions on the values of a map's entries, as people write them."""

import json

import pytest

from pitstop.errors import UsageError
from pitstop.maps.condition import read_condition

CAR = {"speed": 81.5, "owner": "ann", "position": {"lat": 44.9}, "codes": ["P0301", 7], "parked": False, "note": None, "a.b c": 1}


@pytest.mark.parametrize(
    "text",
    [
        "speed > 80",
        "speed>80",
        "speed >= 81.5",
        "speed != 80",
        "owner = ann",
        'owner = "ann"',
        "owner < bob",
        "owner contains nn",
        "position.lat <= 44.9",
        "codes contains P0301",
        "codes contains 7",
        "codes.0 = P0301",
        'position = {"lat": 44.90}',
        "parked = false",
        "note = null",
        r"a\.b\ c = 1",
        "  speed   <   100  ",
    ],
)
def test_what_fulfils_a_condition_is_found(text):
    assert read_condition(text).holds(json.dumps(CAR))


@pytest.mark.parametrize(
    "text",
    [
        "speed > 81.5",
        "speed = 81",
        "speed > ten",
        'speed = "81.5"',
        "owner > 1",
        "owner = Ann",
        "owner.name = ann",
        "parked = 0",
        "parked < 1",
        "note != null",
        "codes.2 = 7",
        "codes contains P03",
        "codes.-1 = 7",
        "nothing = 1",
        "nothing != 1",
        "speed contains 8",
    ],
)
def test_what_does_not_fulfil_it_is_not(text):
    assert not read_condition(text).holds(json.dumps(CAR))


def test_without_a_field_it_is_the_value_itself():
    assert [read_condition("> 5").holds(value) for value in ("6", "5", '"6"', '{"a": 6}')] == [True, False, False, False]
    assert read_condition("contains = ").holds('"a = b"')
    assert read_condition("contains 12").holds('"9123"'), "in a text, as it was written"


def test_a_name_may_hold_words_and_signs():
    assert read_condition(r"\contains contains x").holds('{"contains": "xy"}')
    assert read_condition(r"a\=b = = ").holds('{"a=b": "="}')
    assert read_condition("a..b = 1").holds('{"a": {"": {"b": 1}}}')


@pytest.mark.parametrize("text", ["", "speed", "speed >", "speed = ", "a b = 1", "speedcontains 1", "a contain b"])
def test_what_is_no_condition_is_refused_with_how_one_is_written(text):
    with pytest.raises(UsageError, match="cannot be read: write a field, a sign"):
        read_condition(text)
