"""JSON that can be written, sent and read again."""

import math
from dataclasses import dataclass

import pytest
from pydantic import TypeAdapter

from pitstop.errors import UsageError
from pitstop.kit.wire import Moment, described, from_json_text, json_text


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, [math.nan], {"a": {"b": 1e400}}, "\ud800", {"\udc00": 1}, {1, 2}]
)
def test_what_is_no_json_is_refused(value):
    with pytest.raises(UsageError, match=r"^The value is (no JSON|not valid text): "):
        json_text(value)


def test_a_value_that_is_its_own_part_is_refused():
    value = []
    value.append(value)
    with pytest.raises(UsageError, match="no JSON"):
        json_text(value)


@pytest.mark.parametrize("value", [None, True, 1, -1.5, 1e308, "ä\0\x1b", "😀", [], {"a": [{}]}])
def test_what_is_comes_back_as_it_was(value):
    assert from_json_text(json_text(value)) == value


OLD = {"NaN": "NaN", "[Infinity]": ["Infinity"], '{"a": -Infinity}': {"a": "-Infinity"}, "1e400": "1e400"}


@pytest.mark.parametrize(("kept", "read"), OLD.items())
def test_what_an_older_release_let_in_is_read_as_text(kept, read):
    assert from_json_text(kept) == read


@pytest.mark.parametrize(("seconds", "text"), [(1e300, '"9999-'), (-1e300, '"0001-'), (1e12, '"9999-'), (0.0, '"1970-')])
def test_a_moment_beyond_the_calendar_is_its_end(seconds, text):
    """Once a time to live of 1e300 s was accepted, and then every read of the entries failed."""
    assert TypeAdapter(Moment).dump_json(seconds).decode().startswith(text)


def test_the_text_below_a_field_is_its_description():
    @described
    @dataclass
    class Member:
        name: str
        """Its name,
        on two lines."""
        cores: int = 1
        address: str = ""
        """Where it listens."""

    schema = TypeAdapter(Member).json_schema()["properties"]
    assert [schema[name].get("description") for name in ("name", "cores", "address")] == [
        "Its name,\non two lines.",
        None,
        "Where it listens.",
    ]
