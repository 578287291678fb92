"""The catalogue as psql, psycopg, JDBC and SQLAlchemy ask for it, over the protocol."""

import shutil
import subprocess

import psycopg
import pytest
from psycopg.types import TypeInfo

from tests.unit.pgwire.doors import TOKEN, connect, door


@pytest.fixture(scope="module")
def place():
    with door() as found:
        yield found


@pytest.fixture
def ask(place):
    with connect(place) as connection:
        yield lambda text, values=None: connection.execute(text, values).fetchall()


ODD = 'it\'s \\ "odd"'
_SYSTEM = "n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema'"
ANSWERS = {
    # psql: \d
    f"""SELECT n.nspname as "Schema", c.relname as "Name",
          CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END as "Type",
          pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
        FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r','p','v','m','S','f','') AND {_SYSTEM} AND pg_catalog.pg_table_is_visible(c.oid)
        ORDER BY 1,2""": [("public", "cars", "table", "viewer"), ("public", ODD, "table", "viewer")],
    # psql: \d cars
    """SELECT c.relname, n.nspname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relname OPERATOR(pg_catalog.~) '^(cars)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid)
       ORDER BY 2, 1""": [("cars", "public")],
    """SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
         (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d
          WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef),
         a.attnotnull,
         (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t
          WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation
       FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'cars'::regclass AND a.attnum > 0 AND NOT a.attisdropped
       ORDER BY a.attnum""": [
        ("__key", "text", None, False, None),
        ("owner", "text", None, False, None),
        ("speed", "integer", None, False, None),
        ("at", "timestamp with time zone", None, False, None),
        ("ok", "boolean", None, False, None),
    ],
    "SELECT current_database(), current_user, current_schema(), pg_catalog.current_schemas(false)::text": [
        ("pitstop", "viewer", "public", "{public}")
    ],
    "SELECT (pg_catalog.current_schemas(true))[1], 'public' = ANY(current_schemas(true)), 'x' = ANY('{a,b}'::text[])": [
        ("pg_catalog", True, False)
    ],
    "SELECT t.oid::regtype::text, 23::regtype, typarray FROM pg_type t WHERE typname = 'int4'": [("integer", "integer", 1007)],
    "SELECT 'pg_class'::regclass::oid, 'pg_class'::regclass, to_regclass('nobody') FROM pg_am": [(1259, "pg_class", None)],
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name": [("cars",), (ODD,)],
    "SELECT schema_name FROM information_schema.schemata ORDER BY 1 DESC LIMIT 1 OFFSET 1": [("pg_catalog",)],
    "SELECT count(*), count(DISTINCT relkind) FROM pg_class WHERE relnamespace = 2200": [(2, 1)],
    "SELECT string_agg(attname, ',') FROM pg_attribute WHERE attrelid = 'cars'::regclass": [("__key,owner,speed,at,ok",)],
    "WITH x(a, b) AS (SELECT relname, oid FROM pg_class) SELECT a FROM x WHERE b = '1259'": [("pg_class",)],
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n, pg_am": [(1,), (2,), (3,)],
    "SELECT relname FROM pg_class WHERE relname LIKE 'CAR%' OR relname ILIKE 'CAR_' OR relname ~* '^NO'": [("cars",)],
    "SELECT NULL AS TABLE_CAT, oid FROM pg_am UNION ALL SELECT 'x', 3 ORDER BY 2 DESC": [("x", 3), (None, 2)],
    """SELECT a.attname, row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) FROM pg_attribute a
       WHERE a.attrelid = 'cars'::regclass AND a.attnum < 3""": [("__key", 1), ("owner", 2)],
    "SELECT pg_catalog.set_config('search_path', '', false), current_setting('search_path')": [("", "")],
    "SELECT * FROM pg_catalog.pg_am": [(2, "heap", "heap_tableam_handler", "t")],
    "SELECT count(*) > 3 FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{select,from}'::text[])": [(True,)],
    # JDBC: the types that it knows by the function that reads them, and keys, of which there are none
    "SELECT typname, typinput = 'pg_catalog.array_in'::regproc FROM pg_type WHERE oid IN (23, 1007)": [
        ("int4", False),
        ("_int4", True),
    ],
    """SELECT r.name, (r.keys).n FROM (SELECT c.relname AS name, information_schema._pg_expandarray(i.indkey) AS keys
       FROM pg_class c JOIN pg_index i ON c.oid = i.indrelid) r WHERE (r.keys).x = 1""": [],
    "SELECT EXISTS (SELECT 1 FROM pg_class c WHERE c.relname = 'cars'), relname = 'x' FROM pg_class WHERE oid = 1259": [
        (True, False)
    ],
}


@pytest.mark.parametrize("question", ANSWERS)
def test_it_is_answered(ask, question):
    assert ask(question) == ANSWERS[question]


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("SELECT * FROM pg_catalog.pg_nothing", "42P01"),
        ("SELECT nothing FROM pg_catalog.pg_class", "42703"),
        ("SELECT x.oid FROM pg_catalog.pg_class c", "42P01"),
        ("SELECT pg_read_file('/etc/passwd') FROM pg_catalog.pg_class", "42883"),
        ("SELECT 'nobody'::regclass FROM pg_class", "42P01"),
        ("SELECT 1 FROM pg_class WHERE relname ~ '('", "2201B"),
        ("SELECT FROM pg_catalog.pg_class WHERE", "42601"),
        ("SELECT DISTINCT ON (oid) oid FROM pg_class", "0A000"),
        ("INSERT INTO pg_catalog.pg_class SELECT * FROM pg_class", "42601"),
        (
            "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d WHERE a.attname = d.attname",
            "57014",
        ),
        (f"SELECT {'(' * 50}1{')' * 50} FROM pg_class", "54001"),
        ("SHOW nothing_like_this", "42704"),
    ],
)
def test_what_cannot_be_answered_is_an_error_and_the_next_question_is_answered(ask, question, code):
    with pytest.raises(psycopg.Error) as caught:
        ask(question)
    assert caught.value.sqlstate == code
    assert ask("SELECT current_user") == [("viewer",)]


def test_values_are_put_into_parameters(ask):
    asked = "SELECT relname FROM pg_catalog.pg_class WHERE relname = %s AND relnamespace = %s AND relkind = ANY(%s)"
    assert ask(asked, ["cars", 2200, ["r", "v"]]) == [("cars",)]
    assert ask(asked, ["cars' OR 1=1 --", 2200, ["r"]]) == []


def test_what_psycopg_asks_about_types(place):
    with connect(place) as connection:
        found = TypeInfo.fetch(connection, "int8")
        assert (found.oid, found.array_oid) == (20, 1016)


def test_settings_and_transactions(place):
    with connect(place, autocommit=False) as connection:
        assert connection.execute("SHOW standard_conforming_strings").fetchone() == ("on",)
        connection.execute("SET application_name TO 'it''s mine'")
        assert connection.execute("SHOW application_name").fetchone() == ("it's mine",)
        connection.execute("RESET application_name")
        assert connection.execute("SELECT current_setting('application_name')").fetchone() == ("",)
        assert connection.execute("SHOW TRANSACTION ISOLATION LEVEL").fetchone() == ("read committed",)
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS
        connection.rollback()
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


@pytest.mark.skipif(shutil.which("psql") is None, reason="there is no psql here")
def test_psql_describes_tables(place):
    host, port = place
    where = f"host={host} port={port} user=viewer dbname=pitstop"

    def psql(command):
        done = subprocess.run(
            ["psql", where, "--no-psqlrc", "--tuples-only", "--no-align", "--command", command],
            env={"PGPASSWORD": TOKEN, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    assert psql("\\dt c*") == ["public|cars|table|viewer"]
    assert psql("\\d cars")[:3] == ["__key|text|||", "owner|text|||", "speed|integer|||"]
    assert psql("\\l")[0].startswith("pitstop|viewer|UTF8")
    assert psql("\\dn") == ["public|viewer"]
    assert psql("\\du") == ["viewer||{}"]
    for empty in ("\\df", "\\dx", "\\dRp", "\\dX", "\\dC", "\\dd"):
        assert psql(empty) == []
