"""Tables of a real PostgreSQL as sources: each row once, whatever transactions do at the same time."""

import contextlib
import json
import os
import threading

import psycopg
import pytest

import pitstop as ps
from pitstop.errors import EngineError, UsageError
from pitstop.kit.waiting import wait_until
from pitstop.spark.sources.postgres import KIND, PostgresReader, PostgresSource
from pitstop.spark.sources.shared import SourceOptions
from tests.spark.harness import Collected, Harness, check

XID = "xid xid8 NOT NULL DEFAULT pg_current_xact_id()"


@pytest.fixture
def url():
    """The URL of a new database with a table of orders."""
    if "PITSTOP_TEST_POSTGRES" not in os.environ:
        pytest.skip("there is no PostgreSQL here: make test-postgres")
    from tests.postgres.server import new_database

    made = new_database()
    sql(made, f"CREATE TABLE orders (id bigint, word text, {XID})")
    sql(made, "CREATE INDEX ON orders (xid)")
    return made


def sql(url, statement):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def source_of(url, table="orders", schema="id bigint, word string", **more):
    return ps.sources.postgres(url, table, schema, interval="0 seconds", **more)


def reader_of(source, **run):
    options = source.options | {"columns": "\n".join(("id", "word")), "stage": "orders", **run}
    return PostgresReader(SourceOptions("postgres", options))


def read(reader, start, end):
    """Return the ids of an epoch's rows."""
    parts = [part for part in reader.partitions(start, end) if part.rows]
    return [json.loads(text)["id"] for part in parts for batch in reader.read(part) for text in batch.column(0).to_pylist()]


def epochs(reader, start=None):
    """Return the ids of each epoch until there is nothing new, and the place reached."""
    place, groups = start or reader.initialOffset(), []
    while (end := reader.latestOffset(place, None)) != place:
        groups.append(read(reader, place, end))
        place = end
    return groups, place


def test_rows_come_by_transactions_and_each_once(url):
    for first in (1, 3, 5):
        sql(url, f"INSERT INTO orders VALUES ({first}, 'a'), ({first + 1}, 'b')")
    reader = reader_of(source_of(url))
    assert epochs(reader)[0] == [[1, 2, 3, 4, 5, 6]]
    _, place = epochs(reader)
    assert place["rows"] == 6
    sql(url, "INSERT INTO orders VALUES (7, 'c')")
    assert epochs(reader, place)[0] == [[7]]


def test_a_transaction_that_is_committed_after_a_later_one_is_not_passed_over(url):
    reader = reader_of(source_of(url))
    with psycopg.connect(url) as slow:
        slow.execute("INSERT INTO orders VALUES (1, 'slow')")
        sql(url, "INSERT INTO orders VALUES (2, 'fast')")
        groups, place = epochs(reader)
        assert groups == [], "a transaction under way may still write rows of a lower number"
        assert reader._options.behind.amount == 1
        slow.commit()
    assert epochs(reader, place)[0] == [[1, 2]]


def test_a_transaction_that_is_rolled_back_holds_nothing_for_ever(url):
    reader = reader_of(source_of(url))
    with psycopg.connect(url) as slow:
        slow.execute("INSERT INTO orders VALUES (1, 'slow')")
        sql(url, "INSERT INTO orders VALUES (2, 'fast')")
        slow.rollback()
    assert epochs(reader)[0] == [[2]]


def test_rows_of_many_writers_at_once_are_each_read_once(url):
    writers, each = 6, 40
    over = threading.Event()

    def write(writer):
        with psycopg.connect(url) as connection:
            for number in range(each):
                connection.execute("INSERT INTO orders VALUES (%s, 'x')", (writer * each + number,))
                if number % (writer + 1) == 0:
                    connection.commit()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    threading.Thread(target=lambda: ([thread.join() for thread in threads], over.set()), daemon=True).start()
    reader, place, ids = reader_of(source_of(url)), None, []

    def all_are_there():
        nonlocal place
        ended = over.is_set()
        groups, place = epochs(reader, place)
        ids.extend(number for group in groups for number in group)
        return ended

    assert wait_until(all_are_there, 60, step=0)
    assert sorted(ids) == list(range(writers * each))


def test_an_epoch_has_whole_transactions_of_about_the_rows_that_it_may_have(url):
    for number in range(10):
        sql(url, f"INSERT INTO orders VALUES ({number}, 'one')")
    sql(url, "INSERT INTO orders SELECT n, 'many' FROM generate_series(100, 129) n")
    sql(url, "INSERT INTO orders VALUES (200, 'last')")
    groups, _ = epochs(reader_of(source_of(url, max_rows=4)))
    assert groups == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], list(range(100, 130)), [200]]


def test_an_epoch_is_read_again_as_it_was_by_another_process(url):
    sql(url, "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    first = reader_of(source_of(url))
    start = first.initialOffset()
    end = first.latestOffset(start, None)
    sql(url, "INSERT INTO orders VALUES (3, 'c')")
    assert read(reader_of(source_of(url)), start, end) == [1, 2]


def test_rows_that_are_gone_when_an_epoch_is_read_again_are_told(url, capfd):
    sql(url, "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    first = reader_of(source_of(url))
    start = first.initialOffset()
    end = first.latestOffset(start, None)
    sql(url, "DELETE FROM orders WHERE id = 2")
    assert read(reader_of(source_of(url)), start, end) == [1]
    assert "the epoch that is read again had 2 rows, and 1 are there" in capfd.readouterr().err


def test_latest_begins_with_what_is_written_from_then_on(url):
    sql(url, "INSERT INTO orders VALUES (1, 'a')")
    reader = reader_of(source_of(url, start="latest"))
    start = reader.initialOffset()
    begin = reader.latestOffset(start, None)
    assert read(reader, start, begin) == []
    sql(url, "INSERT INTO orders VALUES (2, 'b')")
    assert epochs(reader, begin)[0] == [[2]]


def test_a_database_that_has_gone_back_is_not_read_as_if_it_had_nothing_new(url):
    reader = reader_of(source_of(url))
    with pytest.raises(EngineError, match=r"read up to transaction 4,000,000,000, and the database is at .*: it was put back"):
        reader.latestOffset({"transaction": 4_000_000_000, "rows": 1}, None)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DROP TABLE orders", "the table 'orders' of 127.0.0.1:.* is not there"),
        ("ALTER TABLE orders DROP COLUMN word", "has no column word: there are id, xid"),
        ("ALTER TABLE orders DROP COLUMN xid", "no column xid, and each row needs .*: ALTER TABLE orders ADD COLUMN xid xid8"),
        ("ALTER TABLE orders DROP COLUMN xid, ADD COLUMN xid text", "has the column xid of type text, and each row needs"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_with_the_remedy(url, statement, message):
    sql(url, statement)
    reader = reader_of(source_of(url))
    with pytest.raises(UsageError, match=message):
        reader.latestOffset(reader.initialOffset(), None)


def test_a_user_who_may_not_read_the_table_is_told_so_and_nothing_is_waited_for(url):
    sql(url, "DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN PASSWORD 'x'")
    reader = reader_of(source_of(f"postgresql://stranger:x@{url.rpartition('@')[2]}"))
    with pytest.raises(UsageError, match=r"^Source 'orders' cannot read the table 'orders' of .*: permission denied for table"):
        reader.latestOffset(reader.initialOffset(), None)


def test_a_connection_that_is_cut_is_made_again(url, capfd):
    reader = reader_of(source_of(url))
    sql(url, "INSERT INTO orders VALUES (1, 'a')")
    groups, place = epochs(reader)
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    sql(url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
    sql(url, "INSERT INTO orders VALUES (2, 'b')")
    ids = []

    def is_read():
        nonlocal place
        more, place = epochs(reader, place)
        ids.extend(number for group in more for number in group)
        return ids

    assert wait_until(is_read, 30, step=0.05)
    assert (groups, ids) == ([[1]], [2])
    assert "trying again in 0.5 s" in capfd.readouterr().err


def test_rows_that_wait_for_an_older_transaction_are_told(url, capfd, monkeypatch):
    monkeypatch.setattr("pitstop.spark.sources.postgres.HELD_SECONDS", 0.0)
    reader = reader_of(source_of(url))
    with psycopg.connect(url, application_name="report") as slow:
        slow.execute("SELECT pg_current_xact_id()")
        sql(url, "INSERT INTO orders VALUES (2, 'fast')")
        for _ in range(2):
            reader.latestOffset(reader.initialOffset(), None)
    assert "1 row of the table 'orders' of 127.0.0.1" in (told := capfd.readouterr().err)
    assert "wait for the transaction of process" in told
    assert "(report), under way since " in told


VALUES = {
    "yes": ("boolean", "boolean", "true", True),
    "small": ("smallint", "smallint", "-32768", -32768),
    "big": ("bigint", "bigint", "9223372036854775807", 2**63 - 1),
    "exact": ("numeric(38,10)", "decimal(38,10)", "12345678901234567890.0123456789", "12345678901234567890.0123456789"),
    "double": ("double precision", "double", "0.1", 0.1),
    "far": ("double precision", "double", "'Infinity'", float("inf")),
    "text": ("text", "string", "E'a \"b\" \\\\ c\\nd, é 😀\\r'", 'a "b" \\ c\nd, é 😀\r'),
    "empty": ("text", "string", "''", ""),
    "nothing": ("text", "string", "NULL", None),
    "raw": ("bytea", "binary", r"'\x00ff5c22'::bytea", b'\x00\xff\\"'),
    "long": ("bytea", "binary", "decode(repeat('ab', 200), 'hex')", b"\xab" * 200),
    "day": ("date", "date", "'1582-10-01'", "1582-10-01"),
    "at": ("timestamptz", "timestamp", "'2026-03-29 01:30:00.123456+02'", "2026-03-28 23:30:00.123456"),
    "local": ("timestamp", "timestamp_ntz", "'2026-03-29 01:30:00.5'", "2026-03-29 01:30:00.500000"),
    "tags": ("text[]", "array<string>", "ARRAY['a', NULL, 'c,d']", ["a", None, "c,d"]),
    "tree": ("jsonb", "struct<a: int, b: array<int>>", """'{"a": 1, "b": [2, 3]}'""", (1, [2, 3])),
    "name of it": ("uuid", "string", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
}


@pytest.mark.spark
@pytest.mark.timeout(400)
def test_values_of_each_type_come_as_they_are_and_a_job_goes_on_where_it_was(url, spark, tmp_path):
    columns = ", ".join(f'"{name}" {kind}' for name, (kind, *_) in VALUES.items())
    sql(url, f"CREATE TABLE things ({columns}, {XID})")
    names = ", ".join(f'"{name}"' for name in VALUES)
    values = ", ".join(value for _, _, value, _ in VALUES.values())
    sql(url, f"INSERT INTO things ({names}) VALUES ({values})")
    schema = ", ".join(f"`{name}` {kind}" for name, (_, kind, *_) in VALUES.items())
    collected, harness = Collected(), Harness(spark, tmp_path)

    def run(rows):
        p = ps.Pipeline()
        things = p.read_from(source_of(url, "things", schema), name="things")
        texts = {"exact": "cast(exact as string)", "day": "cast(day as string)"}
        moments = {name: f"date_format({name}, 'yyyy-MM-dd HH:mm:ss.SSSSSS')" for name in ("at", "local")}
        things.with_columns(**texts, **moments).write_to(ps.sinks.custom(collected), name="out")
        running = harness.start(p, tmp_path / "checkpoint", 1)
        assert wait_until(lambda: not running.active or len(collected.rows) >= rows, 120, step=0.05)
        check(running)
        running.stop(60)

    run(1)
    (row,) = collected.rows
    assert [plain(value) for value in row] == [expected for *_, expected in VALUES.values()]
    sql(url, f"INSERT INTO things ({names}) VALUES ({values})")
    run(2)
    assert len(collected.rows) == 2


def plain(value):
    if isinstance(value, bytearray):
        return bytes(value)
    return tuple(value) if isinstance(value, tuple) else value


@pytest.mark.spark
def test_check_tells_what_is_there(url, spark):
    at = f"{url.rpartition('@')[2]}"
    look = KIND.look(spark, source_of(url))
    assert (look.clause, look.sample) == (f"reads the table 'orders' of {at}", None)
    sql(url, "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    look = KIND.look(spark, source_of(url))
    (sample,) = look.sample.collect()
    assert json.loads(sample.value)["word"] in ("a", "b")
    sql(url, f"CREATE TABLE bare (id bigint, word text, {XID})")
    assert KIND.look(spark, source_of(url, "bare")).clause.endswith("; without an index on xid each look reads the whole table")
    assert "is not there" in KIND.look(spark, source_of(url, "nowhere")).clause
    away = KIND.look(spark, source_of("postgresql://nobody@127.0.0.1:1/none"))
    assert away.clause.startswith("cannot read the table 'orders' of 127.0.0.1:1/none: ")


@pytest.mark.spark
def test_a_table_is_read_as_a_batch_too(url, spark):
    sql(url, "INSERT INTO orders SELECT n, 'x' FROM generate_series(1, 1000) n")
    spark.dataSource.register(PostgresSource)
    options = source_of(url).options | {"columns": "id\nword", "stage": "orders"}
    assert spark.read.format("pitstop_postgres").options(**options).load().count() == 1000


def test_a_url_of_another_database_is_refused():
    with pytest.raises(UsageError, match=r"^postgres reads from postgresql://user:"):
        source_of("jdbc:mysql://h/d")


def test_the_state_of_a_reader_that_goes_to_workers_has_no_connection(url):
    reader = reader_of(source_of(url))
    epochs(reader)
    with contextlib.closing(reader._connection):
        assert "_connection" not in reader.__getstate__()
