"""Stores of maps for tests of what uses them: the real one, in SQLite."""

from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from tests.new_stores import laid_down


def map_store(folder):
    """Return a new store of maps, or the one that a test has made in this folder before."""
    return SqlMapStore(open_database(laid_down(sqlite_url(folder / "maps.db"))))
