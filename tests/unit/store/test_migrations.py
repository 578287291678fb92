import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from pitstop.errors import EngineError
from pitstop.store.database import migrate, open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from pitstop.store.schema import metadata


def test_the_migrated_store_has_exactly_the_tables_of_the_schema(tmp_path):
    database = open_database(sqlite_url(tmp_path / "a.db"))
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_migrations_go_down_and_up_again(tmp_path):
    database = open_database(sqlite_url(tmp_path / "a.db"))
    migrate(database, "base")
    with database.read() as connection:
        assert not inspect(connection).has_table("jobs")
    migrate(database)
    with database.read() as connection:
        assert inspect(connection).has_table("jobs")


def test_a_store_of_a_later_release_is_refused(tmp_path):
    database = open_database(sqlite_url(tmp_path / "a.db"))
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(EngineError, match="was written by a later release"):
        open_database(sqlite_url(tmp_path / "a.db"))


def test_a_run_of_an_older_release_keeps_its_process_and_its_lease(tmp_path):
    database = open_database(sqlite_url(tmp_path / "a.db"))
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
    registry = SqlRegistry(database)
    assert (registry.handle_of("j", 7), registry.lease_expiry("j", 7)) == ("4711@1763783547.25", 99.5)
    assert registry.handle_of("k", 1) == "4712@1763783548.0"
