"""Cells of state in a table."""

import pytest

from pitstop.cli.state_rows import _cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, None),
        (5, 5),
        (2.5, 2.5),
        ("text", "text"),
        (True, "true"),
        ({"a": None, "b": "ü"}, '{"a": null, "b": "ü"}'),
        ([1, {"x": False}], '[1, {"x": false}]'),
    ],
)
def test_structs_lists_and_booleans_are_shown_as_json(value, cell):
    assert (_cell(value), type(_cell(value))) == (cell, type(cell))
