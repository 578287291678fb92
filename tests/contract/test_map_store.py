"""Maps against a dict and a list, and against processes that die."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pitstop.errors import FencedError
from pitstop.maps.model import MapConfig
from pitstop.maps.ports import EpochId, Fence
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from pitstop.store.registry import SqlRegistry

KEYS = st.sampled_from(["a", "b", "c", "ключ", "x y"])
CHANGES = st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers().map(json.dumps))), max_size=12)


@pytest.fixture
def store(tmp_path):
    return SqlMapStore(open_database(sqlite_url(tmp_path / "maps.db")))


class MapAgainstModel(RuleBasedStateMachine):
    """A dict for the entries, a list for all events ever; the journal is that list's tail."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqlMapStore(open_database(sqlite_url(Path(self.folder.name) / "m.db")))
        self.capacity = 10_000
        self.entries, self.events, self.epoch = {}, [], -1
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


TestMapAgainstModel = MapAgainstModel.TestCase
TestMapAgainstModel.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)


def test_expired_entries_vanish_and_leave_an_event(tmp_path):
    now = [100.0]
    store = SqlMapStore(open_database(sqlite_url(tmp_path / "m.db")), lambda: now[0])
    store.configure(MapConfig("m", ttl_seconds=10))
    store.put_all("m", [("a", "1")])
    now[0] = 105.0
    store.put_all("m", [("b", "2")])
    now[0] = 111.0
    assert [entry.key for entry in store.entries("m")] == ["b"]
    assert store.get("m", "a") is None
    assert store.purge_expired("m") == 1
    assert [event.kind.value for event in store.journal("m", 0, 10).events] == ["ADDED", "ADDED", "EXPIRED"]


def test_a_run_that_was_replaced_cannot_write(tmp_path):
    database = open_database(sqlite_url(tmp_path / "m.db"))
    SqlRegistry(database).add_job(Job("j", "job", JobState.RUNNING, JobSource("a.py"), JobConfig(), 0.0, token=2))
    store = SqlMapStore(database)
    assert store.write_epoch("m", [("a", "1")], None, Fence("j", 2))
    with pytest.raises(FencedError):
        store.write_epoch("m", [("a", "9")], None, Fence("j", 1))
    assert store.get("m", "a").value == "1"


def test_a_dropped_map_comes_back_as_another_incarnation(store):
    store.put_all("m", [("a", "1")])
    first = store.bounds("m").incarnation
    assert store.drop("m")
    store.put_all("m", [("a", "1")])
    assert store.bounds("m").incarnation != first


def test_pages_of_entries_follow_one_another(store):
    store.put_all("m", [(f"k{n:03d}", str(n)) for n in range(25)])
    seen, after = [], None
    while page := store.entries("m", after=after, limit=10):
        seen += [entry.key for entry in page]
        after = page[-1].key
    assert seen == [f"k{n:03d}" for n in range(25)]


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


def test_every_acknowledged_put_survives_kill_and_the_journal_has_no_gap(tmp_path):
    url = sqlite_url(tmp_path / "m.db")
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
