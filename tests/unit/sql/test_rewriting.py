"""A query for Spark: names are replaced, all else stays, and places lead back to what was written."""

import pytest
from sqlglot import exp

from pitstop.sql.names import is_of_cte
from pitstop.sql.places import Place
from pitstop.sql.queries import parse_query
from pitstop.sql.rewriting import rewritten
from pitstop.sql.statements import Query


def spark_text(text, place=Place(1, 1, 1, 1)):  # noqa: B008 - frozen
    query = Query(text, place)
    tables = [table for table in parse_query(query).find_all(exp.Table) if not is_of_cte(table)]
    return rewritten(query, [(table, f"t{number}", "title") for number, table in enumerate(tables)])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SELECT  a FROM cars -- c", "SELECT  a FROM `t0` AS `title` -- c"),
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
