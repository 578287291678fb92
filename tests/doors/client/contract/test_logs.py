"""Logs and levels of loggers, over every service."""

import pytest

from pitstop.errors import (
    NotFoundError,
    UsageError,
)
from pitstop.machine.log_levels import LogLevel
from pitstop.machine.rotating import RotatingLog, Rotation
from pitstop.service.log_results import LoggerLevel, LoggerScope, LogPage
from tests.doors.doors import running


def test_a_log_is_read_on_from_where_it_was_left(pair):
    service, state = pair
    job = running(state)
    state.write_log(job, "ä\nb\n\nhalf")
    first = service.logs(job, 0, 2)
    assert first.lines == ["ä", "b"]
    second = service.logs(job, first.next)
    assert second.lines == [""]
    assert service.logs(job, second.next) == LogPage([], second.next)
    state.write_log(job, " whole\n")
    assert service.logs(job, second.next).lines == ["half whole"]


def test_a_log_is_read_on_through_its_parts_and_what_is_no_longer_kept_is_told(pair):
    service, state = pair
    job = running(state)
    writer = RotatingLog(state.log_of(job), Rotation(100, 2))
    written = [f"{i:09}" for i in range(60)]
    seen, after = [], 0
    for line in written[:20]:
        writer.write(f"{line}\n".encode())
        page = service.logs(job, after)
        assert (page.lines, page.lost) == ([line], 0)
        after = page.next
    for line in written[20:]:
        writer.write(f"{line}\n".encode())
    page = service.logs(job, after)
    assert page.lost == 100
    assert page.lines == written[30:40]
    while page.lines:
        seen += page.lines
        page = service.logs(job, page.next)
        assert page.lost == 0
    assert seen == written[30:]
    assert service.logs(job).lost == 0, "who has read nothing has lost nothing"


def test_levels_of_loggers_are_set_for_all_and_for_one_job_and_taken_back(pair):
    service, state = pair
    job = running(state, "x")
    usual = [LoggerLevel("pitstop", LogLevel.INFO, LoggerScope.USUAL), LoggerLevel("root", LogLevel.WARN, LoggerScope.USUAL)]
    assert service.log_levels() == service.log_levels("x") == usual
    of_all = LoggerLevel("pitstop.source", LogLevel.DEBUG, LoggerScope.ALL)
    assert service.set_log_level("pitstop.source", "debug") == [usual[0], of_all, usual[1]]
    of_job = LoggerLevel("root", LogLevel.OFF, LoggerScope.JOB)
    assert service.set_log_level("root", "OFF", "x") == [usual[0], of_all, of_job]
    assert service.log_levels() == [usual[0], of_all, usual[1]]
    assert service.log_levels(job) == [usual[0], of_all, of_job]
    assert service.set_log_level("root", None, job) == [usual[0], of_all, usual[1]]
    assert service.set_log_level("pitstop.source", None) == usual
    assert service.set_log_level("never.set", None) == usual


def test_what_is_no_level_no_logger_or_no_job_is_refused(pair):
    service, _ = pair
    with pytest.raises(UsageError, match=r"^There is no log level 'loud'; there are: TRACE, DEBUG, INFO, WARN, ERROR, OFF\.$"):
        service.set_log_level("a", "loud")
    with pytest.raises(UsageError, match=r"^'a b' names no logger: "):
        service.set_log_level("a b", "INFO")
    for act in (lambda: service.log_levels("nosuch"), lambda: service.set_log_level("a", "INFO", "nosuch")):
        with pytest.raises(NotFoundError, match="'nosuch'"):
            act()
