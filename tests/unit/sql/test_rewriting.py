"""A query for Spark: names are replaced, all else stays, and places lead back to what was written."""

import pytest
from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.sql.names import beyond_ctes
from pitstop.sql.places import Place
from pitstop.sql.queries import parse_query
from pitstop.sql.rewriting import rewritten
from pitstop.sql.statements import Query


def spark_text(text, place=Place(1, 1, 1, 1)):  # noqa: B008 - frozen
    query = Query(text, place)
    tables = [each for each in beyond_ctes(parse_query(query)) if isinstance(each, exp.Table)]
    tables.sort(key=lambda table: table.this.meta.get("start", 0))
    return rewritten(query, [(table, f"t{number}", "title") for number, table in enumerate(tables)])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SELECT  a FROM cars -- c", "SELECT  a FROM `t0` AS `title`     "),
        ("SELECT/* c */a\t,b\n--x\n FROM cars", "SELECT       a ,b\n   \n FROM `t0` AS `title`"),
        ("SELECT `a``b`, `c\\` FROM cars", "SELECT `a``b`, `c\\` FROM `t0` AS `title`"),
        ('SELECT "a""b`" FROM "my cars" AS "x y"', 'SELECT `a"b``` FROM `t0` AS `x y`'),
        ("SELECT 'it''s', 'a\\b' FROM information_schema.jobs j", "SELECT 'it\\'s', 'a\\\\b' FROM `t0` j"),
        ('SELECT * FROM SNAPSHOT s STAGE "w w" AS st', "SELECT * FROM `t0` AS st"),
        ("SELECT * FROM SNAPSHOT s STAGE w", "SELECT * FROM `t0` AS `title`"),
        ("WITH c AS (SELECT 1) SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c"),
    ],
)
def test_names_and_quotes_are_sparks_and_all_else_is_the_users(written, expected):
    assert spark_text(written).text == expected


@pytest.mark.parametrize("word", ["colour", "'red'", "km", "cars"])
def test_a_place_in_sparks_text_is_one_in_the_statements(word):
    text = "SELECT '\U0001f600', \"x\", colour\n FROM cars JOIN cars AS b WHERE km = 'red'"
    found = spark_text(text, Place(3, 10, 3, 10))
    at = found.text.index("`t0`" if word == "cars" else word)
    place = found.place(at, at + len(word) - 1)
    line, column = (4, text.split("\n")[1].index(word) + 1) if word != "colour" else (3, text.index(word) + 10)
    assert (place.line, place.column) == (line, column)
    assert word == "cars" or place.end_column == column + len(word) - 1


CALL = "reflect('java.lang.System','getProperty','user.home')"


@pytest.mark.parametrize(
    "written",
    [
        "SELECT 'a' AS x -- \\\n, 'hidden'",  # a backslash continues Spark's comment in the next line
        f"SELECT 1 /* /*+ */ , {CALL} /* */ -- */",  # Spark does not count a hint as a comment within a comment
        f"SELECT 1 /* /* */ , {CALL} */ -- */",
    ],
)
def test_nothing_of_a_comment_reaches_spark_which_may_end_it_elsewhere(written):
    assert not {"--", "/*", "*/", "reflect"} & set(spark_text(written).text.split())


@pytest.mark.parametrize("written", ["N'a\\'", "r'a'", "R'a'"])
def test_texts_that_spark_ends_otherwise_are_refused(written):
    with pytest.raises(UsageError, match="Write a text in single quotes"):
        spark_text(f"SELECT {written}")


SCRIPTS = [
    "WITH q AS (SELECT 1 AS x), r AS (SELECT 2 AS y) FROM q JOIN r MAP (x) USING 'touch /tmp/x'",
    "SELECT * FROM (FROM (SELECT 1 AS x) CROSS JOIN (SELECT 2 AS y) REDUCE (x) USING 'id')",
    "FROM (SELECT 1 AS x) SELECT TRANSFORM (x) using/* c */'id' AS y",
    'SELECT transform(x) USING "id" FROM q',
]


@pytest.mark.parametrize("written", SCRIPTS)
def test_a_script_is_refused_however_it_is_written(written):
    with pytest.raises(UsageError, match="and never a script"):
        spark_text(written)


def test_a_join_by_equal_columns_stays():
    assert spark_text("SELECT * FROM a JOIN b USING (id)").text == "SELECT * FROM `t0` AS `title` JOIN `t1` AS `title` USING (id)"


@pytest.mark.parametrize(
    "deep",
    [f"SELECT {'STRUCT(' * 40}1{')' * 40}", f"SELECT {'f(' * 101}1{')' * 101}", f"SELECT CAST(a AS {'ARRAY<' * 9}INT{'>' * 9})"],
)
def test_a_query_that_would_take_the_parser_for_ever_is_refused_before_it(deep):
    with pytest.raises(UsageError, match="nested too deeply"):
        spark_text(deep)


def test_a_query_that_names_hundreds_of_others_is_refused():
    with pytest.raises(UsageError, match="names more than 500 others"):
        spark_text(f"WITH {', '.join(f'c{number} AS (SELECT 1)' for number in range(501))} SELECT 1")


def test_comparisons_are_no_brackets():
    assert spark_text(f"SELECT {' AND '.join(['a < b'] * 200)} FROM cars")


def test_a_hint_is_refused_as_nobody_checks_what_is_in_it():
    with pytest.raises(UsageError, match="There are no hints in a SELECT"):
        spark_text("SELECT /*+ BROADCAST(cars) */ a FROM cars")
