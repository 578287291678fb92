from datetime import datetime, timedelta

from meters import meters


def at(hour, day=1):
    return datetime(2026, 1, day, hour)


def test_each_reading_is_counted_or_kept_with_its_reason(job_test):
    test = job_test(meters, "readings", "/out")
    future = datetime.now() + timedelta(days=400)
    test.push("readings", [("m1", 100, at(8)), ("m2", 7, at(8)), "m1,a lot,today", ("m2", 9, future)])
    test.epoch()
    test.push("readings", [("m1", 130, at(14)), ("m2", 5, at(14))])
    test.epoch()
    test.push("readings", [("m1", 131, at(9))])
    test.epoch()
    test.advance_time("3 days")
    assert {(row["meter"], row["used"]) for row in test.rows("days-out")} == {("m1", 131), ("m2", 7)}
    letters = {sink: test.rows(sink) for sink in ("readings-dead-letters", "hours-late-rows", "meters-dead-letters")}
    assert [letter["text"] for letter in letters["readings-dead-letters"]] == ["m1,a lot,today"]
    assert [letter["error"].split(",")[0] for letter in letters["hours-late-rows"]] == ["late: time is 2026-01-01 09:00:00"]
    (wrong,) = letters["meters-dead-letters"]
    assert (wrong["key"], wrong["error"]) == ('{"meter":"m2"}', "ValueError: the meter went back from 7 to 5")
    (ahead,) = test.rows("readings-rows-far-ahead")
    assert "ahead of the clock" in ahead["error"]
