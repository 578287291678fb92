"""Maps against a dict and a list, and against processes that die."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pitstop.errors import ConflictError, FencedError, OtherEpochError, StoreError, UsageError
from pitstop.maps.model import MapConfig
from pitstop.maps.ports import EpochId, EpochWritten, Fence
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.service.map_verbs import MapVerbs
from pitstop.store.database import open_database
from pitstop.store.maps import SqlMapStore
from tests.contract.stores import DATABASES, SQL_STORES

KEYS = st.sampled_from(["a", "b", "c", "ключ", "x y"])
CHANGES = st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers().map(json.dumps))), max_size=12)
ORDERED = st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers().map(json.dumps)), st.integers(0, 9)), max_size=12)


@pytest.fixture
def store(sql_store):
    return sql_store


@pytest.fixture
def maps(store):
    return store.maps


class MapAgainstModel(RuleBasedStateMachine):
    """A dict for the entries, a list for all events ever; the journal is that list's tail."""

    kind: str

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = SQL_STORES[self.kind](Path(self.folder.name)).maps
        self.capacity = 10_000
        self.entries, self.events, self.epoch = {}, [], -1
        self.orders = {}
        self.kept = 0

    @rule(changes=CHANGES)
    def put(self, changes):
        self.store.write_epoch("m", changes, None, None)
        self._expect(changes)

    @rule(changes=CHANGES, again=st.booleans())
    def write_an_epoch_perhaps_twice(self, changes, again):
        self.epoch += 1
        mark = EpochId("lineage", "sink", self.epoch)
        assert self.store.write_epoch("m", changes, mark, None)
        if again:
            assert not self.store.write_epoch("m", changes, mark, None)
        self._expect(changes)

    @rule(rows=ORDERED)
    def put_what_is_not_older(self, rows):
        self.store.write_epoch("m", [row[:2] for row in rows], None, None, [f"I:{row[2]}" for row in rows])
        for key, value, order in rows:
            if order >= self.orders.get(key, 0):
                self._expect([(key, value)])
                if value is not None:
                    self.orders[key] = order

    @rule(capacity=st.integers(0, 20))
    def shrink_or_grow_the_journal(self, capacity):
        self.store.configure(MapConfig("m", capacity))
        self.capacity = capacity
        self.kept = max(self.kept, len(self.events) - capacity)

    @rule(key=KEYS)
    def delete(self, key):
        assert self.store.delete("m", key) == (key in self.entries)
        self._expect([(key, None)])

    def _expect(self, changes):
        for key, value in changes:
            self.orders.pop(key, None)
            old = self.entries.get(key)
            if old is None and value is None:
                continue
            kind = "REMOVED" if value is None else "ADDED" if old is None else "UPDATED"
            self.events.append((kind, key, old, value))
            if value is None:
                del self.entries[key]
            else:
                self.entries[key] = value
        self.kept = max(self.kept, len(self.events) - self.capacity)

    @invariant()
    def entries_and_journal_agree_with_the_model(self):
        assert {e.key: e.value for e in self.store.entries("m")} == self.entries
        assert self.store.size("m") == len(self.entries)
        journal = self.store.journal("m", 0, 100_000)
        expected = list(enumerate(self.events, 1))[self.kept :]
        assert [(e.sequence, (e.kind.value, e.key, e.old_value, e.new_value)) for e in journal.events] == expected
        if self.events:
            assert journal.lost == self.kept

    def teardown(self):
        self.folder.cleanup()


for _kind in SQL_STORES:
    _machine = type(f"MapAgainstModelIn{_kind.title()}", (MapAgainstModel,), {"kind": _kind})
    _test = _machine.TestCase
    _test.settings = settings(max_examples=15, stateful_step_count=15)
    globals()[f"TestMapIn{_kind.title()}"] = _test


def test_expired_entries_vanish_and_leave_an_event_with_the_next_write(store):
    maps, clock = store.maps, store.clock
    maps.configure(MapConfig("m", ttl_seconds=10))
    maps.put_all("m", [("a", "1")])
    clock.advance(5)
    maps.put_all("m", [("b", "2")])
    clock.advance(6)
    assert [entry.key for entry in maps.entries("m")] == ["b"]
    assert (maps.get("m", "a"), maps.size("m")) == (None, 1)
    maps.put_all("m", [("a", "3")])
    told = [(event.kind.value, event.key, event.old_value) for event in maps.journal("m", 0, 10).events]
    assert told == [("ADDED", "a", None), ("ADDED", "b", None), ("EXPIRED", "a", "1"), ("ADDED", "a", None)]


def test_an_entry_that_has_expired_is_in_the_journal_also_without_a_write_with_the_time_of_its_end(store):
    maps, clock = store.maps, store.clock
    maps.configure(MapConfig("m", ttl_seconds=10))
    maps.put_all("m", [("a", "1")])
    (added,) = maps.journal("m", 0, 10).events
    clock.advance(9)
    assert maps.bounds("m").newest == 1
    clock.advance(100)
    assert maps.bounds("m").newest == 2
    told = [(event.kind.value, event.key, event.old_value, event.at) for event in maps.journal("m", 1, 10).events]
    assert told == [("EXPIRED", "a", "1", added.at + 10)]
    assert maps.journal("m", 2, 10).events == ()


def test_all_maps_are_told_of_at_once_as_each_is_alone(store):
    maps, clock = store.maps, store.clock
    assert maps.overview() == []
    maps.configure(MapConfig("quiet", journal_capacity=0))
    maps.configure(MapConfig("short", journal_capacity=2, ttl_seconds=10))
    maps.put_all("short", [("a", "1"), ("b", "1"), ("c", "1")])
    maps.put_all("long", [("a", "1"), ("b", "1")])
    maps.delete("long", "a")
    clock.advance(9)
    maps.put_all("short", [("c", "2")])
    clock.advance(1)
    told = {each.config.name: each for each in maps.overview()}
    assert [(name, each.size) for name, each in told.items()] == [("long", 1), ("quiet", 0), ("short", 1)]
    assert (told["short"].bounds.oldest, told["short"].bounds.newest) == (5, 6), "those of a and b, which have expired"
    for name, each in told.items():
        assert (each.config, each.size, each.bounds) == (maps.config(name), maps.size(name), maps.bounds(name))


@pytest.mark.parametrize("kind", DATABASES)
def test_of_many_maps_is_read_as_often_as_of_one(tmp_path, kind, monkeypatch):
    database = open_database(DATABASES[kind](tmp_path))
    maps, reads, read = SqlMapStore(database), [], database.read_rows
    monkeypatch.setattr(database, "read_rows", lambda: reads.append(1) or read())
    names = [f"map-{number:03}" for number in range(100)]
    for name in names:
        maps.configure(MapConfig(name))
    reads.clear()
    assert [each.config.name for each in maps.overview()] == names
    assert len(reads) == 1
    database.close()


@pytest.mark.parametrize("kind", DATABASES)
def test_more_expired_entries_than_one_write_removes_are_purged_together(tmp_path, kind):
    now = [100.0]
    store = SqlMapStore(open_database(DATABASES[kind](tmp_path)), lambda: now[0])
    store.configure(MapConfig("m", ttl_seconds=10))
    store.put_all("m", [(f"{number:04d}", "1") for number in range(2_500)])
    now[0] = 111.0
    assert store.bounds("m").newest == 5_000
    assert store.size("m") == 0


def test_a_run_that_was_replaced_cannot_write(store):
    store.registry.add_job(Job("j", "job", 0.0, Version(1, JobSource("a.py"), {}, JobConfig()), JobState.RUNNING, token=2))
    assert store.maps.write_epoch("m", [("a", "1")], None, Fence("j", 2))
    with pytest.raises(FencedError):
        store.maps.write_epoch("m", [("a", "9")], None, Fence("j", 1))
    assert store.maps.get("m", "a").value == "1"


def test_an_update_sees_the_value_before_and_may_remove_the_entry(maps):
    maps.put_all("m", [("a", "1"), ("b", "2")])

    def add(old, new):
        return None if new == "0" else str(int(old or 0) + int(new))

    assert maps.update_epoch("m", [("a", "5"), ("a", "5"), ("b", "0"), ("c", "7")], add, EpochId("l", "s", 0), None)
    assert {entry.key: entry.value for entry in maps.entries("m")} == {"a": "11", "c": "7"}


def test_of_an_update_that_fails_nothing_is_written(maps):
    maps.put_all("m", [("a", "1")])

    def fail(old, new):
        raise ValueError(new)

    with pytest.raises(ValueError, match="6"):
        maps.update_epoch("m", [("a", "6")], fail, EpochId("l", "s", 0), None)
    with pytest.raises(ValueError, match="6"):
        maps.update_epoch("new", [("a", "6")], fail, None, None)
    assert maps.names() == ["m"]
    assert [entry.value for entry in maps.entries("m")] == ["1"]
    assert maps.write_epoch("m", [("a", "2")], EpochId("l", "s", 0), None), "the epoch is not marked as written"


def test_an_entry_goes_back_to_nothing_older_and_what_is_older_leaves_no_trace(store):
    maps, clock = store.maps, store.clock
    maps.configure(MapConfig("m", ttl_seconds=10))
    assert maps.write_epoch("m", [("a", "1"), ("a", "3"), ("a", "2")], EpochId("l", "s", 0), None, ["T:1", "T:3", "T:2"])
    before = maps.get("m", "a")
    assert (before.value, before.version) == ("3", 2)
    clock.advance(4)
    written = maps.write_epoch("m", [("a", "0"), ("a", None), ("b", "0")], EpochId("l", "s", 1), None, ["T:2", "T:1", "T:0"])
    assert written == EpochWritten(older=2)
    assert maps.get("m", "a") == before
    assert maps.size("m") == 2
    told = [(event.kind.value, event.key, event.new_value) for event in maps.journal("m", 0, 10).events]
    assert told == [("ADDED", "a", "1"), ("UPDATED", "a", "3"), ("ADDED", "b", "0")]
    assert maps.write_epoch("m", [("a", "4")], EpochId("l", "s", 2), None, ["T:3"]), "of two that are equally new the later wins"
    assert (maps.get("m", "a").value, maps.get("m", "a").version) == ("4", 3)


def test_a_removal_that_is_not_older_removes_and_leaves_no_order_behind(maps):
    maps.write_epoch("m", [("a", "1"), ("a", None)], None, None, ["T:5", "T:6"])
    assert maps.get("m", "a") is None
    maps.write_epoch("m", [("a", "2")], None, None, ["T:4"])
    assert maps.get("m", "a").value == "2"


@pytest.mark.parametrize(
    "write",
    [
        lambda maps: maps.put_all("m", [("a", "2")]),
        lambda maps: maps.put_if("m", [("a", "2")], 1),
        lambda maps: maps.write_epoch("m", [("a", "2")], None, None),
        lambda maps: maps.update_epoch("m", [("a", "2")], lambda old, new: new, None, None),
        lambda maps: maps.write_epoch("m", [("a", "2")], None, None, ["I:1"]),
    ],
    ids=["put", "put if", "sink without order", "sink with a function", "sink by values of another kind"],
)
def test_who_writes_without_an_order_or_by_another_one_wins_and_so_does_the_next_write(maps, write):
    maps.write_epoch("m", [("a", "1")], None, None, ["T:5"])
    write(maps)
    assert maps.get("m", "a").value == "2"
    maps.write_epoch("m", [("a", "3")], None, None, ["T:4"])
    assert maps.get("m", "a").value == "3"


def test_what_one_sink_wrote_says_nothing_of_another_sink_or_lineage(maps):
    for mark in (EpochId("l", "s", 3), EpochId("l", "t", 3), EpochId("m", "s", 2)):
        assert maps.write_epoch("m", [("a", "1")], mark, None)
        assert not maps.write_epoch("m", [("a", "1")], mark, None)
    assert not maps.write_epoch("m", [("a", "1")], EpochId("l", "s", 2), None), "an earlier epoch than the one written"


def test_an_entry_is_written_only_if_it_has_the_version_that_was_read(maps):
    maps.put_if("m", [("a", "1")], 0)
    maps.put_if("m", [("a", "2")], 1)
    assert (maps.get("m", "a").value, maps.get("m", "a").version) == ("2", 2)
    sentence = (
        "Somebody else has written entry 'a' of map 'm' meanwhile: it has version 2, and was expected to have {}. Read it again."
    )
    for version, words in ((0, "version 0, which is none"), (1, "version 1"), (3, "version 3")):
        with pytest.raises(ConflictError) as refused:
            maps.put_if("m", [("a", "9")], version)
        assert refused.value.message == sentence.format(words)
        assert refused.value.details == {"key": "a", "found": 2, "expected": version}
    assert maps.get("m", "a").value == "2"
    told = [(event.kind.value, event.old_value, event.new_value) for event in maps.journal("m", 0, 10).events]
    assert told == [("ADDED", None, "1"), ("UPDATED", "1", "2")]


def test_several_entries_are_written_only_if_each_has_that_version(maps):
    maps.put_all("m", [("b", "1")])
    with pytest.raises(ConflictError, match="entry 'b' of map 'm'") as refused:
        maps.put_if("m", [("a", "2"), ("b", "2"), ("c", "2")], 0)
    assert refused.value.details["key"] == "b"
    assert [(entry.key, entry.value) for entry in maps.entries("m")] == [("b", "1")]
    maps.put_if("m", [("a", "2"), ("c", "2")], 0)
    maps.put_if("m", [("a", "3"), ("b", "3"), ("c", "3")], 1)
    assert [(entry.key, entry.value, entry.version) for entry in maps.entries("m")] == [
        ("a", "3", 2),
        ("b", "3", 2),
        ("c", "3", 2),
    ]
    assert maps.bounds("m").newest == 6


def test_an_entry_is_removed_only_if_it_has_the_version_that_was_read(maps):
    maps.put_all("m", [("a", "1")])
    maps.put_all("m", [("a", "2"), ("b", "1")])
    with pytest.raises(ConflictError, match="it has version 2, and was expected to have version 1"):
        maps.delete("m", "a", 1)
    assert maps.delete("m", "a", 2)
    with pytest.raises(ConflictError, match="it has version 0, which is none, and was expected to have version 2"):
        maps.delete("m", "a", 2)
    assert not maps.delete("m", "a")
    with pytest.raises(ConflictError, match="it has version 0, which is none"):
        maps.delete("nosuch", "a", 1)
    assert [entry.key for entry in maps.entries("m")] == ["b"]


def test_a_version_that_was_not_found_makes_no_map(maps):
    with pytest.raises(ConflictError):
        maps.put_if("m", [("a", "1")], 1)
    assert maps.names() == []
    with pytest.raises(UsageError, match="cannot name a map"):
        maps.put_if("../m", [("a", "1")], 0)


def test_an_entry_that_has_expired_is_none(store):
    maps, clock = store.maps, store.clock
    maps.configure(MapConfig("m", ttl_seconds=10))
    maps.put_if("m", [("a", "1")], 0)
    clock.advance(11)
    for change in (lambda: maps.put_if("m", [("a", "2")], 1), lambda: maps.delete("m", "a", 1)):
        with pytest.raises(ConflictError, match="it has version 0, which is none"):
            change()
    maps.put_if("m", [("a", "3")], 0)
    assert (maps.get("m", "a").value, maps.get("m", "a").version) == ("3", 1)
    told = [(event.kind.value, event.new_value) for event in maps.journal("m", 0, 10).events]
    assert told == [("ADDED", "1"), ("EXPIRED", None), ("ADDED", "3")]


def test_of_many_who_count_on_what_they_have_read_no_count_is_lost(store):
    """Each reads, adds one, and begins anew if somebody else was quicker, also where the map is not there yet."""
    maps = store.maps

    def count():
        for _ in range(10):
            while True:
                entry = maps.get("m", "n")
                try:
                    maps.put_if("m", [("n", str(int(entry.value) + 1) if entry else "1")], entry.version if entry else 0)
                    break
                except ConflictError:
                    continue

    writers = [threading.Thread(target=count) for _ in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (maps.get("m", "n").value, maps.get("m", "n").version) == ("60", 60)
    assert maps.bounds("m").newest == 60


def test_clearing_a_map_leaves_an_event_for_each_entry(maps):
    maps.put_all("m", [("b", "2"), ("a", "1")])
    assert maps.clear("m") == 2
    assert (maps.size("m"), maps.entries("m"), maps.clear("m"), maps.clear("nobody")) == (0, [], 0, 0)
    assert [(event.kind.value, event.key) for event in maps.journal("m", 2, 10).events] == [("REMOVED", "a"), ("REMOVED", "b")]


def test_what_is_not_there_is_told_as_nothing(maps):
    assert (maps.config("m"), maps.bounds("m"), maps.get("m", "a"), maps.size("m")) == (None, None, None, 0)
    assert (maps.entries("m"), maps.journal("m", 0, 10).events, maps.delete("m", "a"), maps.drop("m")) == ([], (), False, False)
    with pytest.raises(UsageError, match="cannot name a map"):
        maps.put_all("../m", [("a", "1")])


def test_a_dropped_map_comes_back_as_another_incarnation(maps):
    maps.put_all("m", [("a", "1")])
    first = maps.bounds("m").incarnation
    assert maps.drop("m")
    maps.put_all("m", [("a", "1")])
    assert maps.bounds("m").incarnation != first


def test_pages_of_entries_follow_one_another(maps):
    maps.put_all("m", [(f"k{n:03d}", str(n)) for n in range(25)])
    seen, after = [], None
    while page := maps.entries("m", after=after, limit=10):
        seen += [entry.key for entry in page]
        after = page[-1].key
    assert seen == [f"k{n:03d}" for n in range(25)]


def test_who_follows_a_journal_misses_no_event_however_many_write(store):
    """Writers of several threads, some of which take long to commit, and a reader that goes on from the last number it saw."""
    maps = store.maps
    maps.configure(MapConfig("m", journal_capacity=100_000))
    done = threading.Event()

    def write(number):
        for turn in range(20):
            maps.update_epoch("m", [(f"{number}-{turn}-{n}", "1") for n in range(3)], slowly, None, None)

    def slowly(old, new):
        time.sleep(random.random() / 2000)
        return new

    seen, after = [], 0
    writers = [threading.Thread(target=write, args=[number]) for number in range(6)]
    ending = threading.Thread(target=lambda: ([writer.join() for writer in writers], done.set()))
    for thread in (*writers, ending):
        thread.start()
    while True:
        last = done.is_set()
        found = maps.journal("m", after, 1000).events
        seen += [event.key for event in found]
        assert [event.sequence for event in found] == list(range(after + 1, after + 1 + len(found)))
        after += len(found)
        if last and not found:
            break
    assert sorted(seen) == sorted(f"{number}-{turn}-{n}" for number in range(6) for turn in range(20) for n in range(3))


WRITER = """
import sys
from pitstop.store.maps import open_map_store
store = open_map_store(sys.argv[1])
n = 0
while True:
    store.put_all("m", [(f"{sys.argv[2]}-{n}", str(n))])
    print(n, flush=True)
    n += 1
"""


@pytest.mark.parametrize("kind", DATABASES)
def test_every_acknowledged_put_survives_kill_and_the_journal_has_no_gap(tmp_path, kind):
    url = DATABASES[kind](tmp_path)
    store = SqlMapStore(open_database(url))
    store.configure(MapConfig("m", journal_capacity=1_000_000))
    moments = random.Random(5)
    for name in ("first", "second", "third"):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, url, f"{name}{w}"], stdout=subprocess.PIPE, text=True)
            for w in range(2)
        ]
        told = []
        for w, process in enumerate(writers):
            last = -1
            for _ in range(moments.randint(20, 200)):
                last = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
            last = max([last, *map(int, process.stdout.read().split())])
            process.wait()
            told.append((f"{name}{w}", last))
        for writer, last in told:
            assert all(store.get("m", f"{writer}-{n}").value == str(n) for n in range(last + 1))
    sequences = [event.sequence for event in store.journal("m", 0, 1_000_000).events]
    assert sequences == list(range(1, len(sequences) + 1))
    assert len(sequences) == store.size("m")


def test_an_epoch_that_a_version_before_has_written_under_another_name_is_written_once(maps):
    assert maps.write_epoch("m", [("a", "1")], EpochId("L1", "sink", 7), None)
    again = EpochId("L2", "sink", 0, known_as=(("L1", 7),))
    assert not maps.write_epoch("m", [("a", "2")], again, None)
    assert maps.write_epoch("m", [("b", "3")], dataclasses.replace(again, sink="other"), None)
    assert not maps.write_epoch("m", [("b", "4")], dataclasses.replace(again, sink="other"), None), "it has it now"
    assert maps.write_epoch("m", [("b", "5")], EpochId("L1", "other", 7), None), "should the version be gone back from"
    assert {entry.key: entry.value for entry in maps.entries("m")} == {"a": "1", "b": "5"}


def incompressible(size):
    """Text of so many bytes, no two of which are alike for long: PostgreSQL packs what it can."""
    return "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=size))


def test_the_longest_key_is_kept_and_a_longer_one_is_refused(maps):
    key = incompressible(maps.longest_key or 100_000)
    maps.put_all("m", [(key, "1")])
    maps.put_if("m", [(key, "2")], 1)
    maps.write_epoch("m", [(key, "3")], EpochId("lineage", "sink", 0), None)
    assert [(entry.key, entry.value) for entry in maps.entries("m")] == [(key, "3")]
    assert [event.key for event in maps.journal("m", 0, 10).events] == [key] * 3
    if maps.longest_key is not None:
        for put in (lambda: maps.put_all("m", [("k", "1"), (key + "x", "1")]), lambda: maps.put_if("m", [(key + "x", "1")], 0)):
            with pytest.raises(UsageError, match=r"^A key for map 'm' has 2,601 bytes, and this store takes 2,600 at most"):
                put()
        assert maps.size("m") == 1


@pytest.mark.parametrize("sql_store", [name for name in DATABASES if name == "postgres"], indirect=True)
def test_a_key_that_no_index_can_hold_is_no_store_that_is_away(store):
    key = incompressible(5_000)
    with pytest.raises(Exception, match="index row") as told:
        store.maps.write_epoch("m", [(key, "1")], None, None)
    assert not isinstance(told.value, StoreError)


def test_settings_that_two_change_at_once_are_both_kept(maps):
    def changed(before):
        begun.set()
        other.join(0.2)  # it comes to its end behind us
        return MapConfig("m", 7, before.ttl_seconds)

    begun = threading.Event()
    other = threading.Thread(target=lambda: begun.wait(20) and MapVerbs(maps).map_configure("m", ttl_seconds=60))
    other.start()
    maps.reconfigure("m", changed)
    other.join(40)
    assert maps.config("m") == MapConfig("m", 7, 60)


def test_settings_that_make_no_sense_make_no_map(maps):
    for name, given in (("m", {"journal_capacity": -1}), ("m", {"ttl_seconds": 1e12}), ("a/b", {"ttl_seconds": 1})):
        with pytest.raises(UsageError):
            MapVerbs(maps).map_configure(name, **given)
    assert maps.names() == []


def test_an_epoch_of_another_checkpoint_is_no_epoch_that_is_written_already(maps):
    """A checkpoint was put back from an older copy, and the store was not: its next epochs read other rows."""
    mark = EpochId("l", "s", 42, digest="a")
    assert maps.write_epoch("m", [("k", "1")], mark, None)
    assert not maps.write_epoch("m", [("k", "2")], mark, None), "the same epoch again"
    for other in (dataclasses.replace(mark, digest="b"), EpochId("l", "s", 41, digest="a"), EpochId("l", "s", 41, digest="b")):
        with pytest.raises(
            OtherEpochError, match=r"^Sink 's' has epoch 42 in map 'm' already, and it does not belong to this job's"
        ):
            maps.write_epoch("m", [("k", "3")], other, None)
        with pytest.raises(OtherEpochError):
            maps.update_epoch("m", [("k", "3")], lambda old, new: new, other, None)
    assert maps.get("m", "k").value == "1"
    assert maps.write_epoch("m", [("k", "4")], EpochId("l", "s", 43, digest="c"), None), "it stands as it was"


def test_marks_of_a_release_that_knew_no_digests_count_as_they_did(maps):
    assert maps.write_epoch("m", [("k", "1")], EpochId("l", "s", 7), None)
    for again in (EpochId("l", "s", 7, digest="a"), EpochId("l", "s", 6, digest="a"), EpochId("l", "s", 7)):
        assert not maps.write_epoch("m", [("k", "2")], again, None)
    assert maps.write_epoch("m", [("k", "3")], EpochId("l", "s", 8, digest="b"), None)
    assert not maps.write_epoch("m", [("k", "4")], EpochId("l", "s", 8), None), "nor does that release mind them"


def test_an_epoch_of_a_version_before_is_known_by_its_digest(maps):
    """That version's job may have gone on since: what it wrote later says nothing against the epoch."""
    assert maps.write_epoch("m", [("k", "1")], EpochId("L1", "s", 7, digest="a"), None)
    again = EpochId("L2", "s", 0, known_as=(("L1", 7),), digest="a")
    with pytest.raises(OtherEpochError):
        maps.write_epoch("m", [("k", "2")], dataclasses.replace(again, digest="b"), None)
    assert not maps.write_epoch("m", [("k", "3")], again, None)
    assert maps.write_epoch("m", [("k", "4")], EpochId("L1", "s", 8, digest="c"), None)
    assert not maps.write_epoch("m", [("k", "5")], again, None)
