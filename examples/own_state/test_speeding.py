from datetime import datetime

from speeding import speeding


def at(second):
    return datetime(2026, 1, 1, 12, 0, second)


def test_three_times_in_a_row_are_told_once_also_across_epochs_and_a_crash(job_test):
    test = job_test(speeding, "pings")
    test.push("pings", [("car1", 131.0, at(0)), ("car1", 140.0, at(1)), ("car2", 150.0, at(0)), ("car2", 90.0, at(1))])
    test.epoch()
    assert test.rows("alerts") == []
    test.push("pings", [("car2", 150.0, at(2)), ("car1", 135.0, at(2)), ("car2", 155.0, at(3))])
    test.crash()
    test.push("pings", [("car1", 150.0, at(3))])
    test.epoch()
    assert test.rows("alerts") == [{"vin": "car1", "speeds": [131.0, 140.0, 135.0]}]


def test_another_limit_goes_on_with_the_same_state(job_test):
    test = job_test(speeding, "pings")
    test.push("pings", [("car1", 131.0, at(0)), ("car1", 140.0, at(1))])
    test.epoch()
    report = test.upgrade(speeding, "pings", "110")
    assert report.of("restored") == ("pings", "speeding")
    test.push("pings", [("car1", 120.0, at(2))])
    test.epoch()
    assert [row["speeds"] for row in test.rows("alerts")] == [[131.0, 140.0, 120.0]]
