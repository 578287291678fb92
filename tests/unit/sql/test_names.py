"""What a query reads: names that are no CTE of its own, found in a time that grows as the query does."""

import sys

import pytest

from pitstop.errors import UsageError
from pitstop.sql.names import beyond_ctes, outside, reads
from pitstop.sql.parsing import named
from pitstop.sql.places import Place
from pitstop.sql.queries import MOST_TABLES, parse_query
from pitstop.sql.rewriting import rewritten
from pitstop.sql.statements import Query

CARS = named("CREATE MAPPING cars (__key VARCHAR, owner VARCHAR) TYPE IMap")


def query(text):
    return Query(text, Place(1, 1, 1, 1))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", {"a"}),
        ("WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b, c", {"c"}),
        ("WITH b AS (SELECT * FROM a), a AS (SELECT 1) SELECT * FROM b", {"a"}),
        ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a", set()),
        ("WITH a AS (SELECT 1), a AS (SELECT * FROM a) SELECT * FROM a", set()),
        ("WITH a AS (SELECT 1) SELECT * FROM (SELECT * FROM a JOIN b) AS s WHERE EXISTS (SELECT 1 FROM a)", {"b"}),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) AS s, a", {"a"}),
        ("WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) SELECT * FROM b", {"b"}),
        ("WITH a AS (SELECT 1) SELECT * FROM (WITH b AS (SELECT * FROM a) SELECT * FROM a, b, c) AS s", {"c"}),
        ("SELECT (WITH a AS (SELECT 1) SELECT * FROM a UNION ALL SELECT * FROM b), (SELECT * FROM a)", {"a", "b"}),
        ("WITH a AS (SELECT 1) SELECT * FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(t), INTERVAL '1' MINUTE))", set()),
        ("SELECT /*+ BROADCAST(a) */ * FROM b", {"b"}),
    ],
)
def test_a_cte_is_seen_behind_it_and_within_what_it_stands_before(text, names):
    assert {node.name for node in outside(parse_query(query(text)))} == names


def test_tables_of_a_schema_are_never_ctes():
    found = reads(
        [query("WITH jobs AS (SELECT 1), cars AS (SELECT 1) SELECT * FROM information_schema.jobs, jobs")], {"cars": CARS}
    )
    assert (found.named, found.information) == ({}, {"jobs"})


def test_a_query_that_names_hundreds_of_tables_is_refused():
    assert parse_query(query(f"SELECT 1 FROM {', '.join(['cars'] * MOST_TABLES)}"))
    with pytest.raises(UsageError, match="The query names more than 500 tables: make several of it"):
        parse_query(query(f"SELECT 1 FROM {', '.join(['cars'] * (MOST_TABLES + 1))}"))


def steps(work, *arguments):
    """How many calls are made and generators resumed."""
    counted = 0

    def count(*_):
        nonlocal counted
        counted += 1

    sys.setprofile(count)
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
    return counted


def of_ctes(number):
    ctes = ", ".join(f"c{n} AS (SELECT 1)" for n in range(number))
    tree = parse_query(query(f"WITH {ctes} SELECT 1 FROM {', '.join([f'c{number - 1}'] * number)}"))
    return lambda: list(beyond_ctes(tree))


def of_edits(number):
    text = query(f"SELECT {', '.join(['x'] * number)} FROM {', '.join(['SNAPSHOT a STAGE b'] * number)}")
    tables = [(table, "t", "t") for table in beyond_ctes(parse_query(text)) if table.key == "table"]
    return lambda: rewritten(text, tables)


@pytest.mark.parametrize("work", [of_ctes, of_edits])
def test_twice_as_long_a_query_takes_twice_the_work(work):
    assert steps(work(400)) < 2.5 * steps(work(200))
