from datetime import datetime

from speeds import speeds


def at(minute, second=0):
    return datetime(2026, 1, 1, 12, minute, second)


def test_a_minute_has_its_top_speed(job_test):
    test = job_test(speeds, "cars")
    test.push("cars", [("car1", 40.0, at(0, 5)), ("car1", 60.0, at(0, 10))])
    test.epoch()
    assert test.entries("latest") == {"car1": 60.0}
    test.advance_time("2 minutes")
    assert test.rows("minutes") == [{"vin": "car1", "window_start": at(0), "window_end": at(1), "n": 2, "top": 60.0}]


def test_a_line_that_cannot_be_read_is_kept(job_test):
    test = job_test(speeds, "cars")
    test.push("cars", ["car1,fast,now", {"vin": "car2", "speed": 50.0, "time": at(0)}])
    test.epoch()
    assert [row["text"] for row in test.rows("cars-dead-letters")] == ["car1,fast,now"]
    assert test.entries("latest") == {"car2": 50.0}


def test_a_silent_car_is_told(job_test):
    test = job_test(speeds, "cars", "3 minutes")
    test.push("cars", [("car1", 40.0, at(0)), ("car2", 50.0, at(0))])
    test.epoch()
    test.advance_time("2 minutes")
    test.push("cars", [("car1", 41.0, at(2))])
    test.epoch()
    test.advance_time("2 minutes")
    assert test.rows("silent") == [{"vin": "car2", "rows": 1}]


def test_no_row_is_lost_or_doubled_in_a_crash(job_test):
    test = job_test(speeds, "cars")
    test.push("cars", [("car1", 40.0, at(0))])
    test.epoch()
    test.push("cars", [("car1", 50.0, at(0, 1))])
    test.crash()
    assert [row["speed"] for row in test.rows("latest")] == [40.0, 50.0]
    assert [(row["vin"], row["n"]) for row in test.state("speed")] == [("car1", 2)]


def test_the_second_version_goes_on_where_the_first_one_stopped(job_test):
    import speeds_v2

    test = job_test(speeds, "cars")
    test.push("cars", [("car1", 40.0, at(0))])
    test.epoch()
    report = test.upgrade(speeds_v2.speeds)
    assert report.of("converted") == ("speed",)
    test.push("cars", [("car1", 60.0, at(0, 30))])
    test.epoch()
    test.advance_time("2 minutes")
    (minute,) = test.rows("minutes")
    assert (minute["n"], minute["top"], minute["mean"]) == (2, 60.0, 60.0)  # the mean counts from the update on
