"""Queries that one entry of a map is enough for. That its rows are those of Spark: tests/e2e/test_sql_select.py."""

import pytest

from pitstop.sql.keyed import NotPlainError, keyed, wanted_keys
from pitstop.sql.parsing import named, parse
from pitstop.sql.queries import parse_query

CARS = "(__key VARCHAR, owner VARCHAR, seats INT, wheels TINYINT, km BIGINT, speed DOUBLE, sold BOOLEAN)"
ALL = ["__key", "owner", "seats", "wheels", "km", "speed", "sold"]
KNOWN = {
    thing.name: thing
    for thing in (
        named(f"CREATE MAPPING cars {CARS} TYPE IMap"),
        named('CREATE MAPPING names EXTERNAL NAME cars (__key VARCHAR, who VARCHAR EXTERNAL NAME "owner") TYPE IMap'),
        named("CREATE MAPPING single (__key VARCHAR, this BIGINT) TYPE IMap"),
        named("CREATE MAPPING numbered (__key INT, this BIGINT) TYPE IMap"),
        named("CREATE MAPPING parts (__key VARCHAR, at TIMESTAMP, owner VARCHAR) TYPE IMap"),
        named("CREATE MAPPING trips (__key VARCHAR, owner VARCHAR) TYPE File OPTIONS ('path' = '/trips')"),
        named("CREATE VIEW fast AS SELECT * FROM cars"),
    )
}


def asked(text):
    (query,) = parse(text)
    return keyed(query, KNOWN)


@pytest.mark.parametrize(
    ("text", "key", "columns"),
    [
        ("SELECT owner FROM cars WHERE __key = 'v1'", "v1", ["owner"]),
        ("select c.owner AS who, c.__key FROM cars AS c WHERE c.__key = 'it''s \\n'", "it's \\n", ["who", "__key"]),
        ("SELECT \"owner\", seats, owner FROM cars WHERE \"__key\" IN ('v1', 'v1')", "v1", ["owner", "seats", "owner"]),
        ("SELECT * FROM single WHERE __key = ''", "", ["__key", "this"]),
        ("SELECT cars.km, * FROM cars WHERE cars.__key = 'v1'", "v1", ["km", *ALL]),
    ],
)
def test_one_entry_is_enough(text, key, columns):
    found = asked(text)
    assert (found.key, [name for name, _ in found.columns]) == (key, columns)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT owner FROM cars",
        "SELECT owner FROM cars WHERE owner = 'v1'",
        "SELECT owner FROM cars WHERE __key = 1",
        "SELECT owner FROM cars WHERE __key = 'v1' AND speed > 1",
        "SELECT owner FROM cars WHERE __key = 'v1' OR __key = 'v2'",
        "SELECT owner FROM cars WHERE NOT __key = 'v1'",
        "SELECT owner FROM cars WHERE __key <=> 'v1'",
        "SELECT owner FROM cars WHERE __key = owner",
        "SELECT owner FROM cars WHERE __key IN ('v1', 'v2')",
        "SELECT owner FROM cars WHERE __key NOT IN ('v1')",
        "SELECT owner FROM cars WHERE other.__key = 'v1'",
        "SELECT upper(owner) FROM cars WHERE __key = 'v1'",
        "SELECT COUNT(*) FROM cars WHERE __key = 'v1'",
        "SELECT colour FROM cars WHERE __key = 'v1'",
        "SELECT OWNER FROM cars WHERE __key = 'v1'",
        "SELECT other.owner FROM cars WHERE __key = 'v1'",
        "SELECT cars.owner FROM cars AS c WHERE __key = 'v1'",
        "SELECT 1 FROM cars WHERE __key = 'v1'",
        "SELECT DISTINCT owner FROM cars WHERE __key = 'v1'",
        "SELECT owner FROM cars WHERE __key = 'v1' LIMIT 0",
        "SELECT owner FROM cars WHERE __key = 'v1' ORDER BY 2",
        "SELECT owner FROM cars WHERE __key = 'v1' GROUP BY owner",
        "SELECT owner FROM cars WHERE __key = 'v1' UNION ALL SELECT owner FROM cars WHERE __key = 'v1'",
        "SELECT a.owner FROM cars AS a JOIN cars AS b ON a.owner = b.owner WHERE a.__key = 'v1'",
        "SELECT a.owner FROM cars AS a, cars AS b WHERE a.__key = 'v1'",
        "SELECT __key FROM cars AS c (owner, __key, a, b, d, e, f) WHERE __key = 'v1'",
        "SELECT owner FROM (SELECT * FROM cars) AS cars WHERE __key = 'v1'",
        "WITH cars AS (SELECT 'x' AS __key, 'y' AS owner) SELECT owner FROM cars WHERE __key = 'v1'",
        "SELECT * EXCEPT (owner) FROM cars WHERE __key = 'v1'",
        "SELECT owner FROM cars TABLESAMPLE (0 ROWS) WHERE __key = 'v1'",
        "SELECT x FROM cars LATERAL VIEW explode(array(1, 2)) AS x WHERE __key = 'v1'",
        "SELECT /*+ BROADCAST(cars) */ owner FROM cars WHERE __key = 'v1'",
        "SELECT this FROM numbered WHERE __key = '1'",
        "SELECT owner FROM parts WHERE __key = 'v1'",
        "SELECT owner FROM trips WHERE __key = 'v1'",
        "SELECT owner FROM fast WHERE __key = 'v1'",
        "SELECT owner FROM nothing WHERE __key = 'v1'",
        "SELECT table_name FROM information_schema.mappings WHERE __key = 'v1'",
        "SELECT owner FROM information_schema.cars WHERE __key = 'v1'",
        "SELECT owner",
        "VALUES ('v1')",
    ],
)
def test_all_else_is_for_spark(text):
    assert asked(text) is None


def keys_of(text):
    (query,) = parse(text)
    tree = parse_query(query)
    return wanted_keys(tree, tree.args["from_"].this)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT owner FROM cars WHERE __key IN ('a', 'b') AND km > 1",
        "SELECT COUNT(*) FROM cars AS c WHERE km > 1 AND c.__key IN ('a', 'b')",
        "SELECT upper(cars.owner) FROM cars WHERE cars.__key IN ('a', 'b', 'a') ORDER BY 1",
    ],
)
def test_a_map_is_read_by_its_keys(text):
    assert keys_of(text) == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT m.n, t.__key FROM m LATERAL VIEW explode(array('x')) t AS __key WHERE t.__key = 'x'",
        "SELECT m.n FROM m LATERAL VIEW explode(array('x')) t AS __key WHERE __key = 'x'",
        "SELECT * FROM m PIVOT (MAX(n) FOR owner IN ('x' AS __key)) WHERE __key = 'x'",
        "SELECT * FROM m UNPIVOT (__key FOR name IN (a, b)) WHERE __key = 'x'",
        "SELECT n FROM m WHERE x.__key = 'a'",
        "SELECT n FROM m WHERE m.x.__key = 'a'",
        "SELECT n FROM m AS c WHERE m.__key = 'a'",
        "SELECT n FROM m, LATERAL (SELECT 'a' AS __key) AS t WHERE t.__key = 'a'",
        "SELECT n FROM m, LATERAL explode(array('a')) AS t (__key) WHERE __key = 'a'",
        "SELECT n FROM m JOIN (SELECT 'a' AS __key) AS t WHERE t.__key = 'a'",
    ],
)
def test_what_is_called_as_the_key_is_not_always_the_key(text):
    assert keys_of(text) is None


def test_a_row_is_that_of_the_entry():
    found = asked("SELECT *, owner AS again FROM cars WHERE __key = 'v1'")
    value = (
        '{"owner": "\\u00e9", "seats": -2147483648, "wheels": 127, "km": 9223372036854775807, "speed": 3, "sold": false, "x": 1}'
    )
    assert found.row(value) == ("v1", "é", -2147483648, 127, 9223372036854775807, 3.0, False, "é")
    assert isinstance(found.row(value)[5], float)
    assert found.row('{"owner": null}') == ("v1", None, None, None, None, None, None, None)
    assert asked("SELECT who FROM names WHERE __key = 'v1'").row('{"owner": "Ada", "who": "Bob"}') == ("Ada",)
    assert asked("SELECT this FROM single WHERE __key = 'v1'").row("7") == (7,)


@pytest.mark.parametrize(
    "value",
    [
        *('{"owner": 1}', '{"owner": {"a": 1}}', '{"owner": true}', '{"seats": "1"}', '{"seats": 1.0}', '{"seats": true}'),
        *('{"seats": 2147483648}', '{"wheels": -129}', '{"km": 9223372036854775808}', '{"speed": "1"}', '{"speed": NaN}'),
        *('{"speed": 9007199254740993}', '{"speed": 1e999}', '{"sold": 0}', '{"sold": "true"}', "[]", "7", '"text"'),
    ],
)
def test_what_spark_would_convert_is_left_to_it(value):
    with pytest.raises(NotPlainError):
        asked("SELECT __key FROM cars WHERE __key = 'v1'").row(value)
