"""How users say how much is to be kept."""

import dataclasses
from pathlib import Path

import pytest

from pitstop.errors import UsageError
from pitstop.model.retention import KEPT, USUAL, Retention

DAY = 86_400
LATEST = "The state of a cancelled job goes with its result at the latest: "


def test_each_setting_has_its_field_and_each_field_its_setting():
    assert [kept.field for kept in KEPT] == [field.name for field in dataclasses.fields(Retention)]


def test_where_nobody_says_otherwise_as_much_is_kept_as_ever():
    assert Retention.of([]) == USUAL == Retention(1000, 7 * DAY, DAY, 1000, 50, 10_000, 900, DAY)


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ("results=20", "results", 20),
        ("result-time=30d", "result_time", 30 * DAY),
        ("cancelled-time = 36 h", "cancelled_time", 36 * 3600),
        ("events=5000", "events", 5000),
        ("versions=1", "versions", 1),
        ("audit=100", "audit", 100),
        ("seconds-history=90 seconds", "seconds_history", 90),
        ("minutes-history=7 days", "minutes_history", 7 * DAY),
    ],
)
def test_what_is_given_is_kept_and_the_rest_stays_as_usual(given, field, value):
    assert Retention.of([given]) == dataclasses.replace(USUAL, **{field: value})


def test_what_is_given_later_goes_over_what_was_given_before():
    assert Retention.of(["events=20", "versions=3", "events=30"]) == Retention(events=30, versions=3)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("event=20", "Nothing that is kept is named 'event'; there are: " + ", ".join(kept.name for kept in KEPT) + "."),
        ("seconds_history=1h", "Nothing that is kept is named 'seconds_history'; there are: results"),
        ("events", "'events' does not say how much to keep: write NAME=VALUE, such as events=500 or result-time=30d."),
        ("events=", "Invalid number for events: "),
        ("events=many", "Invalid number for events: many"),
        ("events=1.5", "Invalid number for events: 1.5"),
        ("results=-1", "results can't be negative: -1"),
        ("results=0", "results can't be less than 1: 0"),
        ("events=9", "events can't be less than 10: 9"),
        ("versions=1001", "versions can't be more than 1,000: 1001"),
        ("audit=99", "audit can't be less than 100: 99"),
        ("result-time=604800", "'604800' is no result-time: write a number and a unit, such as '10 seconds' or '4 minutes'."),
        ("result-time=a week", "'a week' is no result-time: write a number and a unit"),
        ("result-time=-1d", "'-1d' is no result-time: write a number and a unit"),
        ("cancelled-time=59 minutes", "cancelled-time is from 1 hour to 36500 days, not 59 minutes."),
        ("seconds-history=1d", "seconds-history is from 1 minute to 12 hours, not 1 day."),
        ("minutes-history=32d", "minutes-history is from 1 hour to 31 days, not 32 days."),
        ("result-time=12h", f"{LATEST}cancelled-time (1 day) can't be longer than result-time (12 hours)."),
        ("cancelled-time=8d", f"{LATEST}cancelled-time (8 days) can't be longer than result-time (7 days)."),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(given, told):
    with pytest.raises(UsageError) as refused:
        Retention.of([given])
    assert refused.value.message.startswith(told)


@pytest.mark.parametrize("values", [{"results": 0}, {"events": 10**7}, {"minutes_history": float("nan")}, {"result_time": 1e30}])
def test_code_cannot_make_what_users_cannot_write(values):
    with pytest.raises(UsageError):
        Retention(**values)


def test_the_bounds_themselves_are_allowed():
    for end in ("least", "most"):
        Retention(**{kept.field: getattr(kept, end) for kept in KEPT})


def test_what_is_written_down_is_read_back_whatever_another_release_has_added():
    set_otherwise = Retention(7, 3 * DAY, 5400.0, 70, 8, 900, 61.5, 3601)
    assert Retention.from_json(set_otherwise.to_json()) == set_otherwise
    assert set_otherwise.written()["cancelled-time"] == "90 minutes"
    assert Retention.from_json('{"events": "70", "tea-time": "5 minutes"}') == Retention(events=70)


@pytest.mark.parametrize("text", ["", "[]", "7", "{", '{"events": "none"}', '{"result-time": "1 hour"}'])
def test_a_damaged_file_is_told(text):
    with pytest.raises(ValueError, match=r"."):
        Retention.from_json(text)


def test_no_other_page_says_numbers_without_saying_that_they_are_settings():
    docs = Path(__file__).parents[3] / "docs"
    for page in ("guarantees.md", "glossary.md", "job-life.md"):
        assert "(keeping.md)" in (docs / page).read_text(), page
