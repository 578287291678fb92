"""Entries of maps that a version wrote which is gone back from become what they were."""

import dataclasses

import pytest

from pitstop.maps.model import MapConfig
from pitstop.maps.ports import Fence
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Update, Version, Watched
from tests.contract.test_map_store import incompressible


@pytest.fixture
def store(sql_store):
    return sql_store


@pytest.fixture
def watched(store):
    """Writes to map ``m`` as run 1 of a job that may go back from update 7."""
    version = Version(1, JobSource("a.py"), {}, JobConfig())
    watching = Update(7, 60.0, Watched(version, 0.0))
    job = Job("j", "job", 0.0, version, JobState.RUNNING, token=1, update=watching)
    store.registry.add_job(job)
    store.watched_job = job

    def write(*changes, update=None):
        if update is not None:
            return store.maps.update_epoch("m", changes, update, None, Fence("j", 1))
        return store.maps.write_epoch("m", changes, None, Fence("j", 1))

    return write


def whole(store):
    return {entry.key: entry for entry in store.maps.entries("m")}


def test_entries_are_what_they_were_before_a_withdrawn_version_wrote_them(store, watched):
    store.maps.put_all("m", [("changed", "1"), ("removed", "2"), ("both", "3"), ("left", "4")])
    store.maps.put_all("m", [("changed", "10")])
    before = whole(store)
    store.clock.advance(5)
    watched(("changed", "77"), ("removed", None), ("new", "78"), ("both", "79"), ("both", None), ("brief", "1"), ("brief", None))
    store.clock.advance(5)
    watched(("changed", "80"), ("new", "81"), ("both", "82"))
    newest = store.maps.bounds("m").newest
    store.clock.advance(5)
    assert store.maps.withdraw(7) == 4
    assert whole(store) == before
    told = store.maps.journal("m", newest, 100).events
    assert [(event.kind.value, event.key, event.old_value, event.new_value) for event in told] == [
        ("UPDATED", "both", "82", "3"),
        ("UPDATED", "changed", "80", "10"),
        ("REMOVED", "new", "81", None),
        ("ADDED", "removed", None, "2"),
    ]
    assert store.maps.withdraw(7) == 0
    assert whole(store) == before
    assert store.maps.size("m") == 4


def test_what_others_have_written_since_is_not_withdrawn(store, watched):
    store.maps.put_all("m", [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")])
    store.clock.advance(1)
    watched(("a", "70"), ("b", "70"), ("c", "70"), ("d", None), ("e", "70"), ("f", "70"))
    store.clock.advance(1)
    store.maps.put_all("m", [("a", "mine"), ("d", "mine"), ("c", "mine")])
    store.maps.delete("m", "e")
    store.clock.advance(1)
    watched(("c", "71"))
    store.maps.withdraw(7)
    assert {key: entry.value for key, entry in whole(store).items()} == {"a": "mine", "b": "2", "c": "mine", "d": "mine"}


def test_old_values_that_an_update_has_added_to_come_back(store, watched):
    store.maps.put_all("m", [("n", "5")])
    for _ in range(3):
        watched(("n", "1"), ("new", "1"), update=lambda old, new: str(int(old or 0) + int(new)))
    assert {key: entry.value for key, entry in whole(store).items()} == {"n": "8", "new": "3"}
    store.maps.withdraw(7)
    assert {key: entry.value for key, entry in whole(store).items()} == {"n": "5"}


def test_an_old_value_whose_time_has_run_out_meanwhile_does_not_come_back(store, watched):
    store.maps.configure(MapConfig("m", ttl_seconds=10.0))
    store.maps.put_all("m", [("a", "1"), ("b", "2")])
    store.clock.advance(6)
    watched(("a", "70"), ("b", None))
    store.clock.advance(5)
    store.maps.withdraw(7)
    assert whole(store) == {}
    assert store.maps.size("m") == 0


def test_nothing_is_kept_of_a_job_without_an_update_and_only_until_the_watch_is_over(store, watched):
    watched(("a", "70"))
    store.maps.forget_withdrawable()
    done = dataclasses.replace(store.watched_job, update=None)
    store.registry.save_job(done)
    watched(("b", "71"))
    store.maps.forget_withdrawable()
    store.registry.save_job(store.watched_job)
    assert store.maps.withdraw(7) == 0
    assert {key: entry.value for key, entry in whole(store).items()} == {"a": "70", "b": "71"}


def test_old_values_stay_as_long_as_they_may_be_needed(store, watched):
    watched(("a", "70"))
    store.maps.forget_withdrawable()
    going_back = dataclasses.replace(store.watched_job, update=None, withdrawal=7)
    store.registry.save_job(going_back)
    store.maps.forget_withdrawable()
    assert store.maps.withdraw(7) == 1
    assert whole(store) == {}


def test_large_maps_are_withdrawn_and_forgotten_wholly(store, watched):
    keys = [f"k{number:05}" for number in range(2500)]
    store.maps.put_all("m", [(key, "1") for key in keys[::2]])
    watched(*[(key, "7") for key in keys])
    assert store.maps.withdraw(7) == 2500
    assert {key: entry.value for key, entry in whole(store).items()} == dict.fromkeys(keys[::2], "1")
    watched(*[(key, "8") for key in keys])
    store.registry.save_job(dataclasses.replace(store.watched_job, update=None))
    store.maps.forget_withdrawable()
    assert store.maps.withdraw(7) == 0


def test_of_a_dropped_map_nothing_is_withdrawn(store, watched):
    watched(("a", "70"))
    store.maps.drop("m")
    store.maps.put_all("m", [("a", "1")])
    assert store.maps.withdraw(7) == 0
    assert whole(store)["a"].value == "1"


def test_an_entry_with_the_longest_key_comes_back(store, watched):
    key = incompressible(store.maps.longest_key or 100_000)
    store.maps.put_all("m", [(key, "1")])
    watched((key, "2"))
    assert store.maps.withdraw(7) == 1
    assert [(entry.key, entry.value) for entry in store.maps.entries("m")] == [(key, "1")]


def test_an_entry_that_comes_back_has_the_order_that_it_had(store, watched):
    maps = store.maps
    maps.write_epoch("m", [("a", "1"), ("b", "1"), ("plain", "1")], None, None, ["T:5", "T:5", "T:5"])
    maps.put_all("m", [("plain", "2")])
    store.clock.advance(5)
    maps.write_epoch("m", [("a", "2"), ("b", None), ("plain", "3")], None, Fence("j", 1), ["T:8", "T:8", "T:8"])
    assert maps.withdraw(7) == 3
    maps.write_epoch("m", [("a", "0"), ("b", "0"), ("plain", "0")], None, None, ["T:4", "T:4", "T:4"])
    assert {entry.key: entry.value for entry in maps.entries("m")} == {"a": "1", "b": "1", "plain": "0"}
    maps.write_epoch("m", [("a", "6"), ("b", "6")], None, None, ["T:6", "T:6"])
    assert {entry.key: entry.value for entry in maps.entries("m")} == {"a": "6", "b": "6", "plain": "0"}


def test_what_a_version_found_too_old_to_write_is_not_withdrawn(store, watched):
    maps = store.maps
    maps.write_epoch("m", [("a", "1")], None, None, ["T:5"])
    before = whole(store), maps.bounds("m")
    store.clock.advance(5)
    maps.write_epoch("m", [("a", "2")], None, Fence("j", 1), ["T:4"])
    assert maps.withdraw(7) == 0
    assert (whole(store), maps.bounds("m")) == before
