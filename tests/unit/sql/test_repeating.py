"""What Spark writes out again, within one another: a short text may be more than any machine can hold."""

import pytest

from pitstop.errors import UsageError
from pitstop.sql.places import Place
from pitstop.sql.queries import parse_query
from pitstop.sql.statements import Query


def query(text):
    return Query(text, Place(1, 1, 1, 1))


def within(form, times, inner="a"):
    for _ in range(times):
        inner = form.replace("@", inner)
    return inner


REPEATED = {
    "CASE @ WHEN 1 THEN 1 WHEN 2 THEN 1 END": 12,
    "CASE (@) WHEN 1 THEN 1 WHEN 2 THEN 1 WHEN 3 THEN 1 END": 8,
    "(@ LIKE ANY ('x', b, 'y'))": 8,
    "(@ NOT ILIKE ALL (b, 'y'))": 12,
    "RIGHT(@, 2)": 12,
    "nullifzero(@)": 12,
    "Decode(@, 1, a, 2, b)": 10,
}


@pytest.mark.parametrize(("form", "times"), REPEATED.items())
def test_what_doubles_with_each_level_has_few_levels(form, times):
    assert parse_query(query(f"SELECT {within(form, times)} FROM cars"))
    with pytest.raises(UsageError, match="Written out, the query has more than 100,000 parts"):
        parse_query(query(f"SELECT {within(form, 20)} FROM cars"))


@pytest.mark.parametrize("of_two", ["SELECT * FROM {0} UNION ALL SELECT * FROM {0}", "SELECT * FROM {0} AS a JOIN {0} AS b"])
def test_queries_of_with_that_name_one_another_twice_are_few(of_two):
    def chain(length):
        ctes = ", ".join(f"c{number + 1} AS ({of_two.format(f'c{number}')})" for number in range(length))
        return query(f"WITH c0 AS (SELECT 1 AS a), {ctes} SELECT * FROM c{length}")

    assert parse_query(chain(10))
    with pytest.raises(UsageError, match="names of WITH repeat what is in them"):
        parse_query(chain(40))


@pytest.mark.parametrize(
    "by", ["CUBE ({})", "{} WITH CUBE", "CUBE ({}), b", "GROUPING SETS (CUBE ({}), (b))", "CUBE (a, b), CUBE ({})"]
)
def test_a_cube_has_few_sides(by):
    def cube(sides):
        return query(f"SELECT 1 FROM cars GROUP BY {by.format(', '.join(f'c{number}' for number in range(sides)))}")

    assert parse_query(cube(9))
    with pytest.raises(UsageError, match="CUBE and names of WITH repeat"):
        parse_query(cube(30))


@pytest.mark.parametrize(
    "form",
    ["CASE WHEN @ THEN 1 ELSE 2 END", "CASE WHEN a THEN @ END", "CASE a WHEN @ THEN 1 END", "f(@)", "(@ + 1)", "(@ IN (1, 2))"],
)
def test_what_stays_as_it_is_may_have_many_levels(form):
    assert parse_query(query(f"SELECT {within(form, 30)}"))
    with pytest.raises(UsageError, match="nested too deeply"):
        parse_query(query(f"SELECT {within(form, 101)}"))


def test_cases_beside_one_another_are_not_nested():
    cases = ", ".join(["CASE a WHEN 1 THEN (2) ELSE c.case END"] * 500)
    assert parse_query(query(f"SELECT {cases} FROM c"))
