from datetime import datetime

from visits import visits


def at(hour, minute=0):
    return datetime(2026, 1, 1, hour, minute)


def test_a_pause_ends_a_visit(job_test):
    test = job_test(visits, "clicks", "/site")
    test.push("clicks", [("ann", "/", at(9)), ("bob", "/", at(9, 20)), ("Ann", "/shop", at(9, 20)), ("ann", "/", at(9, 50))])
    test.epoch()
    test.push("clicks", ['{"user": "ann", "page"', ("bob", "/shop", at(9, 30))])
    test.epoch()
    test.advance_time("2 hours")
    visits_by_begin = sorted(test.rows("out"), key=lambda visit: (visit["user"], visit["begin"]))
    assert [list(visit.values()) for visit in visits_by_begin] == [
        ["ann", 2, "/", "/shop", at(9), 1200],
        ["ann", 1, "/", "/", at(9, 50), 0],
        ["bob", 2, "/", "/shop", at(9, 20), 600],
    ]
    assert [letter["text"] for letter in test.rows("clicks-dead-letters")] == ['{"user": "ann", "page"']
