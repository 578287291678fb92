"""Maps and their journals, over every service."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitstop.client import Client
from pitstop.errors import ConflictError, UsageError
from pitstop.maps.model import EventKind
from pitstop.service import map_verbs
from pitstop.service.map_results import MapFacts
from tests.doors.doors import MOMENT

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=KEYS | st.sampled_from(["", ".", "..", "a/../b", "a//b", "%2F", "?x=1#y", "+ "]), value=VALUES)
def test_any_text_without_a_nul_is_a_key_and_any_json_a_value(pair, key, value):
    service, _ = pair
    service.map_put("m", {key: json.dumps(value)})
    assert json.loads(service.map_get("m", key)) == value
    found = service.map_entries("m", prefix=key, limit=1)[0]
    assert (found.key, json.loads(found.value)) == (key, value)
    assert service.map_delete("m", key) is True
    assert service.map_delete("m", key) is False
    assert service.map_get("m", key) is None


def test_clearing_deletes_each_entry_with_an_event_and_leaves_the_map(pair):
    service, _ = pair
    service.map_put("m", {"a": "1", "b": "null"})
    assert service.map_clear("m") == 2
    assert (service.map_size("m"), service.map_clear("m"), service.map_clear("nobody")) == (0, 0, 0)
    events = [(event.kind, event.key, event.old_value) for event in service.map_journal("m").events]
    assert events[2:] == [(EventKind.REMOVED, "a", "1"), (EventKind.REMOVED, "b", "null")]
    assert [facts.name for facts in service.maps()] == ["m"]


def test_a_key_with_a_nul_is_refused(pair):
    service, _ = pair
    with pytest.raises(UsageError, match="holds a NUL"):
        service.map_put("m", {"a\0b": "1"})


def test_entries_come_in_pages_by_key(pair):
    service, _ = pair
    service.map_put("m", {f"k{i:02}": str(i) for i in range(7)} | {"other": "1"})
    first = service.map_entries("m", "k", None, 4)
    second = service.map_entries("m", "k", first[-1].key, 4)
    assert [entry.key for entry in first + second] == [f"k{i:02}" for i in range(7)]
    assert first[0].created == pytest.approx(MOMENT, abs=1e-6)
    assert (service.map_size("m"), service.map_size("nosuch"), service.map_entries("nosuch")) == (8, 0, [])


def test_entries_are_searched_by_what_is_in_their_values(pair):
    service, _ = pair
    service.map_put("m", {f"k{number:02}": json.dumps({"speed": number}) for number in range(20)} | {"other": '{"speed": 99}'})
    found = service.map_search("m", "speed >= 15", prefix="k", limit=3)
    assert [(entry.key, json.loads(entry.value)) for entry in found.entries] == [(f"k{n}", {"speed": n}) for n in (15, 16, 17)]
    assert (found.looked_at, found.stopped_at) == (18, "k17")
    rest = service.map_search("m", "speed >= 15", prefix="k", after=found.stopped_at, limit=3)
    assert ([entry.key for entry in rest.entries], rest.looked_at, rest.stopped_at) == (["k18", "k19"], 2, None)
    assert service.map_search("nosuch", "speed > 1").entries == []
    with pytest.raises(UsageError, match="The condition 'speed' cannot be read: write a field"):
        service.map_search("m", "speed")


def test_a_search_looks_at_so_many_entries_at_most_and_says_where_it_has_stopped(pair, monkeypatch):
    service, _ = pair
    monkeypatch.setattr(map_verbs, "SEARCHED_SECONDS", 60.0)
    service.map_put("many", {f"{number:05}": str(number) for number in range(10_700)})
    found = service.map_search("many", "= 10600")
    assert (found.entries, found.looked_at, found.stopped_at) == ([], 10_000, "09999")
    rest = service.map_search("many", "= 10600", after=found.stopped_at)
    assert ([entry.key for entry in rest.entries], rest.looked_at, rest.stopped_at) == (["10600"], 700, None)


def test_a_search_takes_so_long_at_most(pair, monkeypatch):
    service, _ = pair
    service.map_put("many", {f"{number:05}": str(number) for number in range(1_200)})
    monkeypatch.setattr(map_verbs, "SEARCHED_SECONDS", 0.0)
    found = service.map_search("many", "= 1100")
    assert (found.entries, found.looked_at, found.stopped_at) == ([], 500, "00499")


def test_a_journal_tells_what_happened_and_what_it_has_lost(pair):
    service, _ = pair
    service.map_configure("m", journal_capacity=3)
    service.map_put("m", {"a": "1"})
    service.map_put("m", {"a": "null"})
    service.map_put("m", {"b": '"x"'})
    service.map_delete("m", "a")
    found = service.map_journal("m", after=0)
    facts = [(e.sequence, e.kind, e.key, e.old_value, e.new_value) for e in found.events]
    assert facts == [
        (2, "UPDATED", "a", "1", "null"),
        (3, "ADDED", "b", None, '"x"'),
        (4, "REMOVED", "a", "null", None),
    ]
    assert (found.lost, found.oldest, found.newest) == (1, 2, 4)
    assert service.map_journal("m").lost == 0
    assert service.map_journal("m", after=3, limit=1).events[0].sequence == 4
    assert service.maps() == [MapFacts("m", size=1, journal_capacity=3, ttl_seconds=None, oldest=2, newest=4)]


@pytest.mark.parametrize("name", ["", "a/b", "../x"])
def test_a_map_has_a_proper_name(pair, name):
    with pytest.raises(UsageError, match="cannot name a map"):
        pair[0].map_put(name, {"k": "1"})


def test_an_entry_is_written_and_removed_only_if_nobody_else_has_written_it_meanwhile(pair):
    cars = Client(pair[0]).map("cars")
    cars.put("a", {"n": 1}, expected_version=0)
    read = cars.entry("a")
    assert (json.loads(read.value), read.version, read.expires) == ({"n": 1}, 1, None)
    assert (read.created, read.updated) == (pytest.approx(MOMENT, abs=1e-6),) * 2
    cars.put("a", {"n": 2})
    sentence = "entry 'a' of map 'cars' meanwhile: it has version 2, and was expected to have version 1"
    with pytest.raises(ConflictError, match=sentence) as refused:
        cars.put("a", {"n": 3}, expected_version=read.version)
    assert refused.value.details == {"key": "a", "found": 2, "expected": 1}
    with pytest.raises(ConflictError, match=sentence):
        cars.delete("a", version=1)
    with pytest.raises(ConflictError, match="was expected to have version 0, which is none"):
        cars.put("a", {"n": 3}, expected_version=0)
    cars.put("a", {"n": 3}, expected_version=2)
    assert cars.get("a") == {"n": 3}
    assert cars.delete("a", version=3)
    with pytest.raises(ConflictError, match="it has version 0, which is none"):
        cars.delete("a", version=3)
    assert (cars.entry("a"), cars.delete("a")) == (None, False)


def test_an_expected_version_is_that_of_all_entries(pair):
    with pytest.raises(ConflictError, match="entry 'a' of map 'm'"):
        pair[0].map_put("m", {"a": "1", "b": "2"}, 1)
    assert pair[0].maps() == []
    pair[0].map_put("m", {"a": "1", "b": "2"}, 0)
    assert pair[0].map_size("m") == 2
