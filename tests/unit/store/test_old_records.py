"""Jobs and operations as releases before wrote them are read as what they mean."""

import json

import pytest
from sqlalchemy import insert, text

from pitstop.errors import Problem
from pitstop.model.config import JobConfig, ProcessingGuarantee, StateStore
from pitstop.model.job import Asked, JobSource, JobState, Mode, Starting, Termination, Update, Version, Watched
from pitstop.model.operation import Updated, UpdateJob
from pitstop.sql.mappings import Mapping
from pitstop.store.catalog import SqlCatalog
from pitstop.store.database import migrate, open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from pitstop.store.schema import sql_names

CONFIG = {
    "processing_guarantee": "none", "snapshot_interval_ms": 10000, "suspend_on_failure": False, "initial_snapshot": None,
    "partitions": None, "state_store": "rocksdb", "spark": {}, "renamed": {},
}  # fmt: skip
BODY = {
    "id": "0401-9f77-b9c0-0001", "name": "ingest", "state": "RUNNING",
    "source": {"artifact": "/d/a.py", "entry": None, "args": ["x"]}, "config": CONFIG, "submission_time": 5.0, "options": {},
    "start_time": 6.0, "completion_time": None, "user_cancelled": False, "suspension_cause": None, "failure": None,
    "failure_details": None, "token": 3, "termination": None, "attempts": 0, "due": None, "lineage": "L1", "plan": None,
    "version": 2, "update": None, "update_failure": None,
}  # fmt: skip

INSERT_JOB = "INSERT INTO jobs (id, name, active, token, submission_time, body) VALUES (:id, 'ingest', 1, 3, 5.0, :body)"

INSERT_ENDED = "INSERT INTO jobs (id, name, active, token, submission_time, body) VALUES (:id, 'ingest', 0, 3, 5.0, :body)"


def version(number):
    return {
        "number": number, "source": {"artifact": f"/d/{number}.py", "entry": None, "args": []}, "options": {},
        "config": CONFIG, "plan": None, "lineage": f"L{number}",
    }  # fmt: skip


def update(**changes):
    flat = {
        "operation": 7, "watch_seconds": 60.0, "target": None, "previous": None, "stopped_at": 0.0, "started_at": None,
        "standby": None,
    }  # fmt: skip
    return flat | changes


@pytest.fixture
def read(tmp_path):
    """Put a job into a store of schema 0002, bring that to the present one, and read the job."""

    def read(**changes):
        database = open_database(sqlite_url(tmp_path / "old.db"))
        migrate(database, "0002")
        body = json.dumps(BODY | changes)
        with database.write() as connection:
            connection.execute(
                text(INSERT_JOB),
                {"id": BODY["id"], "body": body},
            )
        migrate(database)
        return SqlRegistry(database).get_job(BODY["id"])

    return read


AS_RECORDED = JobConfig(processing_guarantee=ProcessingGuarantee.NONE, state_store=StateStore.ROCKSDB)
V1 = Version(1, JobSource("/d/1.py"), {}, AS_RECORDED, None, "L1")
V3 = Version(3, JobSource("/d/3.py"), {}, AS_RECORDED, None, "L3")


def test_a_job_without_an_update(read):
    job = read()
    assert (job.state, job.token) == (JobState.RUNNING, 3)
    assert job.version == Version(2, JobSource("/d/a.py", None, ("x",)), {}, AS_RECORDED, None, "L1")
    assert (job.termination, job.update, job.preparation) == (None, None, None)


@pytest.mark.parametrize(
    ("flat", "phase"),
    [
        ({"target": version(3), "standby": "w"}, Asked(V3, "w")),
        ({"target": version(3), "previous": version(1), "stopped_at": 9.0}, Asked(V3, None, Starting(V1, 9.0))),
        ({"previous": version(1), "stopped_at": 9.0, "standby": "w"}, Starting(V1, 9.0, "w")),
        ({"previous": version(1), "stopped_at": 9.0, "started_at": 11.0}, Watched(V1, 11.0)),
    ],
)
def test_a_job_in_each_phase_of_an_update(read, flat, phase):
    asked = "target" in flat
    job = read(termination="UPDATE#7" if asked else None, update=update(**flat))
    assert job.update == Update(7, 60.0, phase)
    assert job.termination == (Termination(Mode.UPDATE, 7) if asked else None)


def test_the_schema_goes_down_and_up_again_with_the_same_jobs(read, tmp_path):
    before = read(termination="UPDATE#7", update=update(target=version(3), previous=version(1), stopped_at=9.0))
    database = open_database(sqlite_url(tmp_path / "old.db"))
    migrate(database, "0002")
    migrate(database)
    assert SqlRegistry(database).get_job(BODY["id"]) == before


@pytest.fixture
def brought_up(tmp_path):
    """Put texts into a store of schema 0004 as bodies of ended jobs, bring that to the present one, and give their texts then."""

    def brought_up(*bodies):
        database = open_database(sqlite_url(tmp_path / "old.db"))
        migrate(database, "0004")
        with database.write() as connection:
            for number, body in enumerate(bodies):
                connection.execute(text(INSERT_ENDED), {"id": f"id-{number}", "body": body})
        migrate(database)
        return bodies_of(database)

    return brought_up


def bodies_of(database):
    with database.read() as connection:
        return list(connection.execute(text("SELECT body FROM jobs ORDER BY id")).scalars())


FLAT = BODY | {"preparation": None}
NEW = {key: value for key, value in FLAT.items() if key not in ("source", "config", "options", "lineage", "plan")} | {
    "version": {
        "number": 2, "source": {"artifact": "/d/a.py", "entry": None, "args": ["x"]}, "options": {}, "config": CONFIG,
        "plan": None, "lineage": "L1",
    }
}  # fmt: skip


def test_what_a_job_is_to_run_is_put_into_its_version_and_back(brought_up, tmp_path):
    (body,) = brought_up(json.dumps(FLAT))
    assert json.loads(body) == NEW
    database = open_database(sqlite_url(tmp_path / "old.db"))
    migrate(database, "0004")
    assert [json.loads(body) for body in bodies_of(database)] == [FLAT]


def test_what_a_record_has_left_out_of_a_version_is_as_it_was_read_before(brought_up):
    unsaid = ("options", "plan", "lineage", "version")
    (body,) = brought_up(json.dumps({key: value for key, value in FLAT.items() if key not in unsaid}))
    found = json.loads(body)["version"]
    # It is not compiled, and its code may name a snapshot: nobody was asked what that may drop.
    allowed = [found[part].pop("allow_drop") for part in ("options", "config")]
    assert (found, allowed) == (NEW["version"] | {"number": 1, "lineage": None}, [["*"], ["*"]])


def test_records_of_the_present_form_and_those_that_nobody_understands_are_left_as_they_are(brought_up):
    strange = ["no JSON", "[1]", "{}", '{"version": 1}', json.dumps(FLAT | {"version": "two"})]
    *left, understood = brought_up(json.dumps(NEW), *strange, json.dumps(FLAT))
    assert left == [json.dumps(NEW), *strange]
    assert json.loads(understood) == NEW


def test_operations_and_their_answers(tmp_path):
    database = open_database(sqlite_url(tmp_path / "old.db"))
    args = {"source": {"artifact": "/d/b.py", "entry": None, "args": []}, "options": {"partitions": 2}, "snapshot": "s"}
    rows = [
        (
            "update",
            args | {"watch_seconds": 3, "standby": "w"},
            "done",
            None,
            {"version": 2, "snapshot": "s", "gap_seconds": 1.5},
        ),
        ("suspend", {}, "failed", {"code": "CONFLICT", "message": "no", "details": {}}, None),
    ]
    statement = "INSERT INTO operations (job_id, verb, args, state, error, result, created) VALUES ('x', :v, :a, :s, :e, :r, 1.0)"
    with database.write() as connection:
        for verb, asked, state, error, result in rows:
            values = {"v": verb, "a": json.dumps(asked), "s": state, "e": json.dumps(error), "r": json.dumps(result)}
            connection.execute(text(statement), values)
    registry = SqlRegistry(database)
    assert registry.get_operation(1).request == UpdateJob(JobSource("/d/b.py"), {"partitions": 2}, "s", 3.0)
    assert registry.get_operation(1).result == Updated(2, "s", 1.5)
    assert registry.get_operation(2).error == Problem("CONFLICT", "no")


def test_a_mapping_that_cannot_be_read_keeps_no_other_from_being_read_and_can_be_dropped(tmp_path):
    database = open_database(sqlite_url(tmp_path / "pitstop.db"))
    migrate(database)
    catalog = SqlCatalog(database)
    catalog.put(Mapping("good", "Rate"), replace=False)
    with database.write() as connection:
        broken = 'CREATE MAPPING "bad" ("x" struct<"a"b":int>) TYPE "IMap"'
        connection.execute(insert(sql_names).values(name="bad", kind="mapping", statement=broken))
    assert list(catalog.all()) == ["good"]
    assert not catalog.put(Mapping("bad", "Rate"), replace=False)
    assert catalog.remove(Mapping, "bad")
    database.close()
