"""The file of a SQLite store shrinks when most of it is free, while others go on reading and writing."""

import threading
import time

import pytest

from pitstop.maps.model import MapConfig
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.dialects import sqlite
from pitstop.store.maps import SqlMapStore

ENTRIES = 3000
KEPT = 10


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.db"


@pytest.fixture
def database(path):
    made = open_database(sqlite_url(path))
    yield made
    made.close()


def written_and_mostly_deleted(database, kept=KEPT):
    maps = SqlMapStore(database)
    maps.configure(MapConfig("m", journal_capacity=0))
    maps.put_all("m", [(f"k{i:05}", '"' + "x" * 8000 + '"') for i in range(ENTRIES)])
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM map_entries WHERE key >= ?", (f"k{kept:05}",))
    return maps


def size(database, path):
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def test_a_file_that_is_mostly_free_shrinks_and_nothing_is_lost_while_others_write(database, path, monkeypatch):
    maps = written_and_mostly_deleted(database)
    assert size(database, path) > 20_000_000
    done, written, slowest = threading.Event(), [], []

    def write():
        while not done.is_set():
            began = time.monotonic()
            maps.put_all("other", [(f"n{len(written):05}", "1")])
            written.append(f"n{len(written):05}")
            slowest.append(time.monotonic() - began)

    writer = threading.Thread(target=write)
    writer.start()
    while not written:
        time.sleep(0.01)
    database.give_back_space()
    done.set()
    writer.join(60)
    assert size(database, path) < 5_000_000
    assert max(slowest) < sqlite.BUSY_SECONDS / 3, "writers waited for a moment"
    assert [entry.key for entry in maps.entries("m")] == [f"k{i:05}" for i in range(KEPT)]
    assert maps.size("other") == len(written)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [("MUCH_FREE_BYTES", 1 << 30, KEPT), ("MOST_COPIED_BYTES", 1000, KEPT), ("MUCH_FREE_BYTES", 1, ENTRIES * 3 // 4)],
)
def test_it_stays_as_it_is_where_little_is_free_or_writers_would_wait_for_long(database, path, monkeypatch, name, value, kept):
    monkeypatch.setattr(sqlite, name, value)
    written_and_mostly_deleted(database, kept)
    before = size(database, path)
    database.give_back_space()
    assert size(database, path) == before
