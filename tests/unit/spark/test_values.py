"""State of any year can be looked at."""

from datetime import UTC, datetime

import pyarrow as pa

from pitstop.spark.base.values import value_of

MOMENT = pa.timestamp("us", "UTC")
FAR, EARLY = 253_402_300_800_000_000, -62_135_596_800_000_001


def test_times_that_python_can_tell_are_told_by_it():
    assert value_of(pa.scalar(0, MOMENT)) == datetime(1970, 1, 1, tzinfo=UTC)
    assert value_of(pa.scalar(None, MOMENT)) is None


def test_times_of_other_years_are_text():
    assert value_of(pa.scalar(FAR, MOMENT)) == "10000-01-01 00:00:00.000000"
    assert value_of(pa.scalar(EARLY, MOMENT)) == "0000-12-31 23:59:59.999999"
    assert value_of(pa.scalar(-719_529, pa.date32())) == "-0001-12-31"


def test_so_are_those_within_other_values():
    kind = pa.struct([("at", MOMENT), ("n", pa.list_(MOMENT))])
    value = pa.array([{"at": FAR, "n": [0, None, FAR]}], kind)[0]
    assert value_of(value) == {
        "at": "10000-01-01 00:00:00.000000",
        "n": [datetime(1970, 1, 1, tzinfo=UTC), None, "10000-01-01 00:00:00.000000"],
    }
