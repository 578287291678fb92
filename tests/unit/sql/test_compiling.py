"""A job's query becomes the stages that the Python API would make; what is no job is refused with its place."""

import pytest

from pitstop.errors import PitstopError, UsageError
from pitstop.pipeline.specs import WindowSpec
from pitstop.sql.programs import read_program, write_program

KNOWN = """
CREATE MAPPING pings (vin VARCHAR, speed DOUBLE, ts TIMESTAMP, at STRUCT<town: VARCHAR>) TYPE CsvTail OPTIONS ('path' = '/pings');
CREATE MAPPING trips (vin VARCHAR, km DOUBLE EXTERNAL NAME distance, ts TIMESTAMP) TYPE CsvTail OPTIONS ('path' = '/trips');
CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, "top speed" INT) TYPE IMap;
CREATE MAPPING counts (__key VARCHAR, n BIGINT, total DOUBLE) TYPE IMap;
CREATE MAPPING archive (vin VARCHAR, n BIGINT) TYPE File OPTIONS ('path' = '/archive');
CREATE MAPPING log TYPE Log;
CREATE MAPPING topic (__key VARCHAR, n BIGINT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1');
CREATE MAPPING keyless (n BIGINT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1');
CREATE MAPPING rows (vin VARCHAR EXTERNAL NAME car, n BIGINT) TYPE Postgres OPTIONS ('url' = 'postgresql://h/d');
CREATE MAPPING newest (vin VARCHAR, n BIGINT) TYPE Postgres OPTIONS ('url' = 'postgresql://h/d', 'key' = 'vin');
CREATE VIEW ordered AS SELECT * FROM TABLE(IMPOSE_ORDER(TABLE pings, DESCRIPTOR(ts), INTERVAL '5' SECONDS));
CREATE VIEW tours AS SELECT * FROM TABLE(IMPOSE_ORDER(TABLE trips, DESCRIPTOR(ts), INTERVAL '5' SECONDS));
"""
MINUTES = "TABLE(TUMBLE(TABLE ordered, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"


def stages(body):
    """(name, what it does) of each stage of a job."""
    program = read_program(KNOWN + f"CREATE JOB j AS {body}")
    return {node.name: node for node in program.definition().build(()).nodes}


def stateful(body):
    return {name: node.spec.describe() for name, node in stages(body).items() if node.spec.stateful}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            f"SINK INTO counts SELECT vin, COUNT(*), SUM(speed) FROM {MINUTES} GROUP BY window_start, vin",
            {"windows-by-vin": "tumbling(1 minutes) by (vin): count_all=count, sum_speed=sum"},
        ),
        (
            "INSERT INTO log WITH fast AS (SELECT window_end AS w, COUNT(*) AS n FROM HOP(ordered, DESCRIPTOR(ts), INTERVAL '1' "
            "MINUTE, INTERVAL '5' MINUTES) GROUP BY window_end) SELECT * FROM fast",
            {"fast": "sliding(5 minutes, 1 minutes) by (): count_all=count"},
        ),
        (
            "INSERT INTO log SELECT * FROM (SELECT vin AS v, MAX(speed) AS m FROM TABLE(SESSION(TABLE ordered, DESCRIPTOR(ts), "
            "INTERVAL '30' SECONDS)) GROUP BY vin, window_start) AS drives",
            {"drives": "session(30 seconds) by (vin): max_speed=max"},
        ),
        (
            f"INSERT INTO log SELECT /*+ STAGE(mine) */ vin, MIN_BY(at, ts) AS first FROM {MINUTES} GROUP BY 1, window_start",
            {"mine": "tumbling(1 minutes) by (vin): min_by_at_ts_"},
        ),
        (
            "INSERT INTO log SELECT a.vin, b.km FROM ordered a JOIN tours b ON a.vin = b.vin AND a.ts BETWEEN b.ts - INTERVAL "
            "'10' SECONDS AND b.ts + INTERVAL '10' SECONDS",
            {"join-ordered-tours": "inner join on (vin) within 10 seconds"},
        ),
        (
            "INSERT INTO log SELECT a.vin, b.vin AS other FROM ordered a FULL OUTER JOIN tours b ON a.vin = b.vin AND a.ts "
            "BETWEEN b.ts - INTERVAL '10' SECONDS AND b.ts + INTERVAL '10' SECONDS",
            {"join-ordered-tours": "full join on (vin_517d25) within 10 seconds"},
        ),
        (
            "INSERT INTO log SELECT a.vin, b.km FROM ordered a LEFT JOIN tours b USING (vin) WHERE a.speed > 3",
            "A join of two streams needs a bound",
        ),
        (
            "SINK INTO counts (__key, n) SELECT vin, COUNT(*) FROM pings GROUP BY vin",
            {"totals-by-vin": "rolling by (vin): count_all=count"},
        ),
        ("INSERT INTO log SELECT DISTINCT vin, ts FROM ordered", {"distinct-vin-ts": "distinct by (vin, ts)"}),
        ("INSERT INTO log SELECT p.vin, c.owner FROM pings p JOIN cars c ON c.__key = p.vin", {}),
    ],
)
def test_the_stages_that_keep_state(body, expected):
    if isinstance(expected, str):
        with pytest.raises(UsageError, match=expected):
            stages(body)
        return
    found = stateful(body)
    assert found.keys() == expected.keys()
    assert all(found[name].startswith(text) for name, text in expected.items())


JOINED = "ordered AS {a} JOIN tours AS {b} ON {a}.vin = {b}.vin AND {a}.ts BETWEEN {b}.ts - INTERVAL '1' MINUTE AND {b}.ts"
"""A join of two streams under any two aliases."""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "INSERT INTO log SELECT a.vin, b.km FROM " + JOINED.format(a="a", b="b"),
            "INSERT INTO log SELECT p.vin, q.km FROM " + JOINED.format(a="p", b="q"),
        ),
        (
            f"INSERT INTO log WITH slow AS (SELECT vin, window_end, COUNT(*) AS n FROM {MINUTES} GROUP BY vin, window_end) "
            "SELECT * FROM slow",
            "INSERT INTO log WITH slow AS (SELECT * FROM (SELECT vin, window_end, COUNT(*) AS n "
            f"FROM {MINUTES} GROUP BY vin, window_end) WHERE n > 3) SELECT * FROM slow",
        ),
        (
            f"INSERT INTO log SELECT vin, COUNT(*) AS n FROM {MINUTES} GROUP BY vin, window_end",
            f"INSERT INTO log SELECT w.vin, COUNT(*) AS n FROM {MINUTES} AS w GROUP BY w.vin, w.window_end",
        ),
    ],
    ids=["aliases of a join", "a filter around", "an alias of windows"],
)
def test_a_stage_keeps_its_name_through_an_edit(before, after):
    assert stateful(before) == stateful(after)


def test_a_total_of_a_column_that_both_sides_have_keeps_its_name_under_another_alias():
    def totals(a, b):
        trips = f"(SELECT vin, ts, km AS speed FROM tours) AS {b}"
        joined = f"ordered AS {a} JOIN {trips} ON {a}.vin = {b}.vin AND {a}.ts BETWEEN {b}.ts AND {b}.ts + INTERVAL '1' MINUTE"
        body = f"SINK INTO counts (__key, total) SELECT {a}.vin, SUM({a}.speed) FROM {joined} GROUP BY {a}.vin"
        (found,) = (list(node.spec.aggregates) for node in stages(body).values() if hasattr(node.spec, "aggregates"))
        return found

    assert totals("a", "trips") == totals("x", "trips")


def test_hints_name_each_stage_of_a_select_with_several():
    body = "SINK INTO counts (__key, n) SELECT {hint} a.vin, COUNT(*) FROM " + JOINED.format(a="a", b="b") + " GROUP BY a.vin"
    assert stateful(body.format(hint="")).keys() == {"join-ordered-tours", "totals-by-vin"}
    assert stateful(body.format(hint="/*+ STAGE(mine) */")).keys() == {"join-ordered-tours", "mine"}
    both = '/*+ STAGE(mine), STAGE(pairs, "join-ordered-tours") */'
    assert stateful(body.format(hint=both)).keys() == {"pairs", "mine"}
    with pytest.raises(UsageError, match=r"From line 14, column \d+ .*: No stage with state is called 'other' here"):
        stages(body.format(hint="/*+ STAGE(x, other) */"))


def test_two_joins_of_a_cte_have_two_names():
    third = "(SELECT * FROM TABLE(IMPOSE_ORDER(TABLE trips, DESCRIPTOR(ts), INTERVAL '1' SECOND))) AS c"
    bound = "ON a.vin = c.vin AND a.ts BETWEEN c.ts - INTERVAL '1' MINUTE AND c.ts"
    body = f"INSERT INTO log WITH x AS (SELECT a.vin FROM {JOINED.format(a='a', b='b')} JOIN {third} {bound}) SELECT * FROM x"
    assert stateful(body).keys() == {"join-ordered-tours", "x"}


def test_two_stages_of_one_name_are_told_how_to_get_another():
    one = f"SELECT vin, COUNT(*) AS n FROM {MINUTES} GROUP BY vin, window_end"
    said = r"From line 14, column \d+ .*: Two stages would be called 'windows-by-vin': name this one by a CTE .*STAGE\(name\)"
    with pytest.raises(UsageError, match=said):
        stages(f"INSERT INTO log {one} UNION ALL {one}")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (f"SELECT vin, COUNT(*), SUM(speed) FROM {MINUTES} GROUP BY window_start, vin", "sink map, newest by window_end"),
        ("SELECT vin, 1, speed FROM ordered WHERE speed > 3", "sink map, newest by ts"),
        ("SELECT vin, 1, speed FROM pings", "sink map"),
    ],
)
def test_a_map_keeps_the_newest_row_though_the_query_does_not_select_its_time(query, told):
    assert stages(f"SINK INTO counts {query}")["into-counts"].spec.describe() == told


HOURS = "TABLE(TUMBLE(TABLE minutes, DESCRIPTOR({column}), INTERVAL '1' HOUR))"
OF_MINUTES = f"WITH minutes AS (SELECT vin, window_start, window_end AS w, COUNT(*) AS n FROM {MINUTES} GROUP BY vin, 2, 3)"


def test_results_of_windows_have_a_time_as_in_python():
    hours = f"INSERT INTO log {OF_MINUTES} SELECT vin, SUM(n) AS n FROM {HOURS} GROUP BY vin, window_end"
    for column in ("w", "window_start"):
        nodes = stages(hours.format(column=column))
        assert [name for name, node in nodes.items() if node.spec.stateful] == ["minutes", "windows-by-vin"]
        assert column in [node.spec.column for node in nodes.values() if node.spec.op == "timestamps"]
    within = hours.replace("TABLE minutes", "TABLE(IMPOSE_ORDER(TABLE minutes, DESCRIPTOR(w), INTERVAL '{lag}' SECOND))")
    assert stateful(within.format(column="w", lag=0)).keys() == {"minutes", "windows-by-vin"}
    with pytest.raises(UsageError, match=r"come in the order of their ends: give INTERVAL '0' SECOND"):
        stages(within.format(column="w", lag=1))


def test_results_of_windows_are_made_distinct_and_joined_by_their_ends():
    assert stateful(f"INSERT INTO log {OF_MINUTES} SELECT DISTINCT vin, w FROM minutes").keys() == {"minutes", "distinct-vin-w"}
    joined = (
        "SELECT m.vin, t.km FROM minutes AS m JOIN tours AS t ON m.vin = t.vin AND t.ts BETWEEN m.w - INTERVAL '1' MINUTE AND m.w"
    )
    assert stateful(f"INSERT INTO log {OF_MINUTES} {joined}").keys() == {"minutes", "join-minutes-tours"}


@pytest.mark.parametrize(
    ("bound", "filters"),
    [
        ("ON a.vin = b.vin AND a.ts > b.ts - INTERVAL '1' MINUTE AND a.ts < b.ts + INTERVAL '1' MINUTE", 2),
        ("ON a.vin = b.vin WHERE a.ts BETWEEN b.ts - INTERVAL '1' MINUTE AND b.ts + INTERVAL '1' MINUTE", 1),
        ("ON a.vin = b.vin AND a.ts >= b.ts - INTERVAL '1' MINUTE WHERE a.ts <= b.ts + INTERVAL '1' MINUTE AND a.vin > 'x'", 1),
    ],
)
def test_a_bound_of_a_join_may_be_strict_and_stand_in_where(bound, filters):
    nodes = stages(f"INSERT INTO log SELECT a.vin FROM ordered AS a JOIN tours AS b {bound}")
    (join,) = [node.spec for node in nodes.values() if node.spec.stateful]
    assert join.within_ms == 60_000
    assert len([node for node in nodes.values() if node.spec.op == "filter"]) == filters


def test_an_aggregate_is_named_after_what_it_computes_and_not_after_its_alias():
    def aggregates(text):
        nodes = stages(f"INSERT INTO log SELECT window_start, {text} FROM {MINUTES} GROUP BY window_start")
        (spec,) = [node.spec for node in nodes.values() if isinstance(node.spec, WindowSpec)]
        return list(spec.aggregates[0])

    assert aggregates("SUM(speed) AS a, COUNT(*) AS b") == ["sum_speed", "count_all"]
    assert aggregates("SUM(speed) AS other, COUNT(*) / SUM(speed) AS b") == ["sum_speed", "count_all"]
    first, second = aggregates("SUM(speed * 2) AS a, SUM(speed * 3) AS b")
    assert first != second
    assert aggregates("SUM(speed * 3) AS x") == [second]
    assert aggregates("COUNT(*) FILTER (WHERE speed > 3) AS x") != aggregates("COUNT(*) AS x")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SUM(speed)", "sum_speed"),
        ("SUM(speed * 2)", "sum_speed_2_fd4892"),
        ("COUNT(*) FILTER (WHERE speed > 3)", "count_where_speed_3_46030e"),
        ("AVG(CASE WHEN vin LIKE 'a%' THEN speed ELSE 0 END)", "avg_case_when_vin_like_a_then_speed_else_0_end_8fd588"),
        ("COUNT(DISTINCT upper(vin))", "count_distinct_upper_vin_a38cee"),
        ("MAX_BY(vin, ts)", "max_by_vin_ts_be8088"),
        ("SUM(CAST(speed AS DECIMAL(10, 2)))", "sum_cast_speed_as_decimal_10_2_ea1d2e"),
        ("MIN(date_trunc('hour', ts))", "min_date_trunc_hour_ts_2dd8b1"),
        ("COUNT_IF(at.town IS NULL)", "count_where_at_town_is_null_a63095"),
        ("STDDEV(-speed)", "stddev_speed_32793a"),
    ],
)
def test_saved_state_finds_an_aggregate_under_the_name_that_it_was_saved_by(text, name):
    # A new release of the library that writes expressions may write them another way: state of before would be lost.
    nodes = stages(f"INSERT INTO log SELECT window_start, {text} AS x FROM {MINUTES} GROUP BY window_start")
    (spec,) = [node.spec for node in nodes.values() if isinstance(node.spec, WindowSpec)]
    assert list(spec.aggregates[0]) == [name]


def test_a_total_has_another_name_than_the_columns_beside_it():
    body = "SINK INTO counts (__key, n) SELECT vin, COUNT(*) FROM (SELECT vin, 1 AS count_all FROM pings) x GROUP BY vin"
    (spec,) = [node.spec for node in stages(body).values() if node.spec.stateful]
    assert "count_all" not in spec.aggregates
    assert len(spec.aggregates) == 1


def columns(body):
    """Expressions and names of what the last SELECT before the sink gives."""
    return [node.spec.columns for node in stages(body).values() if node.spec.op == "select"][-2]


def test_columns_may_be_named_by_their_alias_and_fields_by_rows_and_column():
    assert columns("INSERT INTO log SELECT x, z FROM pings AS p (x, y, z, w)") == ("`vin` AS `x`", "`ts` AS `z`")
    assert columns("INSERT INTO log WITH a (speed, vin) AS (SELECT vin, speed FROM pings) SELECT vin FROM a") == (
        "`speed` AS `vin`",
    )
    assert columns("INSERT INTO log SELECT at.town, p.at.town AS t FROM pings p") == ("`at`.town AS `town`", "`at`.town AS `t`")


def test_using_makes_one_column_of_two():
    body = "INSERT INTO log SELECT vin, c.vin AS theirs, * FROM pings JOIN (SELECT __key AS vin, owner FROM cars) c USING (vin)"
    names = [column.rpartition(" AS ")[2] for column in columns(body)]
    assert names == ["`vin`", "`theirs`", "`vin_2`", "`speed`", "`ts`", "`at`", "`owner`"]


def test_group_by_takes_an_alias_that_is_no_column():
    body = f"INSERT INTO log SELECT upper(vin) AS v, COUNT(*) AS n FROM {MINUTES} GROUP BY v, window_start"
    assert stateful(body).keys() == {"windows-by-upper_vin"}


def test_a_name_is_the_nearest_cte_that_was_written_before():
    shadowed = "INSERT INTO log WITH pings AS (SELECT vin FROM pings WHERE speed > 1) SELECT * FROM pings"
    (condition,) = [node.spec.condition for node in stages(shadowed).values() if node.spec.op == "filter"]
    assert condition == "`speed` > 1"
    # The same text twice, which means something else each time.
    twice = (
        "INSERT INTO log SELECT * FROM (WITH x AS (SELECT vin FROM pings), y AS (SELECT * FROM x) SELECT * FROM y) a UNION ALL "
        "SELECT * FROM (WITH x AS (SELECT vin FROM trips), y AS (SELECT * FROM x) SELECT * FROM y) b"
    )
    assert {"pings", "trips"} <= stages(twice).keys()


def test_a_view_that_reads_itself_is_refused_in_a_file_too():
    views = "CREATE VIEW a AS SELECT * FROM b; CREATE VIEW b AS SELECT * FROM a;"
    with pytest.raises(UsageError, match=r"View 'a': View 'b': From line 1, .*View 'a' would read itself"):
        read_program(f"{KNOWN}{views}CREATE JOB j AS INSERT INTO log SELECT * FROM a").definition().build(())


def test_the_order_of_equal_columns_changes_no_state():
    def joined(condition):
        return stateful(f"INSERT INTO log SELECT a.vin FROM ordered a JOIN tours b ON {condition}")

    within = "a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '1' SECOND"
    first = joined(f"a.vin = b.vin AND upper(a.vin) = upper(b.vin) AND {within}")
    assert first == joined(f"{within} AND upper(b.vin) = upper(a.vin) AND b.vin = a.vin")


def test_stages_tell_the_line_of_the_statement_that_they_come_from():
    program = read_program(f"{KNOWN.replace(chr(10), ' ')}\nCREATE JOB j AS\nINSERT INTO log\nSELECT vin FROM pings")
    assert {node.location for node in program.definition().build(()).nodes} <= {"line 3", "line 4"}


def test_several_inserts_are_one_job_that_reads_each_mapping_once():
    found = stages("BEGIN SINK INTO counts (__key) SELECT vin FROM pings; INSERT INTO archive (vin) SELECT vin FROM pings; END")
    assert [name for name, node in found.items() if node.spec.op == "source"] == ["pings"]
    assert {"into-counts", "into-archive"} <= found.keys()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("INSERT INTO counts SELECT vin, 1, 2 FROM pings", "INSERT INTO clause is not supported for IMap, use SINK INTO"),
        ("SINK INTO archive SELECT vin, 1 FROM pings", "SINK INTO clause is not supported for File"),
        ("SINK INTO keyless SELECT 1 FROM pings", "SINK INTO .* for Kafka without a column __key, use INSERT INTO"),
        ("SINK INTO rows SELECT vin, 1 FROM pings", "SINK INTO .* for Postgres without option key, use INSERT INTO"),
        ("INSERT INTO newest SELECT vin, 1 FROM pings", "INSERT INTO .* for Postgres with option key, use SINK INTO"),
        ("SINK INTO newest (n) SELECT 1 FROM pings", "Column 'vin' needs a value"),
        ("INSERT INTO topic (n) SELECT 1 FROM pings", "Column '__key' needs a value"),
        ("INSERT INTO archive SELECT * FROM log", "A mapping of TYPE Log cannot be read"),
        ("INSERT INTO topic SELECT vin, COUNT(*) FROM pings GROUP BY vin", "or SINK INTO a map, topic or table with a key"),
        ("INSERT INTO pings SELECT vin, 1, 2, 3 FROM pings", "INSERT INTO clause is not supported for CsvTail"),
        ("INSERT INTO nothing SELECT vin FROM pings", "Mapping does not exist: nothing"),
        ("INSERT INTO archive SELECT vin FROM nothing", "Object 'nothing' not found, did you forget to CREATE MAPPING"),
        ("INSERT INTO archive SELECT vin, colour FROM pings", "Column 'colour' not found in any table"),
        ("INSERT INTO log SELECT vin FROM pings p JOIN cars c ON p.vin = c.__key JOIN trips t USING (vin)", "ambiguous|stream"),
        ("INSERT INTO archive SELECT vin FROM pings", "does not equal number of source items"),
        ("INSERT INTO archive (vin, vin) SELECT vin, speed FROM pings", "assigned more than once"),
        ("INSERT INTO archive (car) SELECT vin FROM pings", "Unknown target column 'car'"),
        ("SINK INTO counts (n) SELECT 1 FROM pings", "Column '__key' needs a value"),
        ("INSERT INTO log SELECT vin FROM pings ORDER BY vin", "ORDER BY has no end on a stream"),
        ("INSERT INTO log SELECT vin FROM pings LIMIT 3", "LIMIT is not possible on a stream"),
        ("INSERT INTO log SELECT vin, COUNT(*) FROM pings GROUP BY vin", "GROUP BY has no end on a stream without a window"),
        ("INSERT INTO log SELECT DISTINCT vin FROM pings", "DISTINCT would remember every row"),
        ("INSERT INTO log SELECT vin FROM pings UNION SELECT vin FROM trips", "UNION would remember every row"),
        ("INSERT INTO log SELECT vin FROM pings EXCEPT SELECT vin FROM trips", "EXCEPT is not possible in a job"),
        ("INSERT INTO log SELECT SUM(speed) OVER (PARTITION BY vin) AS s FROM pings", "OVER has no bounded state on a stream"),
        ("INSERT INTO log SELECT vin FROM pings WHERE vin IN (SELECT __key FROM cars)", "A query belongs in FROM"),
        ("INSERT INTO log SELECT vin FROM pings WHERE COUNT(*) > 1", "needs a GROUP BY"),
        (f"INSERT INTO log SELECT vin, COUNT(*) AS n FROM {MINUTES} GROUP BY vin", "GROUP BY needs window_start or window_end"),
        (f"INSERT INTO log SELECT * FROM {MINUTES}", "are to be grouped: GROUP BY window_start"),
        (f"INSERT INTO log SELECT vin, COUNT(*) AS n FROM {MINUTES} GROUP BY window_start", "'vin' is not being grouped"),
        (f"INSERT INTO log SELECT window_start + INTERVAL '1' DAY AS d FROM {MINUTES}", "is known once rows are grouped"),
        ("INSERT INTO log SELECT 1 FROM TUMBLE(pings, DESCRIPTOR(ts), INTERVAL '1' MINUTE)", "TUMBLE needs rows in order"),
        ("INSERT INTO log SELECT 1 FROM TUMBLE(ordered, DESCRIPTOR(vin), INTERVAL '1' MINUTE)", "The time of these rows is 'ts'"),
        ("INSERT INTO log SELECT 1 FROM TUMBLE(ordered, ts, INTERVAL '1' MINUTE)", r"TUMBLE takes \(TABLE rows, DESCRIPTOR"),
        ("INSERT INTO log SELECT 1 FROM TUMBLE(ordered, DESCRIPTOR(ts), INTERVAL '1' MONTH)", "Give a fixed time"),
        ("INSERT INTO log SELECT 1 FROM IMPOSE_ORDER(ordered, DESCRIPTOR(ts), INTERVAL '1' SECOND)", "is imposed already"),
        ("INSERT INTO log SELECT reflect('java.lang.System', 'exit') AS x FROM pings", "REFLECT reaches beyond mappings"),
        ("INSERT INTO log SELECT \"reflect\"('java.lang.System', 'exit') AS x FROM pings", "REFLECT reaches beyond mappings"),
        ("INSERT INTO log SELECT `Java_Method`('java.lang.System', 'exit') AS x FROM pings", "JAVA_METHOD reaches beyond"),
        ("INSERT INTO log SELECT builtin.try_reflect('java.lang.System', 'exit') AS x FROM pings", "TRY_REFLECT reaches beyond"),
        ("INSERT INTO log SELECT XPATH_string('<a/>', 'a') AS x FROM pings", "XPATH_STRING reaches beyond"),
        ("INSERT INTO log SELECT later(vin) AS x FROM pings", "There is no function LATER in queries"),
        ("INSERT INTO log SELECT * FROM IDENTIFIER('csv.`/etc/passwd`')", "IDENTIFIER reaches beyond mappings"),
        ("INSERT INTO log SELECT TRANSFORM(vin) USING 'sh -c id' AS (x) FROM pings", "and never a script"),
        ("INSERT INTO log SELECT * FROM json.`/etc/passwd`", "reads only mappings and views"),
        ("INSERT INTO log SELECT explode(array(1, 2)) AS x FROM pings", "Functions that make several rows"),
        ("INSERT INTO log SELECT * FROM (SELECT vin, speed AS vin FROM pings) x", "Two columns are called 'vin'"),
        ("INSERT INTO log SELECT 1", "A job reads FROM a mapping or a view"),
        ("INSERT INTO log SELECT vin FROM pings HAVING speed > 1", "HAVING needs a GROUP BY"),
        (
            "INSERT INTO log SELECT a.vin FROM ordered a JOIN tours b ON a.vin = b.vin AND a.ts BETWEEN b.ts + INTERVAL '1' "
            "MINUTE AND b.ts - INTERVAL '1' MINUTE",
            "No two times are so far apart",
        ),
        ("INSERT INTO log SELECT vin FROM ordered FULL JOIN tours USING (vin)", "A join of two streams needs a bound"),
        (
            f"INSERT INTO log SELECT FIRST(vin) FILTER (WHERE speed > 3) AS f FROM {MINUTES} GROUP BY window_start",
            "no FILTER in a job",
        ),
        (f"INSERT INTO log SELECT MAX_BY(vin, ts, 2) AS f FROM {MINUTES} GROUP BY window_start", "is not possible in a job"),
        (f"INSERT INTO log SELECT KURTOSIS(speed) AS k FROM {MINUTES} GROUP BY window_start", "is not possible in a job"),
        ("INSERT INTO log SELECT KURTOSIS(speed) AS k FROM pings", "window|is not possible in a job"),
        (
            f"INSERT INTO log SELECT COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM {MINUTES} GROUP BY window_start",
            "OVER has no bounded state",
        ),
        (f"INSERT INTO log SELECT FIRST(vin) IGNORE NULLS AS f FROM {MINUTES} GROUP BY window_start", "IGNORE NULLS"),
        (
            "INSERT INTO log SELECT a.vin FROM ordered a JOIN tours b ON a.vin = b.vin AND a.ts BETWEEN SYMMETRIC b.ts + "
            "INTERVAL '1' MINUTE AND b.ts - INTERVAL '1' MINUTE",
            "needs a bound",
        ),
        ("INSERT INTO log SELECT window(ts, '1 minute') AS w FROM ordered", "WINDOW is not possible in a job"),
        ("INSERT INTO log SELECT 1 FROM TUMBLE(ordered, DESCRIPTOR(ts), INTERVAL 'inf' SECOND)", "Give a fixed time"),
        ("INSERT INTO log SELECT 1 FROM TUMBLE(ordered, DESCRIPTOR(ts), INTERVAL '9999999' DAYS)", "Give a fixed time"),
        ("INSERT INTO log SELECT vin FROM . . a", "reads only mappings and views"),
        ("INSERT INTO log SELECT vin FROM pings |> LIMIT 5", "not understood|not possible"),
        ("INSERT INTO log SELECT * FROM (SELECT vin AS x, speed AS X FROM pings) y", "Two columns are called 'X'"),
        (
            "INSERT INTO log SELECT from_xml(vin, 'a INT', map('rowValidationXSDPath', 'http://x')) AS x FROM pings",
            "beyond mappings",
        ),
        (
            "INSERT INTO log WITH a AS (SELECT vin FROM pings), a AS (SELECT vin FROM trips) SELECT * FROM a",
            "WITH names 'a' twice",
        ),
        ("INSERT INTO log SELECT vin FROM pings VERSION AS OF 1", "VERSION AS OF is not possible in a job"),
        ("INSERT INTO log SELECT vin FROM pings TABLESAMPLE (1 ROWS)", "SAMPLE is not possible in a job"),
        ("INSERT INTO log SELECT vin FROM pings UNION ALL BY NAME SELECT vin FROM trips", "BY NAME is not possible in a job"),
        ("INSERT INTO log SELECT DISTINCT ON (vin) vin, ts FROM ordered", "ON is not possible in a job"),
        ("INSERT INTO log SELECT * FROM pings AS p (a, b)", "p has 4 columns: name each of them once, or none"),
        ("INSERT INTO log WITH a (x, x) AS (SELECT vin, ts FROM pings) SELECT * FROM a", "a has 2 columns"),
        ("INSERT INTO log SELECT name FROM information_schema.jobs", "No job can read information_schema"),
        (f"INSERT INTO log SELECT COLLECT_LIST(vin ORDER BY ts) AS v FROM {MINUTES} GROUP BY window_start", "has no ORDER BY"),
        (f"INSERT INTO log SELECT APPROX_COUNT_DISTINCT(vin, 0.1) AS v FROM {MINUTES} GROUP BY window_start", "is not possible"),
        ("INSERT INTO log SELECT a. FROM pings", "column"),
        ("BEGIN INSERT INTO log SELECT vin FROM pings; INSERT INTO log SELECT ts FROM pings; END", "writes into 'log' already"),
        (
            "INSERT INTO log SELECT /*+ BROADCAST(pings) */ vin FROM pings",
            r"The only hints are STAGE\(name\) and STAGE\(name, usual name\)",
        ),
        ("INSERT INTO log SELECT * FROM cars c JOIN pings p ON c.__key = p.vin", "A stream is joined with a table"),
        (
            "INSERT INTO log SELECT * FROM pings p RIGHT JOIN cars c ON c.__key = p.vin",
            r"A join is \[INNER\] JOIN, LEFT .* or FULL",
        ),
        ("INSERT INTO log SELECT * FROM pings p FULL JOIN cars c ON c.__key = p.vin", "A FULL JOIN is one of two streams"),
        (
            "INSERT INTO log SELECT a.vin FROM ordered a FULL JOIN tours b ON a.vin = b.vin AND a.ts BETWEEN b.ts AND b.ts + "
            "INTERVAL '1' MINUTE",
            "A full join of two streams needs the same bound before and after",
        ),
        (
            "INSERT INTO log SELECT a.vin FROM ordered a FULL JOIN tours b ON a.vin = b.vin AND a.speed > b.km AND a.ts BETWEEN "
            "b.ts - INTERVAL '1' MINUTE AND b.ts + INTERVAL '1' MINUTE",
            "A full join compares columns for equality only",
        ),
        ("INSERT INTO log SELECT * FROM pings p JOIN cars c ON p.vin > c.__key", "A join needs equal columns"),
        ("INSERT INTO log SELECT * FROM SNAPSHOT s STAGE t", "no job can read it"),
        (
            "INSERT INTO log SELECT COUNT(*) AS n FROM TABLE(SESSION(TABLE ordered, DESCRIPTOR(ts), INTERVAL '30' SECONDS)) "
            "GROUP BY window_start, window_end",
            "GROUP BY needs a column beside those of SESSION; for one group of all rows, group",
        ),
    ],
)
def test_what_is_no_job_is_refused_with_a_sentence_and_its_place(body, message):
    with pytest.raises(UsageError, match=message) as refused:
        stages(body)
    assert refused.value.message.startswith("From line ")


def test_a_place_is_that_of_the_word_in_the_statement():
    with pytest.raises(UsageError, match="From line 3, column 8 to line 3, column 13: Column 'colour'"):
        read_program(
            f"{KNOWN.replace(chr(10), ' ')}\nCREATE JOB j AS INSERT INTO log\nSELECT colour FROM pings"
        ).definition().build(())


def test_a_program_holds_what_its_job_uses_and_nothing_else():
    program = read_program(KNOWN + f'CREATE JOB "my job" AS INSERT INTO log SELECT vin, window_end FROM {MINUTES} GROUP BY 1, 2')
    text = write_program(program.job.name, program.job.body, program.things)
    again = read_program(text)
    assert again.things.keys() == {"pings", "ordered", "log"}
    assert again.job.name == "my job"
    first, second = (each.definition().build(()) for each in (program, again))
    assert [(node.name, node.spec.describe()) for node in first.nodes] == [
        (node.name, node.spec.describe()) for node in second.nodes
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SHOW JOBS", "holds CREATE MAPPING, CREATE VIEW and one CREATE JOB"),
        ("CREATE MAPPING a TYPE Rate", "holds one CREATE JOB, and this one holds 0"),
        ("CREATE JOB a OPTIONS ('initialSnapshotName' = 's') AS INSERT INTO b SELECT 1", "when you submit it"),
        ("CREATE MAPPING a TYPE Rate; CREATE MAPPING a TYPE Log; CREATE JOB j AS INSERT INTO a SELECT 1", "already exists: a"),
        ("CREATE MAPPING a TYPE Nothing; CREATE JOB j AS INSERT INTO a SELECT 1", "There is no TYPE Nothing"),
    ],
)
def test_a_text_that_is_no_job_is_refused(text, message):
    with pytest.raises(PitstopError, match=message):
        read_program(text)
