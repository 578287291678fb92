"""What a function of the user's makes of a map's values, as JSON."""

import json
import math

import pytest

from pitstop.errors import UsageError
from pitstop.spark.sinks.map import _on_values


@pytest.mark.parametrize(
    ("made", "kept"),
    [(math.nan, "NaN"), (-math.inf, "-Infinity"), ({"a": [math.inf, 1.5]}, {"a": ["Infinity", 1.5]}), ("ä", "ä"), ([], [])],
)
def test_numbers_that_json_has_not_are_text_as_spark_writes_them(made, kept):
    assert json.loads(_on_values(lambda old, new: made)(None, "1")) == kept


def test_a_value_of_an_older_release_that_is_no_json_does_not_end_the_job():
    seen = []
    assert _on_values(lambda old, new: seen.append(old) or new)("NaN", "2") == "2"
    assert seen == ["NaN"]


def test_what_cannot_be_kept_names_the_function():
    def halves(old, new):
        return "\ud800"

    with pytest.raises(UsageError, match=r"^What halves has made is not valid text"):
        _on_values(halves)(None, "1")


def test_none_removes_the_entry():
    assert _on_values(lambda old, new: None)("1", "2") is None
