"""What every store of members promises."""

import dataclasses

import pytest

from pitstop.errors import ConflictError, NotFoundError
from pitstop.model.cluster import Member, MemberState
from pitstop.store.members import SILENT_SECONDS


@pytest.fixture
def members(store):
    return store.members


def member(name, number=1):
    return Member(f"id-{name}-{number}", name, "127.0.0.1", "0.1.0", 2)


def test_who_has_joined_is_listed_by_name(store, members):
    joined = store.clock.now()
    for name in ("b", "a"):
        members.join(member(name))
    expected = [dataclasses.replace(member(name), joined=joined, seen=joined) for name in ("a", "b")]
    assert members.list() == expected


def test_a_member_lives_as_long_as_its_heart_beats(store, members):
    members.join(member("a"))
    members.join(member("b"))
    for _ in range(3):
        store.clock.advance(SILENT_SECONDS / 2)
        assert members.beat("id-a-1") is MemberState.ACTIVE
    assert [found.name for found in members.list()] == ["a"]
    assert members.beat("id-b-1") is None, "it was taken for dead: it joins again"
    members.join(member("b"))
    assert [found.name for found in members.list()] == ["a", "b"]


def test_a_name_belongs_to_one_living_member(store, members):
    members.join(member("a", 1))
    with pytest.raises(ConflictError, match=r"^There is a member 'a' already, at 127.0.0.1: choose another name\.$"):
        members.join(member("a", 2))
    store.clock.advance(SILENT_SECONDS)
    members.join(member("a", 2))
    assert [found.id for found in members.list()] == ["id-a-2"]
    assert members.beat("id-a-1") is None


def test_who_joins_again_is_there_once(members):
    members.join(member("a"))
    members.join(member("a"))
    assert len(members.list()) == 1


def test_a_member_that_is_asked_to_leave_hears_of_it_and_leaves(members):
    members.join(member("a"))
    members.ask_to_leave("a")
    assert members.list()[0].state is MemberState.LEAVING
    assert members.beat("id-a-1") is MemberState.LEAVING
    members.leave("id-a-1")
    assert members.list() == []
    assert members.beat("id-a-1") is None
    with pytest.raises(NotFoundError, match="There is no member 'a'"):
        members.ask_to_leave("a")
