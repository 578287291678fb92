"""Readers of maps hold still while the store is away, and go on by themselves."""

import pickle
from pathlib import Path

import pytest

from pitstop.errors import StoreError
from pitstop.spark.sources import map_access
from pitstop.spark.sources.map_entries import MapEntriesReader
from pitstop.spark.sources.map_journal import MapJournalReader
from pitstop.spark.sources.shared import SourceOptions
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore


class Flaky(SqlMapStore):
    """Is away for so many questions; ``asked`` counts those."""

    def __init__(self, folder):
        super().__init__(open_database(sqlite_url(folder / "maps.db")))
        self.away, self.asked = 0, 0

    def _ask(self):
        self.asked += 1
        if self.away:
            self.away -= 1
            raise StoreError("The store cannot be used: connection refused.")

    def bounds(self, name):
        self._ask()
        return super().bounds(name)

    def journal(self, name, after, limit):
        self._ask()
        return super().journal(name, after, limit)

    def entries(self, name, prefix="", after=None, limit=None):
        self._ask()
        return super().entries(name, prefix, after, limit)


STORES = {}


def open_flaky(url):
    if url not in STORES:
        STORES[url] = Flaky(Path(url))
    return STORES[url]


@pytest.fixture
def options(monkeypatch, tmp_path):
    monkeypatch.setattr(map_access, "AWAY_SECONDS", 0.01)
    return SourceOptions(
        "map", {"map": "m", "store": str(tmp_path), "storeFactory": f"{__name__}:open_flaky", "stage": "journal"}
    )


@pytest.fixture
def store(options):
    store = open_flaky(options.text("store"))
    store.put_all("m", [(f"k{number}", str(number)) for number in range(3)])
    return store


def rows(reader, parts):
    return [row["key"] for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def test_a_journal_has_nothing_new_while_the_store_is_away_and_is_read_on_once_it_is_back(options, store, monkeypatch, capfd):
    monkeypatch.setattr(map_access, "AWAY_SECONDS", 60.0)
    reader = MapJournalReader(options)
    start = reader.initialOffset()
    store.away = 1
    for _ in range(5):
        assert reader.latestOffset(start, None) == start
    assert store.asked == 1, "a store that is away is not asked all the time"
    monkeypatch.setattr(reader._store, "_ask_at", 0.0)
    end = reader.latestOffset(start, None)
    assert rows(reader, reader.partitions(start, end)) == ["k0", "k1", "k2"]
    told = capfd.readouterr().err
    assert told.count("holding still until the store is back: The store cannot be used: connection refused.") == 1


def test_an_epoch_of_a_journal_waits_for_a_store_that_is_away_and_tells_of_it_once(options, store, capfd):
    reader = MapJournalReader(options)
    start = reader.initialOffset()
    end = reader.latestOffset(start, None)
    store.away = 3
    parts = reader.partitions(start, end)
    store.away = 3
    assert rows(pickle.loads(pickle.dumps(reader)), parts) == ["k0", "k1", "k2"]
    assert capfd.readouterr().err.count("holding still") == 2, "once where it is planned, and once where it is read"


def test_a_table_of_a_maps_entries_and_a_whole_journal_wait_for_a_store_that_is_away(options, store):
    store.away = 3
    reader = MapEntriesReader(options)
    assert rows(reader, reader.partitions()) == ["k0", "k1", "k2"]
    store.away = 3
    assert MapJournalReader(options).everything({})["sequence"] == 3


def test_a_store_that_stays_away_ends_the_wait_with_its_own_sentence(options, store, monkeypatch):
    monkeypatch.setattr(map_access, "LONGEST_WAIT", 0.05)
    store.away = 1_000_000
    with pytest.raises(StoreError, match="connection refused"):
        MapJournalReader(options).everything({})
