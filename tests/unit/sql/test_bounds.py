"""How large a query may be: it is told before it takes the memory, or the time, of what it would be."""

import tracemalloc

import pytest

from pitstop.errors import UsageError
from pitstop.sql.bounds import MOST_TOKENS
from pitstop.sql.mappings import View
from pitstop.sql.names import query_of
from pitstop.sql.parsing import MOST_LETTERS
from pitstop.sql.places import Place
from pitstop.sql.programs import read_program
from pitstop.sql.queries import parse_query, words_of
from pitstop.sql.statements import Query


def query(text):
    return Query(text, Place(1, 1, 1, 1))


@pytest.mark.parametrize("text", ["a,", "'a',", '"a" ', "/* ' */a,", "--'\na,", "1.5,"])
def test_a_query_of_too_many_words_is_refused_at_the_price_of_those_that_it_may_have(text):
    long = query("SELECT " + text * ((MOST_LETTERS - 10) // len(text)) + "1")
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match="The query has more than 20,000 words and signs: make several of it"):
            parse_query(long)
        assert words_of(long) == set()
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_so_many_words_it_may_have_and_no_more():
    most = "SELECT " + ",".join(["-1.5"] * 6_666)
    assert len(parse_query(query(most + " a")).expressions) == 6_666
    with pytest.raises(UsageError, match="more than 20,000 words and signs"):
        parse_query(query(most + " a, b"))
    assert MOST_TOKENS == 20_000


@pytest.mark.parametrize(
    "condition",
    [
        f"vin IN ({','.join(f'{number}' for number in range(10_500))})",
        f"{'CASE ' * 40}vin{' WHEN 1 THEN 1 WHEN 2 THEN 1 END' * 40} = 1",
        f"{'CASE ' * 15}vin{' WHEN 1 THEN 1 WHEN 2 THEN 1 WHEN 3 THEN 1 END' * 15} = 1",
    ],
)
def test_a_job_and_a_view_that_were_accepted_before_are_read_however_large_they_are(condition):
    rows = f"SELECT vin FROM pings WHERE {condition}"
    with pytest.raises(UsageError):
        parse_query(query(rows))
    assert parse_query(query_of(View("v", rows)))
    mappings = "".join(
        f"CREATE MAPPING {name} (vin BIGINT) TYPE File OPTIONS ('path' = '/{name}', 'format' = 'json', 'streaming' = 'true');\n"
        for name in ("pings", "o")
    )
    assert read_program(f"{mappings}CREATE JOB j AS INSERT INTO o {rows};").definition().function()


@pytest.mark.parametrize("long", ["'{}'", '"{}"', "`{}`", "/* {} */ 1"])
def test_long_texts_names_and_comments_are_no_many_words(long):
    assert parse_query(query(f"SELECT {long.format('a, ' * 300_000)}"))


@pytest.mark.parametrize("begin", ["'", '"', "`", "/*"])
def test_what_nobody_ends_is_looked_through_once(begin):
    with pytest.raises(UsageError):
        parse_query(query("SELECT " + (begin + " ") * 200_001))
