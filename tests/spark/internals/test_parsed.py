"""Fails when Spark's parser makes of a query what it has not made before, and shows that all but queries are refused."""

import pytest
from pyspark.errors import AnalysisException, ParseException

from pitstop.spark.internals.parsed import RefusedError, rows_of
from pitstop.sql.functions import ALLOWED

pytestmark = pytest.mark.spark

FUNCTIONS = dict.fromkeys(ALLOWED) | {"from_xml": 2}
QUERIES = [
    "VALUES (1, 'a'), (2, current_user())",
    "SELECT * FROM t PIVOT (sum(a) AS s FOR b IN ('x' AS x, 'y'))",
    "SELECT * FROM t UNPIVOT (v FOR n IN (a))",
    "SELECT * FROM t LATERAL VIEW OUTER explode(array(a)) x AS y",
    "SELECT * FROM t TABLESAMPLE (10 PERCENT) UNION ALL SELECT * FROM t TABLESAMPLE (5 ROWS)",
    "SELECT a, count(b) OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS r FROM t QUALIFY r = 1",
    "SELECT a, max(b) OVER w, max(b) OVER (ORDER BY a ROWS UNBOUNDED PRECEDING) FROM t WINDOW w AS (PARTITION BY a)",
    "SELECT a, count(b) FROM t GROUP BY GROUPING SETS ((a), ()) HAVING count(b) > 0 ORDER BY 1 DESC NULLS LAST LIMIT 5 OFFSET 2",
    "SELECT a, grouping(a), count(b) FROM t GROUP BY CUBE (a) UNION SELECT a, 1, count(b) FROM t GROUP BY a WITH ROLLUP",
    "SELECT a, count(b) FROM t GROUP BY ALL ORDER BY ALL LIMIT ALL",
    "FROM t |> WHERE a > 1 |> SELECT a |> AGGREGATE count(a) AS s GROUP BY 1 |> EXTEND s + 1 AS u |> ORDER BY s |> LIMIT 3",
    "SELECT * FROM t, LATERAL (SELECT t.a + 1) AS u (c), explode(array(1)) AS e (d), range(5), (VALUES (1)) AS v",
    "SELECT * FROM t WHERE a IN (SELECT 1) AND EXISTS (SELECT 1) AND NOT a > (SELECT max(a) FROM t) AND a IN (1, 2)",
    "SELECT b LIKE ANY ('x', 'y'), b LIKE 'x', b ILIKE 'x', b RLIKE 'y', b NOT LIKE ALL ('x'), b NOT LIKE ANY ('x') FROM t",
    "SELECT INTERVAL '1' DAY, DATE '2020-01-01', TIME '10:00:00', X'1F', -1.5e3, 1.5BD, 'a' 'b', NULL FROM t",
    "SELECT a::string, CAST(a AS STRING), TRY_CAST(b AS INT), b COLLATE UTF8_LCASE FROM t",
    "SELECT transform(array(a), x -> x + 1), aggregate(array(a), 0, (x, y) -> x + y), mask('a', upperChar => 'b') FROM t",
    "SELECT * EXCEPT (a), t.*, array(a)[0], map('k', a)['k'], named_struct('x', a).x, STRUCT(1 AS a), (1, 2) FROM t",
    "SELECT a FROM t DISTRIBUTE BY a SORT BY a",
    "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT DISTINCT * FROM r",
    "SELECT a FROM t INTERSECT SELECT a FROM t EXCEPT ALL SELECT a FROM t MINUS SELECT 1",
    "SELECT explode(array(1)) UNION ALL SELECT stack(2, 1, 2)",
    "SELECT CASE WHEN a = 1 THEN 1 END, CASE a WHEN 1 THEN 2 ELSE 3 END, a <=> 1, a DIV 2, a & 1, a | 1, a ^ 1 FROM t",
    "SELECT ~a, -a, +a, NOT a < 1, b || b, a << 1, a >> 1, a >>> 1, a BETWEEN 1 AND 2, a <= 1 OR a >= 2 FROM t",
    "SELECT (a = 1) IS TRUE, (a = 1) IS UNKNOWN, b IS NOT NULL, a - 1, a * 2, a != 1, a / 2, a % 2, a IS DISTINCT FROM 1 FROM t",
    "SELECT trim(BOTH 'x' FROM b), trim(LEADING 'x' FROM b), trim(TRAILING 'x' FROM b), overlay(b PLACING 'x' FROM 1) FROM t",
    "SELECT substring(b FROM 1 FOR 2), position('a' IN b), extract(YEAR FROM DATE '2020-01-01') FROM t",
    "SELECT timestampadd(DAY, 1, now()), timestampdiff(DAY, now(), now()), current_date, current_timestamp, current_time, user",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a), count(DISTINCT a), max(a) FILTER (WHERE a > 1) FROM t",
    "SELECT any_value(a) IGNORE NULLS, first(a) IGNORE NULLS, last(a) RESPECT NULLS, first(a, true) FROM t",
    "SELECT * FROM t AS x NATURAL JOIN t LEFT SEMI JOIN t AS c ON c.a = x.a LEFT ANTI JOIN t AS d USING (a) FULL JOIN t AS e",
]
REFUSED = {
    "SELECT TRANSFORM(a) USING 'cat' FROM t": "ScriptTransformation",
    "SELECT (FROM t REDUCE a USING 'cat')": "ScriptTransformation",
    "WITH q AS (FROM t MAP a USING 'cat') SELECT 1": "ScriptTransformation",
    "SELECT 1 WHERE 1 IN (SELECT b FROM (FROM t MAP a USING 'cat'))": "ScriptTransformation",
    "SELECT max(1) OVER (ORDER BY (SELECT count(*) FROM (FROM t MAP a USING 'cat')))": "ScriptTransformation",
    "SELECT * FROM t JOIN LATERAL (FROM t MAP a USING 'cat')": "ScriptTransformation",
    "SELECT /*+ BROADCAST(t) */ * FROM t": "UnresolvedHint",
    "SELECT IDENTIFIER('refl' || 'ect')('java.lang.System', 'getenv')": "ExpressionWithUnresolvedIdentifier",
    "SELECT system.builtin.`Reflect`('java.lang.System', 'getenv')": "Reflect",
    "SELECT * FROM t LATERAL VIEW reflect('java.lang.System', 'getenv') AS y": "reflect",
    "SELECT from_xml('<a/>', 'x INT', map('rowValidationXSDPath', '/etc/passwd'))": "from_xml",
    "SELECT xpath_string('<a/>', 'a')": "xpath_string",
    "SELECT one_of_a_later_release(1)": "one_of_a_later_release",
    "SELECT * FROM python_worker_logs()": "python_worker_logs",
    "SELECT * FROM csv.`/etc/passwd`": "csv.`/etc/passwd`",
    "SELECT * FROM spark_catalog.default.t": "spark_catalog.default.t",
    "SELECT * FROM STREAM t": "NamedStreamingRelation",
    "SELECT * FROM t VERSION AS OF 1": "RelationTimeTravel",
    "SET spark.sql.ansi.enabled = false": "SetCommand",
    "DROP VIEW t": "DropView",
    "BEGIN SELECT 1; END": "CompoundBody",
    "EXECUTE IMMEDIATE 'SELECT 1'": "UnresolvedExecuteImmediate",
}


@pytest.fixture
def session(spark):
    own = spark.newSession()
    own.sql("SELECT 1 AS a, '2' AS b").createOrReplaceTempView("t")
    return own


@pytest.mark.parametrize("query", QUERIES)
def test_what_a_query_may_be_made_of_is_read(session, query):
    assert rows_of(session, query, FUNCTIONS).columns == session.sql(query).columns


@pytest.mark.parametrize(("text", "named"), REFUSED.items())
def test_all_else_is_refused_and_named(session, text, named):
    with pytest.raises(RefusedError) as error:
        rows_of(session, text, FUNCTIONS)
    assert str(error.value) == named


def test_what_stands_in_many_places_is_looked_at_once(spark):
    nested = "b"
    for _ in range(40):
        nested = f"CASE {nested} WHEN 1 THEN 1 WHEN 2 THEN 1 END"
    with pytest.raises(RefusedError, match="reflect"):
        rows_of(spark, f"SELECT reflect('java.lang.System', 'getenv'), {nested} FROM t", FUNCTIONS)


def test_what_is_refused_has_done_nothing(session):
    with pytest.raises(RefusedError):
        rows_of(session, "CREATE TEMPORARY VIEW made AS SELECT 1", FUNCTIONS)
    with pytest.raises(AnalysisException):
        session.table("made")


def test_a_query_is_read_by_the_settings_of_its_own_session(spark, session):
    spark.newSession().sql("SELECT 1")
    session.conf.set("spark.sql.ansi.enabled", "true")
    session.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    assert rows_of(session, 'SELECT "a" FROM t', FUNCTIONS).first()[0] == 1


def test_what_spark_has_against_a_text_comes_with_its_place(session):
    with pytest.raises(ParseException):
        rows_of(session, "SELECT 1 +", FUNCTIONS)
    with pytest.raises(AnalysisException) as error:
        rows_of(session, "SELECT colour FROM t", FUNCTIONS)
    (context,) = error.value.getQueryContext()
    assert (context.startIndex(), context.stopIndex()) == (7, 12)
