"""SQLite as the catalogue's engine can read its own tables, and nothing else, within bounds."""

import time

import pytest
from pg_mimic import PgError

from pitstop.pgwire.catalogue.engine import Bounds, Engine
from pitstop.pgwire.catalogue.functions import PLAIN, functions
from pitstop.pgwire.catalogue.tables import World
from pitstop.pgwire.settings import Settings

WORLD = World({"cars": {"owner": "text", "speed": "integer"}})


def engine(**bounds):
    return Engine(WORLD, functions(WORLD, Settings("16.0"), "16.0", 1), PLAIN, Bounds(**bounds))


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE '{path}' AS other",
        "VACUUM INTO '{path}'",
        "CREATE TABLE t(a)",
        "CREATE TEMP TABLE t(a)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
        "INSERT INTO pg_class(oid) VALUES (1)",
        "UPDATE pg_class SET oid = 1",
        "DELETE FROM pg_class",
        "DROP TABLE pg_class",
        "PRAGMA database_list",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM sqlite_temp_master",
        "SELECT load_extension('{path}')",
        "SELECT writefile('{path}', 'x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT edit('x')",
        "SELECT fts3_tokenizer('x')",
        "SELECT randomblob(1000000)",
        "SELECT zeroblob(1000000)",
        "SELECT printf('%1000000d', 1)",
        "SELECT sqlite_version()",
        "SELECT 'a' LIKE 'b'",
        "SELECT 'a' GLOB 'b'",
        "SELECT * FROM json_each('[1]')",
        "SELECT * FROM generate_series(1, 2)",
        "BEGIN",
        "SAVEPOINT a",
        "EXPLAIN SELECT 1; SELECT 2",
        "ANALYZE",
        "DETACH main",
    ],
)
def test_it_can_do_nothing_but_read(statement, tmp_path):
    path = tmp_path / "made"
    with pytest.raises(PgError):
        engine().answer(statement.format(path=path), [])
    assert not path.exists()


NUMBERS = 'WITH RECURSIVE "with n"(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "with n")'

MANY_TIMES = ", ".join(f"pg_attribute {name}" for name in "abcdef")


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (f'{NUMBERS} SELECT count(*) FROM "with n"', "57014"),
        (f"SELECT count(*) FROM {MANY_TIMES} WHERE a.attname || f.attname < ''", "57014"),
        (f"{NUMBERS} SELECT max(regexp_is('{'a' * 500}', '(a|a)*b', 0)) FROM \"with n\"", "57014"),
        (f'{NUMBERS} SELECT i FROM "with n"', "54000"),
        ("SELECT group_concat(a.attname || b.attname) FROM pg_class a, pg_class b, pg_class c", "0A000"),
        (f"SELECT {'(' * 300}1{')' * 300}", "0A000"),
        (f"SELECT {'1+' * 300}1", "0A000"),
        (" UNION ALL ".join(["SELECT 1"] * 60), "0A000"),
    ],
)
def test_each_question_ends(question, code):
    began = time.monotonic()
    with pytest.raises(PgError) as caught:
        engine(seconds=1, rows=1000).answer(question, [])
    assert caught.value.sqlstate == code
    assert time.monotonic() - began < 20


def test_a_function_that_fails_is_told_as_an_error_of_the_client():
    for question in (
        "SELECT array_at('[1', 0)",
        "SELECT left('a', 'b')",
        "SELECT reg_in('regclass', 'nobody')",
        "SELECT pg_size_pretty()",
    ):
        with pytest.raises(PgError):
            engine().answer(question, [])


def test_afterwards_it_answers_as_before():
    asked = engine(seconds=0.3)
    with pytest.raises(PgError):
        asked.answer(f'{NUMBERS} SELECT count(*) FROM "with n"', [])
    assert asked.answer("SELECT relname FROM pg_class WHERE relnamespace = ?", [2200]) == [("cars",)]
