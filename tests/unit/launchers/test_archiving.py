"""The process in the background that archives Spark's classes."""

import structlog
from structlog.testing import capture_logs

from pitstop.kit.waiting import wait_until
from pitstop.launchers import archiving
from pitstop.launchers.archiving import Archiving


def program(monkeypatch, text):
    monkeypatch.setattr(archiving, "COMMAND", ["sh", "-c", text])


def test_it_runs_once_and_says_where_to_look_if_it_fails(monkeypatch, tmp_path):
    program(monkeypatch, f"echo once >> {tmp_path}/times; echo no disk; exit 3")
    structlog.reset_defaults()
    one = Archiving({}, tmp_path / "log")
    with capture_logs() as told:
        assert wait_until(lambda: one.begin() or told, 10)
        one.begin()
    assert [(line["log_level"], line["exit_code"], line["log"]) for line in told] == [("warning", 3, str(tmp_path / "log"))]
    assert (tmp_path / "log").read_text() == "no disk\n"
    assert (tmp_path / "times").read_text() == "once\n"


def test_it_ends_with_the_server(monkeypatch, tmp_path):
    program(monkeypatch, "echo begun; exec sleep 600")
    one = Archiving({"PATH": "/usr/bin:/bin"}, tmp_path / "log")
    one.end()
    one.begin()
    assert wait_until(lambda: (tmp_path / "log").read_text() == "begun\n", 10)
    one.end()
    assert one.ended
