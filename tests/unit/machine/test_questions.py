"""Questions to a run and its answers, as files."""

import os
import stat
import threading
import time

from pitstop.kit.waiting import wait_until
from pitstop.machine.questions import QuestionBox, ask

SECONDS = 30


def answering(folder, work):
    """Return (wake, thread): a run that answers questions when it is woken."""
    woken, box = threading.Event(), QuestionBox(folder)

    def run():
        woken.wait(SECONDS)
        for question in box.take():
            work(box, question)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return woken.set, thread


def test_a_question_is_answered_and_no_file_is_left(tmp_path):
    folder = tmp_path / "questions"
    modes = []

    def work(box, question):
        box.answer(question, {"twice": question.facts["n"] * 2})
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir()))

    wake, thread = answering(folder, work)
    assert ask(folder, "double", {"n": 21}, SECONDS, wake) == {"twice": 42}
    thread.join(SECONDS)
    assert list(folder.iterdir()) == []
    assert {mode & 0o077 for mode in modes} == {0}, "others may not look into it: it may hold rows"


def test_nobody_answers_in_time(tmp_path):
    began = time.monotonic()
    assert ask(tmp_path / "q", "x", {}, 0.2, lambda: None) is None
    assert 0.2 <= time.monotonic() - began < SECONDS
    assert QuestionBox(tmp_path / "q").take() == []
    assert list((tmp_path / "q").iterdir()) == []


def test_an_asker_who_leaves_waits_no_longer(tmp_path):
    began = time.monotonic()
    assert ask(tmp_path / "q", "x", {}, SECONDS, lambda: None, over=lambda: True) is None
    assert time.monotonic() - began < SECONDS / 2


def test_a_question_is_taken_once_and_none_whose_asker_has_gone(tmp_path):
    taken = []
    wake, thread = answering(tmp_path / "q", lambda box, question: taken.extend([question, *box.take()]))
    assert ask(tmp_path / "q", "x", {}, 0.5, wake) is None
    thread.join(SECONDS)
    assert len(taken) == 1
    box = QuestionBox(tmp_path / "q")
    assert wait_until(lambda: taken[0].until < time.time(), SECONDS)
    box.answer(taken[0], {"late": True})
    assert list((tmp_path / "q").iterdir()) == [], "an answer that nobody waits for is not written"


def test_other_files_and_remnants_harm_nobody(tmp_path):
    folder = tmp_path / "q"
    folder.mkdir()
    (folder / "broken.question").write_text("{")
    (folder / "other").write_text("x")
    old = folder / "old.answer"
    old.write_text("{}")
    os.utime(old, (time.time() - 3600,) * 2)
    assert QuestionBox(folder).take() == []
    assert ask(folder, "x", {}, 0.1, lambda: None) is None
    assert not old.exists()


def test_a_box_that_nobody_has_asked_has_no_question(tmp_path):
    assert QuestionBox(tmp_path / "none").take() == []
