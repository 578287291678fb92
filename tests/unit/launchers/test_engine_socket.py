"""Processes and engines speak in lines of JSON, and each notices the other's end."""

import threading

import pytest

from pitstop.errors import EngineError
from pitstop.launchers.engine_socket import EngineConnection, connect, listening


@pytest.fixture
def ends(tmp_path):
    """Both ends of a connection, through a path that is longer than a socket's may be."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    with listening(folder / "engine.sock") as listener:
        ours = connect(folder / "engine.sock")
        theirs = EngineConnection(listener.accept()[0])
        yield ours, theirs
        ours.close()
        theirs.close()


def test_a_question_gets_its_answer(ends):
    ours, theirs = ends
    answering = threading.Thread(target=lambda: theirs.send({"heard": theirs.receive()}), daemon=True)
    answering.start()
    assert ours.ask({"job": "käse"}, 30) == {"heard": {"job": "käse"}}


def test_an_answer_that_says_an_error_is_raised_and_may_pass(ends):
    ours, theirs = ends
    theirs.send({"error": "the query goes on"})
    with pytest.raises(EngineError, match="the query goes on") as raised:
        ours.ask({"job": "a"}, 30)
    assert raised.value.details["away"]


def test_an_engine_that_does_not_answer_is_told(ends):
    with pytest.raises(EngineError, match="gone, or does not answer"):
        ends[0].ask({"job": "a"}, 0.05)


def test_the_other_end_is_noticed_when_it_goes(ends):
    ours, theirs = ends
    noticed = threading.Event()
    threading.Thread(target=lambda: (ours.wait_for_end(), noticed.set()), daemon=True).start()
    theirs.send({"something": "that is not the end"})
    assert not noticed.wait(0.1)
    theirs.close()
    assert noticed.wait(30)


def test_nobody_listens_where_there_is_no_engine(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        connect(tmp_path / "engine.sock")


def test_others_cannot_reach_the_socket(tmp_path):
    with listening(tmp_path / "engine.sock"):
        assert (tmp_path / "engine.sock").stat().st_mode & 0o077 == 0
