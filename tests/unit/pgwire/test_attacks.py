"""No text of a client is evaluated: neither what it asks of the catalogue nor any other statement runs code here."""

import builtins
import subprocess
import sys

import psycopg
import pytest

from tests.unit.pgwire.doors import connect, door

MARKER = "pitstop_was_here"
CODE = f"__import__('builtins').__dict__.__setitem__('{MARKER}', 1)"
_QUOTED = CODE.replace("'", "''")
_CATALOGUE = "FROM pg_catalog.pg_class c"
ATTACKS = {
    "the unit of EXTRACT": f"SELECT EXTRACT('x'' if 0 else {_QUOTED}, 0) #' FROM c.oid) {_CATALOGUE}",
    "the unit of EXTRACT without a table": f"SELECT EXTRACT('x'' if 0 else {_QUOTED}, 0) #' FROM version())",
    "a key of JSON": f"SELECT c.relname -> 'x''] if 0 else {_QUOTED}, 0) #' {_CATALOGUE}",
    "a key of JSON as text": f"SELECT c.relname ->> 'x\"] or {_QUOTED} #' {_CATALOGUE}",
    "keys of JSON": f"SELECT json_extract_path(c.relname, 'x''] if 0 else {_QUOTED} #') {_CATALOGUE}",
    "a path of JSON": f"SELECT c.relname #>> '{{x, '' + str({_QUOTED}) + ''}}' {_CATALOGUE}",
    "DATE_TRUNC": f"SELECT date_trunc('x'' if 0 else {_QUOTED} #', c.oid) {_CATALOGUE}",
    "DATE_PART": f"SELECT date_part('x'' if 0 else {_QUOTED} #', c.oid) {_CATALOGUE}",
    "an interval": f"SELECT c.oid + INTERVAL '1'' if 0 else {_QUOTED} #' DAY {_CATALOGUE}",
    "an interval's unit": f"SELECT INTERVAL '1 x'' if 0 else {_QUOTED} #' {_CATALOGUE}",
    "a text": f"SELECT '''+str({_QUOTED})+''' {_CATALOGUE}",
    "a text of several lines": f"SELECT 'a\n{_QUOTED}\n', E'\\n''\\n{_QUOTED}\\n' {_CATALOGUE}",
    "a text between dollars": f"SELECT $x$'+str({CODE})+'$x$ {_CATALOGUE}",
    "a text with a backslash": f"SELECT '\\' , '+str({_QUOTED})+' {_CATALOGUE}",
    "a text of Unicode": f"SELECT U&'\\0027+str({_QUOTED})+\\0027' {_CATALOGUE}",
    "texts joined": f"SELECT c.relname || '''+str({_QUOTED})+''' || c.relkind {_CATALOGUE}",
    "a column": f'SELECT c."x""]+str({CODE})#" {_CATALOGUE}',
    "a column with a quote": f'SELECT c."x\']+str({CODE})#" {_CATALOGUE}',
    "an alias": f"SELECT c.oid AS \"x'+str({CODE})+'\" {_CATALOGUE} ORDER BY \"x'+str({CODE})+'\"",
    "an alias of a table": f"SELECT * FROM pg_catalog.pg_class AS \"c'+str({CODE})+'\"",
    "an alias of columns": f"SELECT * FROM pg_catalog.pg_class AS c(\"x'+str({CODE})+'\")",
    "a table": f"SELECT * FROM pg_catalog.\"pg_class'+str({CODE})+'\"",
    "a table of pg_": f"SELECT * FROM \"pg_x'+str({CODE})+'\"",
    "a CTE": f"WITH \"c'+str({CODE})+'\" AS (SELECT 1 AS a) SELECT * FROM \"c'+str({CODE})+'\", pg_catalog.pg_class",
    "a cast": f"SELECT c.oid::\"x'+str({CODE})+'\" {_CATALOGUE}",
    "a cast to a timestamp": f"SELECT CAST('''+str({_QUOTED})+''' AS timestamp) {_CATALOGUE}",
    "a cast to a table": f"SELECT '''+str({_QUOTED})+'''::regclass {_CATALOGUE}",
    "a function": f'SELECT "{CODE}"(c.oid) {_CATALOGUE}',
    "a function of Python": f"SELECT __import__('os'), eval('{_QUOTED}'), exec('{_QUOTED}') {_CATALOGUE}",
    "a pattern": f"SELECT 1 {_CATALOGUE} WHERE c.relname ~ '''+str({_QUOTED})+''' OR c.relname LIKE '''+str({_QUOTED})+'''",
    "an operator": f"SELECT 1 {_CATALOGUE} WHERE c.relname OPERATOR(pg_catalog.~) '''+str({_QUOTED})+'''",
    "a collation": f'SELECT c.relname COLLATE "x\'+str({CODE})" {_CATALOGUE}',
    "a sorting": f"SELECT 1 {_CATALOGUE} ORDER BY '''+str({_QUOTED})+'''",
    "a grouping": f"SELECT count(*) {_CATALOGUE} GROUP BY '''+str({_QUOTED})+'''",
    "a window": f"SELECT row_number() OVER (PARTITION BY '''+str({_QUOTED})+''') {_CATALOGUE}",
    "a join": f"SELECT 1 {_CATALOGUE} JOIN pg_catalog.pg_class d ON '''+str({_QUOTED})+''' = d.relname",
    "an array": f"SELECT ARRAY['''+str({_QUOTED})+'''], '{{'' + {_QUOTED}}}'::text[] {_CATALOGUE}",
    "ANY": f"SELECT 1 {_CATALOGUE} WHERE c.relname = ANY('{{\"''+str({_QUOTED})+''\"}}')",
    "a setting": f"SELECT current_setting('''+str({_QUOTED})+'''), set_config('x''+str({_QUOTED})+''', 'y', false)",
    "SET": f"SET x = '''+str({_QUOTED})+'''",
    "SHOW": f'SHOW "x\'+str({CODE})"',
    "information_schema": f"SELECT EXTRACT('x'' if 0 else {_QUOTED}, 0) #' FROM t.table_name) FROM information_schema.tables t",
    "AT TIME ZONE": f"SELECT c.oid AT TIME ZONE 'x''+str({_QUOTED})+''' {_CATALOGUE}",
    "a limit": f"SELECT 1 {_CATALOGUE} LIMIT '''+str({_QUOTED})+'''",
    "a comment": f"SELECT /* '\n{CODE}\n */ 1 -- '\n {_CATALOGUE}",
    "an unfinished text": f"SELECT c.relname {_CATALOGUE} WHERE c.relname = '{CODE}",
    "typeinfo": f"WITH RECURSIVE typeinfo_tree AS (SELECT '''+str({_QUOTED})+''') SELECT * FROM typeinfo_tree",
}
COMPILED = []
"""Texts with the marker that Python was to compile while ``watching``."""
WATCHING = []


def audit(event, arguments):
    if WATCHING and event == "compile" and arguments[0] is not None:
        text = arguments[0].decode(errors="replace") if isinstance(arguments[0], bytes) else str(arguments[0])
        if MARKER in text:
            COMPILED.append(text)


sys.addaudithook(audit)


@pytest.fixture(scope="module")
def place():
    with door() as found:
        yield found


@pytest.fixture(autouse=True)
def watched():
    COMPILED.clear()
    WATCHING.append(1)
    yield
    WATCHING.clear()
    assert not hasattr(builtins, MARKER), "the text of a client was run"
    assert COMPILED == [], "the text of a client was compiled as Python"


@pytest.fixture(autouse=True)
def no_marker():
    yield
    builtins.__dict__.pop(MARKER, None)


def test_the_marker_is_seen_where_code_is_run():
    eval(CODE)
    assert getattr(builtins, MARKER) == 1
    assert len(COMPILED) == 1
    COMPILED.clear()
    builtins.__dict__.pop(MARKER)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_statement_runs_code(place, attack):
    for ask in (simple, extended):
        with connect(place) as connection:
            code = refusal(ask, connection, attack)
            assert code is None or len(code) == 5, "no answer but an end"
            assert connection.execute("SELECT current_user").fetchall() == [("viewer",)]


def refusal(call, *arguments):
    """The SQLSTATE of the error that a call ends with; None if it ends well."""
    try:
        call(*arguments)
    except psycopg.Error as error:
        return error.sqlstate or "none"
    return None


def simple(connection, text):
    psycopg.ClientCursor(connection).execute(text)


def extended(connection, text):
    connection.execute(text, prepare=True)


@pytest.mark.parametrize("value", [f"'+str({CODE})+'", f"x'] if 0 else {CODE} #", CODE, f"\\'\n{CODE}"])
def test_no_value_of_a_parameter_runs_code(place, value):
    asked = "SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relname = %s OR c.relname ~ %s OR c.relname = ANY(%s)"
    with connect(place) as connection:
        for values in ((value, value, [value]), (value, "x", ["cars", value])):
            assert refusal(connection.execute, asked, values) in (None, "2201B")


def test_names_of_mappings_run_nothing(place):
    mapping = f"CREATE MAPPING \"m'+str({CODE})+'\" (__key VARCHAR, \"c'+str({CODE})+'\" VARCHAR) TYPE IMap"
    with door(mappings=(mapping,)) as other, connect(other) as connection:
        (found,) = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 2200").fetchall()
        assert found == (f"m'+str({CODE})+'",)
        columns = connection.execute("SELECT attname FROM pg_attribute WHERE attrelid >= 16384 AND attnum = 2").fetchall()
        assert columns == [(f"c'+str({CODE})+'",)]


def test_the_process_has_nothing_that_would_run_it():
    program = """
import sys, pitstop.pgwire.server
loaded = sorted(name for name in sys.modules if name.startswith("sqlglot.executor"))
assert loaded == ["sqlglot.executor", "sqlglot.executor.env"], loaded
for name in loaded:
    assert getattr(sys.modules[name], "__file__", None) is None, name
import pg_mimic.catalog, pg_mimic.middleware
for module in (pg_mimic.catalog, pg_mimic.middleware):
    try:
        module.sqlglot_execute("SELECT 1")
    except RuntimeError as error:
        assert "evaluated" in str(error)
    else:
        raise AssertionError(module)
for name in ("python", "context", "table"):
    try:
        __import__(f"sqlglot.executor.{name}")
    except ImportError:
        continue
    raise AssertionError(name)
print("nothing")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("nothing\n", "")
