"""Levels of loggers in files that running processes follow."""

import json
import logging

import pytest

from pitstop.errors import UsageError
from pitstop.machine import logs
from pitstop.machine.log_levels import Follower, LogLevel, check_level, check_logger, read_levels, write_levels


@pytest.fixture
def own_levels():
    """Nobody shows Pitstop's lines yet, whatever tests ran before; afterwards all is as it was."""
    logger = logging.getLogger("pitstop")
    before = logger.handlers[:], logger.propagate
    logger.handlers.clear()
    yield
    logger.handlers[:], logger.propagate = before
    logs.apply_levels({})
    logging.getLogger().setLevel(logging.WARNING)
    logger.setLevel(logging.NOTSET)


class Time:
    now = 0.0

    def __call__(self):
        return self.now


def following(*files):
    applied, told, clock = [], [], Time()
    return Follower(files, applied.append, told.append, clock), applied, told, clock


def test_levels_are_written_and_read(tmp_path):
    path = tmp_path / "jobs" / "x" / "levels.json"
    assert read_levels(path) == {}
    write_levels(path, {"pitstop.source": LogLevel.DEBUG, "root": LogLevel.OFF})
    assert read_levels(path) == {"pitstop.source": LogLevel.DEBUG, "root": LogLevel.OFF}
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "[]", "7", '{"a": 1}', '{"a": "loud"}', '{"": "INFO"}', '{"a b": "INFO"}', "\x00"])
def test_what_is_no_levels_is_refused_in_one_sentence(tmp_path, text):
    path = tmp_path / "levels.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"^The file .*levels\.json holds no log levels: .*\.$"):
        read_levels(path)


def test_names_and_levels_are_checked():
    assert check_level("wArn") is LogLevel.WARN
    assert check_logger("org.apache.spark.sql.Foo$") == "org.apache.spark.sql.Foo$"
    with pytest.raises(UsageError, match=r"There is no log level 'loud'; there are: TRACE, DEBUG, INFO, WARN, ERROR, OFF\."):
        check_level("loud")
    for name in ("", "a b", "a\n", "x" * 201, "é", "-a"):
        with pytest.raises(UsageError, match="names no logger"):
            check_logger(name)


def test_a_follower_tells_what_changes_and_looks_seldom(tmp_path):
    everywhere, of_job = tmp_path / "all.json", tmp_path / "job.json"
    follower, applied, _, clock = following(everywhere, of_job)
    follower.look()
    assert applied == [], "as usual"
    write_levels(everywhere, {"a": LogLevel.DEBUG, "b": LogLevel.INFO})
    follower.look()
    assert applied == [], "it has just looked"
    clock.now += 1
    follower.look()
    write_levels(of_job, {"a": LogLevel.TRACE})
    clock.now += 1
    follower.look()
    clock.now += 1
    follower.look()
    everywhere.unlink()
    clock.now += 1
    follower.look()
    assert applied == [{"a": "DEBUG", "b": "INFO"}, {"a": "TRACE", "b": "INFO"}, {"a": "TRACE"}]


def test_a_file_that_was_written_wrongly_by_hand_is_told_of_once_and_the_others_hold(tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    write_levels(good, {"a": LogLevel.DEBUG})
    bad.write_text("{")
    follower, applied, told, clock = following(good, bad)
    for _ in range(3):
        follower.look()
        clock.now += 1
    assert applied == [{"a": "DEBUG"}]
    assert len(told) == 1
    assert str(bad) in told[0]


def test_pythons_loggers_take_levels_over_and_give_them_back(own_levels):
    logs.apply_levels({"pitstop.source": LogLevel.DEBUG, "fleet": LogLevel.OFF, "root": LogLevel.ERROR})
    assert logging.getLogger("pitstop.source.http_poll").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("pitstop.engine").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("fleet.x").isEnabledFor(logging.CRITICAL)
    assert not logging.getLogger("other").isEnabledFor(logging.WARNING)
    logs.apply_levels({})
    assert not logging.getLogger("pitstop.source.http_poll").isEnabledFor(logging.DEBUG)
    assert logging.getLogger("pitstop.source.http_poll").isEnabledFor(logging.INFO)
    assert logging.getLogger("fleet.x").isEnabledFor(logging.WARNING)
    assert not logging.getLogger("fleet.x").isEnabledFor(logging.INFO)


def test_what_is_shown_later_keeps_the_levels_that_were_set(own_levels):
    shown = []
    logs.apply_levels({"pitstop": LogLevel.DEBUG})
    logs.show("pitstop", shown.append)
    logging.getLogger("pitstop.source.x").debug("seen")
    assert [json.loads(line)["msg"] for line in shown] == ["seen"]


def test_a_line_says_when_how_grave_who_what_where_and_why():
    try:
        raise ValueError("boom")
    except ValueError as error:
        record = logging.LogRecord("a.b", logging.ERROR, "x.py", 1, "%d%% ä", (7,), (type(error), error, error.__traceback__))
    record.facts = {"stage": "cars"}
    line = json.loads(logs.as_line(record))
    assert list(line) == ["time", "level", "logger", "msg", "thread", "stage", "error"]
    assert (line["level"], line["logger"], line["msg"], line["thread"]) == ("ERROR", "a.b", "7% ä", "MainThread")
    assert line["error"].endswith("ValueError: boom")


@pytest.mark.parametrize(
    ("number", "level"), [(50, "ERROR"), (40, "ERROR"), (35, "WARN"), (20, "INFO"), (10, "DEBUG"), (5, "TRACE"), (1, "TRACE")]
)
def test_levels_between_ours_count_as_the_one_below(number, level):
    assert json.loads(logs.as_line(logging.LogRecord("a", number, "x.py", 1, "m", (), None)))["level"] == level
