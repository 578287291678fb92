"""The stores that every contract is tried on."""

import os
from pathlib import Path

from pitstop.model.retention import USUAL, Retention
from pitstop.store.catalog import SqlCatalog
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from pitstop.store.members import SqlMembers
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from tests.doubles.catalog import MemoryCatalog
from tests.doubles.clock import ManualClock
from tests.doubles.members import MemoryMembers
from tests.doubles.registry import MemoryRegistry, MemoryRunnerLink
from tests.doubles.wake import MemoryWake
from tests.new_stores import laid_down


class SqlStore:
    """Registry, links and maps in one database."""

    def __init__(self, url: str) -> None:
        self.clock, self.wake = ManualClock(), MemoryWake()
        self.database = open_database(laid_down(url))
        self.registry = SqlRegistry(self.database, self.clock)
        self.maps = SqlMapStore(self.database, self.clock.now)
        self.members = SqlMembers(self.database, self.clock)
        self.catalog = SqlCatalog(self.database)
        self.retention = USUAL

    def keep(self, retention: Retention):
        """The registry of a server that is started again with these settings."""
        self.retention, self.registry = retention, SqlRegistry(self.database, self.clock, retention)
        return self.registry

    def link(self):
        return SqlRunnerLink(self.database, self.wake, self.clock, lambda: self.retention)

    def close(self):
        self.database.close()


class MemoryStore:
    """Registry and links in dicts, as the simulated schedules use them, and members and catalogue."""

    def __init__(self, _folder: Path) -> None:
        self.clock, self.wake = ManualClock(), MemoryWake()
        self.registry = MemoryRegistry(self.clock)
        self.members = MemoryMembers(self.clock)
        self.catalog = MemoryCatalog()

    def keep(self, retention: Retention):
        self.registry._retention = retention
        return self.registry

    def link(self):
        return MemoryRunnerLink(self.registry, self.wake)

    def close(self):
        pass


DATABASES = {"sqlite": lambda folder: sqlite_url(folder / "pitstop.db")}
"""Name -> URL of a new database for a test that has this folder. PostgreSQL is among them where a server was started
(``make test-postgres``)."""
if "PITSTOP_TEST_POSTGRES" in os.environ:
    from tests.postgres.server import new_database

    DATABASES["postgres"] = lambda _folder: new_database()

SQL_STORES = {name: lambda folder, url=url: SqlStore(url(folder)) for name, url in DATABASES.items()}
STORES = {"memory": MemoryStore} | SQL_STORES
"""Name -> how such a store is made for a test that has this folder."""
