"""Running results in a map: the entry of a key is its last result, also when the row that made it was late."""

import datetime as dt

import pytest

import pitstop as ps

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@ps.job
def totals():
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail("in", schema="k string, v bigint, ts timestamp"), name="rows")
    running = (
        rows.with_timestamps("ts", allowed_lag="1 minute")
        .group_by("k")
        .rolling_aggregate("running", n=ps.count(), total=ps.sum("v"))
    )
    running.select("k", "n", "total").write_to(ps.sinks.map("totals", key="k"), name="out")
    return p


def at(minute):
    return dt.datetime(2026, 1, 1, 9, minute)


@pytest.mark.parametrize(
    "late",
    [
        pytest.param([("a", 1000, at(30))], id="an older row"),
        pytest.param([("a", 1000, None)], id="a row without a time"),
        pytest.param([("a", -20, at(47)), ("a", 1, at(47)), ("a", 110, at(47))], id="rows of the same time"),
        pytest.param([("a", 5, at(50)), ("a", 7, at(20)), ("b", 1, at(10))], id="a newer and an older row"),
    ],
)
def test_the_entry_is_the_result_of_all_rows(job_test, late):
    test = job_test(totals)
    first = [("a", 3, at(47)), ("a", 4, at(46)), ("b", 1, at(47))]
    for rows in (first, late):
        test.push("rows", rows)
        test.epoch()
    rows = first + late
    expected = {
        k: {"k": k, "n": sum(k == key for key, *_ in rows), "total": sum(v for key, v, _ in rows if key == k)} for k in "ab"
    }
    assert test.entries("totals") == expected
