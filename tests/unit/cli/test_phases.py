"""A command that waits says so: at once on a terminal, after a while elsewhere."""

import threading

import pytest

from pitstop.cli import phases
from pitstop.errors import UnreachableError
from pitstop.kit.waiting import wait_until


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(phases, "QUIET_SECONDS", 0.0)


def test_work_that_takes_long_tells_its_phases_a_line_each(impatient, capsys):
    told = threading.Event()

    def follow(ended):
        yield "the old version\x1b[2J stops"
        yield "the new one starts"
        told.set()

    with phases.waiting("Changing over", follow):
        assert told.wait(10)
    assert capsys.readouterr() == ("", "Changing over ...\nthe old version\\u001b[2J stops\nthe new one starts\n")


def test_short_work_tells_nothing_where_a_program_may_read(capsys):
    with phases.waiting("Changing over", lambda ended: iter(["never"])):
        pass
    assert capsys.readouterr() == ("", "")


def test_nothing_is_told_if_nobody_wants_it(impatient, monkeypatch, capsys):
    monkeypatch.setenv("PITSTOP_PROGRESS", "off")
    before = set(threading.enumerate())
    with phases.waiting("Work", lambda ended: iter(["a phase"])):
        assert set(threading.enumerate()) <= before
    assert capsys.readouterr() == ("", "")


def test_what_happens_after_the_work_is_not_told(impatient, capsys):
    begun, over = threading.Event(), threading.Event()

    def follow(ended):
        begun.set()
        ended.wait(10)
        yield "too late"
        over.set()

    before = set(threading.enumerate())
    with phases.waiting("Work", follow):
        assert begun.wait(10)
    assert wait_until(lambda: set(threading.enumerate()) <= before, 10)
    assert capsys.readouterr().err == "Work ...\n"


def test_a_server_that_does_not_answer_ends_the_phases_and_not_the_work(impatient, capsys):
    asked = threading.Event()

    def follow(ended):
        asked.set()
        raise UnreachableError("away")
        yield

    before = set(threading.enumerate())
    with phases.waiting("Work", follow):
        assert asked.wait(10)
    assert wait_until(lambda: set(threading.enumerate()) <= before, 10)
    assert capsys.readouterr().err == "Work ...\n"
