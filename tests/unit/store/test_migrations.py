import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from pitstop.errors import EngineError
from pitstop.store.database import migrate, open_database
from pitstop.store.registry import SqlRegistry
from pitstop.store.schema import metadata
from pitstop.testing.clock import ManualClock
from tests.contract.stores import DATABASES


@pytest.fixture(params=DATABASES)
def url(request, tmp_path):
    return DATABASES[request.param](tmp_path)


def test_the_migrated_store_has_exactly_the_tables_of_the_schema(url):
    database = open_database(url)
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_migrations_go_down_and_up_again(url):
    database = open_database(url)
    migrate(database, "base")
    with database.read() as connection:
        assert not inspect(connection).has_table("jobs")
    migrate(database)
    with database.read() as connection:
        assert inspect(connection).has_table("jobs")


def test_a_store_of_a_later_release_is_refused(url):
    database = open_database(url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(EngineError, match="was written by a later release"):
        open_database(url)


def test_a_run_of_an_older_release_keeps_its_process_and_its_lease(url):
    database = open_database(url)
    migrate(database, "base")
    migrate(database, "0002")
    with database.write() as connection:
        connection.execute(
            text("INSERT INTO leases (job_id, token, pid, process_created, expires) VALUES ('j', 7, 4711, 1763783547.25, 99.5)")
        )
        connection.execute(
            text("INSERT INTO leases (job_id, token, pid, process_created, expires) VALUES ('k', 1, 4712, 1763783548.0, 98.5)")
        )
    migrate(database)
    registry = SqlRegistry(database, ManualClock(90.0))
    assert (registry.handle_of("j", 7), registry.lease_left("j", 7)) == ("4711@1763783547.25", 9.5)
    assert registry.handle_of("k", 1) == "4712@1763783548.0"
