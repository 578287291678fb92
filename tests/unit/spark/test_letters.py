"""Rows that a function with state cannot take become letters, and leave the state of their key as it was."""

import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.types import (
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pitstop.spark.lowering.key_functions import Items, KeyedFunction, NoState
from pitstop.spark.lowering.letters import LETTER_TYPE, Letters
from pitstop.spark.lowering.row_functions import RowError, UserFunction, never
from pitstop.spark.state.codec import StateCodec
from pitstop.spark.state.row_shape import RowShape


def struct(**kinds):
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


ROW = struct(key=StringType(), v=LongType(), at=TimestampType())
OUTPUT = struct(v=LongType(), n=IntegerType())
STATE = struct(n=IntegerType())


class State(NoState):
    """Spark's state of one key, kept here."""

    def __init__(self, text=None, last=None, timed_out=False):
        self.exists, self.hasTimedOut, self.get, self.removed = text is not None, timed_out, (text, last), False
        self.timeout = None

    def update(self, values):
        self.exists, self.get = True, values

    def remove(self):
        self.exists, self.removed = False, True

    def setTimeoutTimestamp(self, at):
        self.timeout = at


def function(each, ttl_ms=None, evict=None, guards=True, kept=STATE):
    outputs = tuple(OUTPUT.fieldNames())
    called = never if evict is None else UserFunction(evict, outputs, "mine").once
    letters = Letters("mine", ("key",), ROW, OUTPUT, guards)
    mine = UserFunction(each, outputs, "mine").each
    return KeyedFunction(("key",), StateCodec("mine", kept), RowShape(ROW), outputs, mine, called, ttl_ms, True, letters)


def rows(*values, start=1):
    return Items([Row(key="k", v=v, at=datetime(2026, 1, 1)) for v in values], list(range(start, start + len(values))))


def spoils_then_raises(state, row):
    state.n = (state.n or 0) + 1
    if row.v < 0:
        state.n = 1000
        raise ValueError(f"{row.v} is too low\nand more")
    return (row.v, state.n)


def parts(made):
    told = [None if row[-1] is None else (row[-1]["key"], json.loads(row[-1]["text"]), row[-1]["error"]) for row in made]
    return [(row[:-1], letter) for row, letter in zip(made, told, strict=True)]


def letter(v, error):
    return (("k", None, None), ('{"key":"k"}', {"key": "k", "v": v, "at": "2026-01-01T00:00:00.000000Z"}, error))


def test_a_row_for_which_the_function_raises_leaves_the_state_as_it_was():
    state = State('{"n":4}', 9)
    made = function(spoils_then_raises).of_key(("k",), rows(1, -2, 3, -4, start=10), state)
    assert parts(made) == [
        (("k", 1, 5), None),
        letter(-2, "ValueError: -2 is too low"),
        (("k", 3, 6), None),
        letter(-4, "ValueError: -4 is too low"),
    ]
    assert state.get == ('{"n":6}', 12)  # the time of the last row that was taken


def test_a_key_with_nothing_but_letters_gets_no_state():
    state = State()
    made = function(spoils_then_raises).of_key(("k",), rows(-1), state)
    assert [row[-1]["error"] for row in made] == ["ValueError: -1 is too low"]
    assert not state.exists


@pytest.mark.parametrize(
    ("odd", "error"),
    [
        (lambda state, row: (row.v, 2**40), "2**40|1099511627776|int32|INT"),
        (lambda state, row: ("text", 1), "Failed to convert the value of the column 'v'"),
        (lambda state, row: (1, 2, 3), "returned 3 values"),
        (lambda state, row: setattr(state, "n", "text"), "field 'n' of the state of stage 'mine' cannot be 'text'"),
    ],
)
def test_what_is_no_output_and_what_is_no_state_is_a_letter(odd, error):
    def each(state, row):
        return odd(state, row) if row.v < 0 else spoils_then_raises(state, row)

    state = State('{"n":4}', 0)
    made = function(each).of_key(("k",), rows(1, -1, 2), state)
    assert [row[1:3] for row in made if row[-1] is None] == [(1, 5), (2, 6)]
    (told,) = [row[-1]["error"] for row in made if row[-1] is not None]
    assert any(part in told for part in error.split("|")), told
    assert state.get[0] == '{"n":6}'


def test_a_row_that_fails_lets_no_state_expire():
    def evict(state, key, time):
        return (time, -state.n)

    state = State('{"n":4}', 0)
    made = function(spoils_then_raises, 10, evict).of_key(("k",), rows(-1, start=50), state)
    assert [row[:3] for row in made] == [("k", None, None)]
    assert state.get == ('{"n":4}', 0)
    assert [row[:3] for row in function(spoils_then_raises, 10, evict).of_key(("k",), rows(7, start=60), state)] == [
        ("k", 10, -4),
        ("k", 7, 1),
    ]


def test_an_on_evict_that_raises_is_a_letter_with_the_state():
    def evict(state, key, time):
        raise RuntimeError("no")

    state = State('{"n":4}', 0, timed_out=True)
    (made,) = function(spoils_then_raises, 10, evict).of_key(("k",), rows(), state)
    assert made[-1] == {"key": '{"key":"k"}', "text": None, "error": 'RuntimeError: no (on_evict, with the state {"n":4})'}
    assert state.removed


def test_without_dead_letters_the_epoch_ends_with_a_sentence_that_names_stage_and_row():
    told = r"stage 'mine' fails for the row Row\(key='k', v=-2, .*: ValueError: -2 is too low\. Mend"
    with pytest.raises(RowError, match=told):
        function(spoils_then_raises, guards=False).of_key(("k",), rows(1, -2), State())


def sees(state, row):
    state.seen = {**(state.seen or {}), datetime(2026, 1, 1).date(): row.v}
    return (row.v, len(state.seen))


SEEN = struct(seen=MapType(DateType(), LongType()))
ODD = '{"seen":{"2025-12-31":1,"New Year":2}}'
TOLD = "field 'seen' of the state of stage 'mine' cannot be read: the key 'New Year' is no date"


def test_rows_of_a_key_whose_state_cannot_be_read_are_letters_and_the_state_stays():
    state = State(ODD, 9)
    made = function(sees, 100, kept=SEEN).of_key(("k",), rows(1, 2), state)
    assert parts(made) == [letter(v, f"ValueError: {TOLD}") for v in (1, 2)]
    assert state.get == (ODD, 9)
    assert state.timeout == 109


def test_restored_state_that_cannot_be_read_is_kept_too():
    state, given = State(), rows(1)
    items = Items([None, *given.rows], [None, *given.times], [{"state": ODD, "__last": 9}, None])
    assert parts(function(sees, kept=SEEN).of_key(("k",), items, state)) == [letter(1, f"ValueError: {TOLD}")]
    assert state.get == (ODD, 9)


def test_state_that_cannot_be_read_goes_with_a_letter_when_its_time_has_come():
    state = State(ODD, 9, timed_out=True)
    (made,) = function(sees, 100, lambda state, key, time: (1, 1), kept=SEEN).of_key(("k",), rows(), state)
    assert made[-1] == {"key": '{"key":"k"}', "text": None, "error": f"ValueError: {TOLD} (on_evict, with the state {ODD})"}
    assert state.removed


def test_without_dead_letters_state_that_cannot_be_read_ends_the_epoch_with_a_sentence():
    with pytest.raises(ValueError, match=rf"^{TOLD}; dead_letters of map_stateful keep"):
        function(sees, guards=False, kept=SEEN).of_key(("k",), rows(1), State(ODD, 9))


def test_state_that_an_older_release_kept_beyond_its_type_is_a_letter_until_the_function_mends_it():
    def mends(state, row):
        if row.v > 0:
            state.n = 0
        return (row.v, 1)

    state = State('{"n":1099511627776}', 9)
    (first, second) = function(mends).of_key(("k",), rows(-1, 2), state)
    assert "field 'n' of the state of stage 'mine' cannot be 1099511627776" in first[-1]["error"] or second[-1]["error"]
    assert state.get[0] == '{"n":0}'
    state = State('{"n":1099511627776}', 9)
    assert len(function(mends).of_key(("k",), rows(-1), state)) == 1
    assert state.get == ('{"n":1099511627776}', 9)


FAR = (datetime(9999, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 7


@pytest.mark.parametrize("guards", [True, False])
def test_times_that_python_has_not_are_letters(guards):
    odd = function(spoils_then_raises, guards=guards)
    near = 1_767_225_600_000_000
    times = pa.array([near, FAR, near], pa.int64()).cast(pa.timestamp("us", "UTC"))
    row = pa.StructArray.from_arrays([pa.array(["k"] * 3), pa.array([1, 2, 3]), times], names=["key", "v", "at"])
    items = odd.of_arrow(pa.RecordBatch.from_arrays([row, times], names=["__row", "__at"]))
    assert items.part(1, 1).times == [FAR // 1000]
    state = State()
    made = odd.of_key(("k",), items, state)
    assert [made_row[:3] for made_row in made] == [("k", 1, 1), ("k", 3, 2), ("k", None, None)]
    told = made[-1][-1]
    assert json.loads(told["text"])["v"] == 2
    assert str(FAR) in json.loads(told["text"])["at"]
    assert told["error"].startswith("Python has no such value: ")
    assert state.get == ('{"n":2}', near // 1000)
    assert set(told) == set(LETTER_TYPE.fieldNames())


def test_a_key_that_python_has_not_is_none_and_its_rows_are_letters():
    times = pa.array([FAR], pa.int64()).cast(pa.timestamp("us", "UTC"))
    assert function(spoils_then_raises).keys_of_arrow([times, pa.array([1])]) == [(None, 1)]
