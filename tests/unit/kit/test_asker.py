"""Work that nobody waits for any more is ended."""

from pitstop.kit.asker import ASKER, Asker, ended_when_nobody_waits


def test_what_is_done_for_somebody_is_ended_when_they_leave():
    asker, ended = Asker(), []
    with asker.ending(lambda: ended.append("first")), asker.ending(lambda: ended.append("second")):
        assert ended == []
        asker.leave()
        assert ended == ["first", "second"]


def test_what_is_over_is_not_ended_any_more():
    asker, ended = Asker(), []
    with asker.ending(lambda: ended.append("first")):
        pass
    asker.leave()
    assert ended == []


def test_what_is_begun_after_they_have_left_is_ended_at_once():
    asker, ended = Asker(), []
    asker.leave()
    with asker.ending(lambda: ended.append("late")):
        assert ended == ["late"]


def test_without_an_asker_everything_goes_on():
    assert ASKER.get() is None
    with ended_when_nobody_waits(lambda: pytest_fails()):
        pass


def pytest_fails():
    raise AssertionError("ended, though nobody can leave")
