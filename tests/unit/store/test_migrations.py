import json

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from pitstop.errors import EngineError
from pitstop.store.database import migrate, open_database
from pitstop.store.registry import SqlRegistry
from pitstop.store.schema import metadata
from tests.contract.stores import DATABASES
from tests.doubles.clock import ManualClock


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


def _version(number, **options):
    config = {"initial_snapshot": options.get("initial_snapshot")}
    return {"number": number, "source": {"artifact": "/d/a.py"}, "options": options, "config": config, "plan": {"stages": []}}


def test_what_an_older_release_has_begun_may_drop_state_as_it_did(url):
    database = open_database(url)
    migrate(database, "0017")
    phase = {"kind": "asked", "target": _version(3, initial_snapshot="before-3"), "standby": None, "before": None}
    update = {"operation": 7, "watch_seconds": 0.0, "phase": phase, "report": None}
    bodies = {
        "new": {"version": _version(1, initial_snapshot="saved"), "update": None},
        "updating": {"version": _version(2), "update": update},
        "uncompiled": {"version": _version(1) | {"plan": None}, "update": None},
    }
    insert = text("INSERT INTO jobs (id, name, active, token, submission_time, body) VALUES (:id, :id, true, 1, 5.0, :body)")
    columns = "id, job_id, verb, args, state, created, finished"
    asked = text(f"INSERT INTO operations ({columns}) VALUES (:id, 'new', 'update', :args, 's', 1, :end)")
    with database.write() as connection:
        for job, body in bodies.items():
            connection.execute(insert, {"id": job, "body": json.dumps(body)})
        for number, end in ((7, None), (6, 2.0)):
            args = json.dumps({"options": {"partitions": 2}, "snapshot": "s", "source": {"artifact": "/d/a.py"}})
            connection.execute(asked, {"id": number, "args": args, "end": end})
    migrate(database)
    with database.read() as connection:
        found = {row.id: _read(row.body) for row in connection.execute(text("SELECT id, body FROM jobs"))}
        requests = {row.id: _read(row.args)["options"] for row in connection.execute(text("SELECT id, args FROM operations"))}
    assert found["new"]["version"]["options"] == {"initial_snapshot": "saved", "allow_drop": ["*"]}
    assert found["updating"]["version"]["options"] == {}
    assert found["updating"]["update"]["phase"]["target"]["config"]["allow_drop"] == ["*"]
    assert found["uncompiled"]["version"]["options"] == {"allow_drop": ["*"]}
    assert requests == {7: {"partitions": 2, "allow_drop": ["*"]}, 6: {"partitions": 2}}
    migrate(database, "0017")
    with database.read() as connection:
        assert {row.id: _read(row.body) for row in connection.execute(text("SELECT id, body FROM jobs"))} == bodies


def _read(body):
    return json.loads(body) if isinstance(body, str) else body
