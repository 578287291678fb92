"""A page of entries costs the same wherever in the map it is."""

import sqlite3

import pytest

from pitstop.store import map_rows
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore

ENTRIES = 20_000


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    opened = open_database(sqlite_url(tmp_path_factory.mktemp("store") / "pitstop.db"))
    SqlMapStore(opened).put_all("m", [(f"car-{number:06d}", "1") for number in range(ENTRIES)])
    yield opened
    opened.close()


def steps_of(database, prefix, after):
    """How many steps SQLite's machine takes for a page of 100."""
    counted = [0]

    def step():
        counted[0] += 1

    with database.read_rows() as cursor:
        assert isinstance(cursor.connection, sqlite3.Connection)
        cursor.connection.set_progress_handler(step, 1)
        try:
            found = map_rows.find_map(cursor, "m")
            page = list(map_rows.scan_entries(cursor, found, prefix, None, after, 100, 0.0))
        finally:
            cursor.connection.set_progress_handler(None, 0)
    return counted[0], [entry.key for entry in page]


@pytest.mark.parametrize("prefix", ["", "car-"])
def test_the_last_page_costs_no_more_than_the_first(database, prefix):
    first, keys = steps_of(database, prefix, None)
    assert keys == [f"car-{number:06d}" for number in range(100)]
    last, keys = steps_of(database, prefix, f"car-{ENTRIES - 101:06d}")
    assert keys == [f"car-{number:06d}" for number in range(ENTRIES - 100, ENTRIES)]
    assert last <= 1.2 * first


def test_a_page_after_a_key_before_the_prefix_begins_with_the_prefix(database):
    assert steps_of(database, "car-000005", "a")[1][0] == "car-000005"
