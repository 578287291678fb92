"""Tables of a real PostgreSQL as sinks: each row once, and the newest of a key."""

import dataclasses
import os
import traceback
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import psycopg
import pytest

import pitstop as ps
from pitstop.errors import EngineError, UsageError
from pitstop.machine.named_secrets import errors_without_secrets
from pitstop.maps.ports import Fence
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.sinks import EpochContext
from pitstop.spark.sinks.postgres import KIND, check_columns, write_postgres

pytestmark = [pytest.mark.spark]
START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def database():
    """The URL of a new database, and a function that carries out a statement in it and returns its rows."""
    if "PITSTOP_TEST_POSTGRES" not in os.environ:
        pytest.skip("there is no PostgreSQL here: make test-postgres")
    from tests.postgres.server import new_database

    url = new_database()

    def sql(statement):
        with psycopg.connect(url) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    columns = "id bigint PRIMARY KEY, word text, at timestamptz, tags jsonb, raw bytea, made text DEFAULT 'here'"
    sql(f"CREATE TABLE readings ({columns})")
    return url, sql


@pytest.fixture
def write(database, spark, tmp_path):
    """Write rows (id, word, second, tags, raw) as an epoch of a run, as the engine does."""
    logs = []

    def log(level, logger, message):
        logs.append(message)

    def written(rows, epoch=0, lineage="l", token=1, digest="d", known_as=(), url=None, **sink):
        values = [(n, word, START + timedelta(seconds=second), tags, raw) for n, word, second, tags, raw in rows]
        frame = spark.createDataFrame(values, "id bigint, word string, at timestamp, tags array<string>, raw binary")
        once = ProcessingGuarantee.EXACTLY_ONCE
        run = Environment("job-1", "job", lineage, once, tmp_path, lambda *line: logs.append(line[2]))
        run = dataclasses.replace(run, fence=Fence("job-1", token), known_as=known_as)
        context = EpochContext("job", "sink", lineage, epoch, "exactly_once", run, digest)
        described = ps.sinks.postgres(url or database[0], "public.readings", **({"key": "id"} | sink))
        assert check_columns(described, frame) is None
        return write_postgres(described, frame, context)

    written.logs = logs
    return written


def address_of(url):
    address = urlsplit(url)
    return address.hostname, address.port


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def row(n, word="w", second=0, tags=None, raw=None):
    return (n, word, second, tags, raw)


def test_values_are_what_they_were_and_other_columns_keep_their_defaults(database, write):
    odd = 'a "quoted", text\nof two lines; \\N and \t'
    assert write([row(1, odd, 1, ["x", 'y"'], b"\x00\xff"), row(2, "", 2, [], b""), row(3, None, 3)]) == 3
    assert database[1]("SELECT id, word, at, tags, raw, made FROM readings ORDER BY id") == [
        (1, odd, START + timedelta(seconds=1), ["x", 'y"'], b"\x00\xff", "here"),
        (2, "", START + timedelta(seconds=2), [], b"", "here"),
        (3, None, START + timedelta(seconds=3), None, None, "here"),
    ]


def test_an_epoch_that_is_written_again_adds_nothing_also_under_an_earlier_name(database, write):
    database[1]("ALTER TABLE readings DROP CONSTRAINT readings_pkey")
    rows = [row(n) for n in range(40)]
    assert write(rows, key=()) == 40
    assert write(rows, key=()) == 0
    assert write(rows, key=(), epoch=7, lineage="next", known_as=(("l", 0),), token=2) == 0
    assert write([row(40)], key=(), epoch=8, lineage="next", token=2) == 1
    assert database[1]("SELECT count(*), count(DISTINCT id) FROM readings") == [(41, 41)]


def test_of_one_key_the_newest_row_stays_within_an_epoch_and_over_epochs(database, write):
    write([row(1, "old", 5), row(1, "new", 9), row(1, "older", 1)], order_by="at")
    write([row(1, "late", 8), row(2, "first", 1)], epoch=1, order_by="at")
    assert database[1]("SELECT id, word FROM readings ORDER BY id") == [(1, "new"), (2, "first")]
    write([row(1, "last comes", 0)], epoch=2)
    assert database[1]("SELECT word FROM readings WHERE id = 1") == [("last comes",)]


def test_a_row_removes_the_one_of_its_key_unless_that_is_newer(database, write):
    write([row(1, "a", 5), row(2, "b", 5), row(3, "c", 5)], order_by="at")
    gone = {"order_by": "at", "delete_when": "word is null"}
    write([row(1, None, 6), row(2, None, 4), row(3, None, 6), row(3, "again", 7), row(4, None, 1)], epoch=1, **gone)
    assert database[1]("SELECT id, word FROM readings ORDER BY id") == [(2, "b"), (3, "again")]


def test_rows_without_a_key_are_left_out_and_told(database, write):
    assert write([row(None), row(1)]) == 1
    assert write.logs == ["1 row for sink 'sink' without a key: left out"]


def test_another_epoch_of_the_same_number_and_a_run_that_has_lost_its_job_are_refused(database, write):
    write([row(1)], token=2)
    with pytest.raises(EngineError, match="the table has another epoch 0 of this job"):
        write([row(2)], token=2, digest="other")
    with pytest.raises(EngineError, match="another run of the job has taken over"):
        write([row(2)], token=1, epoch=1, lineage="older")
    assert database[1]("SELECT id FROM readings") == [(1,)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"url": "mysql://h/d"}, "postgres writes to postgresql://"), ({"order_by": "at"}, "name the columns of the key")],
)
def test_what_cannot_be_a_sink_is_told_when_it_is_written(wrong, message):
    with pytest.raises(UsageError, match=message):
        ps.sinks.postgres(**({"url": "postgresql://h/d", "table": "t"} | wrong))


def test_a_password_with_all_that_means_something_in_a_url_comes_from_a_secret(database, write, tmp_path, monkeypatch):
    password = "planted p@ss/w:rd?&#%41 ü\\'\""
    host, port, role = *address_of(database[0]), f"clerk_{os.getpid()}"
    (tmp_path / "DB_PASSWORD").write_text(password + "\n")
    monkeypatch.setenv("PITSTOP_SECRETS", str(tmp_path))
    database[1](f"CREATE ROLE {role} LOGIN PASSWORD {literal(password)}")
    try:
        database[1](f"GRANT ALL ON SCHEMA public TO {role}; GRANT ALL ON readings TO {role}")
        path = database[0].rpartition("/")[2].partition("?")[0]
        url = f"postgresql://{role}:${{secret:DB_PASSWORD}}@{host}:{port}/{path}?require_auth=scram-sha-256"
        assert write([row(1)], url=url) == 1
        assert database[1]("SELECT id FROM readings") == [(1,)]
        (tmp_path / "DB_PASSWORD").write_text("planted-other")
        with pytest.raises(psycopg.OperationalError) as error, errors_without_secrets():
            write([row(2)], epoch=1, url=url)
        assert "planted" not in "".join(traceback.format_exception(error.value))
    finally:
        database[1](f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_look_tells_what_the_table_misses_and_what_it_has_of_another_type(database):
    place = KIND.place(ps.sinks.postgres(database[0], "readings"))

    def look(columns, table="readings", **sink):
        clause = KIND.look(ps.sinks.postgres(database[0], table, **sink), tuple(columns.items()))
        assert clause.startswith(f"writes {place}".replace("'readings'", f"'{table}'"))
        return clause.removeprefix(f"writes {place}: ")

    database[1]("CREATE DOMAIN counted AS integer; CREATE TABLE needs (id counted, must text NOT NULL, at date)")
    fine = {"id": "bigint", "word": "string", "at": "timestamp", "tags": "array<string>", "raw": "binary"}
    assert look(fine, key="id") == "it has all columns, of types that hold them"
    assert look(fine, key=("id", "word")) == "it has no unique index of the key (id, word)"
    assert look({"id": "string", "at": "bigint", "more": "double", "x": "int"}) == (
        "it has no column 'more' (double) and no column 'x' (int); column 'id' is bigint, and rows have string; "
        "column 'at' is timestamp with time zone, and rows have bigint"
    )
    assert look({"id": "int", "at": "date"}, table="needs").endswith(
        "'needs' of "
        + place.partition(" of ")[2]
        + ": column 'must' needs a value and has no default, and rows have no such column"
    )
    assert look({"id": "int"}, table="nowhere").endswith(", which is not there")
    assert database[1]("SELECT to_regclass('pitstop_marks')") == [(None,)]


def test_the_place_of_a_url_that_is_a_secret_is_its_name(tmp_path, monkeypatch):
    monkeypatch.delenv("PITSTOP_SECRETS", raising=False)
    assert KIND.place(ps.sinks.postgres("secret:DB_URL", "t")) == "the table 't' of secret:DB_URL"
    url = "postgresql://bob:${secret:DB}@h:5433/d"
    assert KIND.place(ps.sinks.postgres(url, "t")) == "the table 't' of h:5433/d"


def test_no_password_is_shown():
    sink = ps.sinks.postgres("postgresql://bob:secret@h:5433/d", "t")
    assert "secret" not in repr(sink)


@pytest.mark.parametrize("hosts", ["${secret:DB_HOST}:5432", "h1:5432,h2:5433"])
def test_the_place_of_hosts_that_are_secrets_or_several_is_as_it_stands(hosts):
    sink = ps.sinks.postgres(f"postgresql://u:${{secret:PW}}@{hosts}/db", "t")
    assert KIND.place(sink) == f"the table 't' of {hosts}/db"


def test_a_look_goes_by_the_indexes_that_an_upsert_can_go_by(database):
    def look(table, key):
        columns = (("id", "int"), ("extra", "int"))
        return KIND.look(ps.sinks.postgres(database[0], table, key=key), columns).rpartition(": ")[2]

    database[1](
        "CREATE TABLE included (id int, extra int); CREATE UNIQUE INDEX ON included (id) INCLUDE (extra); "
        "CREATE TABLE deferred (id int UNIQUE DEFERRABLE, extra int)"
    )
    assert look("included", "id") == "it has all columns, of types that hold them"
    assert look("included", ("id", "extra")) == "it has no unique index of the key (id, extra)"
    assert look("deferred", "id") == "it has no unique index of the key (id)"
