"""SELECT on a real server: maps, files, saved state, views and streams."""

import json
import math
import threading
import time
from datetime import UTC, datetime

import httpx2
import psutil
import pytest

from pitstop.client import connect
from pitstop.errors import ConflictError, PitstopError, UsageError
from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]

MAPPINGS = """
CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, speed INT, codes ARRAY<VARCHAR>) TYPE IMap;
CREATE MAPPING speeds (__key INT, this DOUBLE) TYPE IMap;
CREATE MAPPING trips (vin VARCHAR, km DOUBLE) TYPE File OPTIONS ('path' = '{trips}', 'format' = 'json');
CREATE MAPPING numbers TYPE Rate OPTIONS ('rowsPerSecond' = '50');
CREATE MAPPING log TYPE Log;
CREATE MAPPING changes TYPE MapJournal OPTIONS ('map' = 'cars');
CREATE VIEW fast AS SELECT __key AS vin, owner FROM cars WHERE speed > 100;
"""


@pytest.fixture
def client(stack, tmp_path):
    found = stack.start_server()
    (tmp_path / "trips").mkdir()
    trips = [{"vin": f"v{number % 3}", "km": number / 2} for number in range(10)]
    (tmp_path / "trips" / "a.json").write_text("".join(json.dumps(trip) + "\n" for trip in trips))
    found.sql(MAPPINGS.format(trips=tmp_path / "trips"))
    found.map("cars").put_all({f"v{n}": {"owner": f"o'{n}", "speed": n * 60, "codes": ["a", "b"][:n]} for n in range(3)})
    found.map("speeds").put_all({"1": 2.5, "02": 3.5})
    return found


def rows(client, text):
    return [tuple(row.values()) for row in client.sql(text)]


def test_select_gives_the_rows_of_maps_files_views_and_state(client, stack):
    assert rows(client, "SELECT * FROM cars ORDER BY __key") == [
        ("v0", "o'0", 0, []),
        ("v1", "o'1", 60, ["a"]),
        ("v2", "o'2", 120, ["a", "b"]),
    ]
    assert client.sql("SELECT owner, speed FROM cars").columns == [("owner", "STRING"), ("speed", "INT")]
    assert rows(client, "SELECT owner FROM cars WHERE __key = 'v1' AND speed > 1") == [("o'1",)]
    assert rows(client, "SELECT owner FROM cars WHERE __key IN ('v2', 'v9', 'v2')") == [("o'2",)]
    assert rows(client, "SELECT owner FROM cars WHERE __key = 'v1' OR speed = 0 ORDER BY 1") == [("o'0",), ("o'1",)]
    assert rows(client, "SELECT this FROM speeds WHERE __key = 2") == [(3.5,)]
    assert rows(client, "SELECT * FROM fast") == [("v2", "o'2")]
    assert rows(client, "SELECT c.owner, SUM(t.km) AS km FROM trips t JOIN cars c ON t.vin = c.__key GROUP BY 1 ORDER BY 1") == [
        ("o'0", 9.0),
        ("o'1", 6.0),
        ("o'2", 7.5),
    ]
    assert rows(client, "WITH cars AS (SELECT 1 AS x) SELECT * FROM cars") == [(1,)]
    assert rows(client, "SELECT table_name FROM information_schema.views") == [("fast",)]
    assert rows(client, "SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 'numbers'") == [(2,)]
    assert rows(client, "VALUES (1, 'a')") == [(1, "a")]
    began = time.monotonic()
    next(client.sql("SELECT * FROM cars"))
    print(f"first row of a small map after {time.monotonic() - began:.3f} s")

    client.sql("SINK INTO cars (__key, owner, codes) VALUES ('v8', 'new', array('c')), ('v9', 'old', NULL)")
    assert client.map("cars").get("v8") == {"owner": "new", "speed": None, "codes": ["c"]}
    client.sql("SINK INTO speeds SELECT length(__key) + 100, COUNT(*) FROM cars GROUP BY 1")
    assert client.map("speeds").get("102") == 5.0
    client.sql("INSERT INTO cars (__key, speed) VALUES ('v10', 7)")
    client.sql("CREATE MAPPING prices (__key VARCHAR, this DECIMAL(9, 2)) TYPE IMap; INSERT INTO prices VALUES ('a', 2.5)")
    assert client.map("prices").get("a") == 2.5
    assert rows(client, "SELECT '${env:HOME}', '${spark.app.name}'") == [("${env:HOME}", "${spark.app.name}")]
    assert rows(client, "WITH cars AS (SELECT * FROM cars WHERE speed = 60) SELECT owner FROM cars") == [("o'1",)]
    assert rows(client, "SELECT (WITH x AS (SELECT 1 AS y) SELECT y FROM x) AS z, COUNT(*) FROM fast") == [(1, 1)]
    assert rows(client, "SELECT c.__key FROM cars AS c (__key, o, s, w) WHERE c.o = 'o''1'") == [("v1",)]
    (moment,) = client.sql("SELECT TIMESTAMP '2026-01-01 00:00:00.123456' AS t")
    assert moment["t"] == datetime(2026, 1, 1, microsecond=123456, tzinfo=UTC)

    for text, message in {
        "INSERT INTO cars (__key, speed) VALUES ('v11', 7), ('v10', 7)": "Duplicate key: v10",
        "INSERT INTO cars (__key, speed) VALUES ('v11', 7), ('v11', 8)": "Duplicate key: v11",
        "INSERT INTO cars (__key, owner) SELECT vin, colour FROM trips": "colour",
        "SINK INTO cars (__key, owner) SELECT 'a', sequence FROM numbers": "You must use CREATE JOB statement",
        "SINK INTO log SELECT 1": "SINK INTO clause is not supported for Log",
        "SINK INTO cars (owner) VALUES ('a')": "Column '__key' needs a value",
        "SELECT colour FROM cars": "colour",
        "SELECT * FROM nothing": "Object 'nothing' not found",
        "SELECT * FROM csv.`/etc/passwd`": "reads only mappings and views",
        "SELECT java_method('java.lang.System', 'getenv', 'PATH')": "reaches beyond mappings",
        "SELECT * FROM log": "cannot be read",
        "SELECT * FROM SNAPSHOT nothing STAGE x": "The snapshot doesn't exist: nothing",
        "SELECT 1 / 0": "zero",
        "SELECT OWNER FROM cars": "From line 1, column 8 to line 1, column 12: .*OWNER",
        "SELECT '\U0001f600', \"owner\",\n colour FROM cars": "From line 2, column 2 to line 2, column 7: .*colour",
        "SELECT COUNT(*) FROM fast WHERE colour = 'red'": "From line 1, column 33 to line 1, column 38: .*colour",
        "SELECT from_xml('<a/>', 'x INT', map('rowValidationXSDPath', '/etc/passwd'))": "reach beyond mappings",
    }.items():
        with pytest.raises(PitstopError, match=message):
            list(client.sql(text))
    assert client.map("cars").get("v11") is None

    client.sql("CREATE JOB j AS SINK INTO speeds SELECT CAST(sequence % 3 AS INT), COUNT(*) FROM numbers GROUP BY sequence % 3")
    client.job("j").wait_started()
    assert wait_until(lambda: client.job("j").metrics().input_rows > 50, 60)
    client.sql("DROP JOB j WITH SNAPSHOT s")
    (stage,) = [stage for stage in client.service.snapshot("s").plan["stages"] if stage["layout"]]
    found = rows(client, f'SELECT * FROM SNAPSHOT s STAGE "{stage["name"]}" AS state ORDER BY 1')
    assert [row[0] for row in found] == [0, 1, 2]

    numbers = client.sql("SELECT sequence FROM numbers WHERE sequence % 2 = 0")
    assert [next(numbers)["sequence"] for _ in range(5)] == [0, 2, 4, 6, 8]
    numbers.close()
    seen = client.sql("SELECT key, new_value FROM changes")
    client.map("cars").put("v7", {"owner": "late"})
    assert wait_until(lambda: next(seen)["key"] == "v7", 60)
    seen.close()
    assert wait_until(lambda: not list(DataFolder(stack.data).queries.glob("select-*")), 60), "a query has left its folder"
    assert client.jobs() == []
    with pytest.raises(UsageError, match="Object"):
        list(client.sql("SELECT * FROM nobody"))


def test_a_query_means_what_was_written(client):
    """Not what another SQL would make of it: functions, texts, names and keys."""
    client.map("cars").put("back\\slash", {"owner": "it's"})
    written = {
        "SELECT to_char(DATE '2026-03-01', 'yyyy')": ("2026",),
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY speed) FROM cars": (60.0,),
        "SELECT max_by(__key, speed, 2) FROM cars WHERE speed > 1": (["v2", "v1"],),
        "SELECT to_json(parse_json('{\"a\": 1}'))": ('{"a":1}',),
        "SELECT parse_json('{\"a\":1}') AS v": ('{"a":1}',),
        "SELECT INTERVAL '1-2' YEAR TO MONTH": ("INTERVAL '1-2' YEAR TO MONTH",),
        "SELECT 'C:\\new', 'it''s', '\\''x'": ("C:\\new", "it's", "\\'x"),
        "SELECT owner FROM cars WHERE __key = 'back\\slash'": ("it's",),
        'SELECT 1 AS "a""b`c"': (1,),
        "SELECT * FROM (SELECT COUNT(*) AS n, MAX(__key) AS __key FROM cars) AS s WHERE __key = 'v2'": (4, "v2"),
        "SELECT a.k FROM cars AS a (k, __key, s, c) WHERE __key = 'o''1'": ("v1",),
        "SELECT double('NaN'), -double('inf'), 1 AS a, 2 AS a": (math.nan, -math.inf, 1, 2),
    }
    for text, row in written.items():
        assert repr(rows(client, text)) == repr([row]), text
    assert rows(client, "SELECT __key FROM cars WHERE __key = '\\'' OR 1=1 -- '") == []
    assert client.sql("SELECT named_struct('aB', 1) AS s").columns == [("s", "STRUCT<aB: INT>")]

    client.sql('CREATE MAPPING odd (__key VARCHAR, this VARCHAR EXTERNAL NAME "value") TYPE IMap')
    client.sql("INSERT INTO odd VALUES ('x', 'one')")
    assert rows(client, "SELECT * FROM odd") == [("x", "one")]
    client.sql('CREATE MAPPING strange (__key VARCHAR, "a\\b" INT, "c`d" INT, "e\'f" TIMESTAMP) TYPE IMap')
    client.sql("INSERT INTO strange VALUES ('x', 1, 2, TIMESTAMP '2026-01-01 00:00:00.123456')")
    assert [row[1:3] for row in rows(client, "SELECT * FROM strange")] == [(1, 2)]
    assert rows(client, 'SELECT unix_micros("e\'f") FROM strange') == [(1_767_225_600_123_456,)]
    with pytest.raises(UsageError, match="differ only in case"):
        client.sql("CREATE MAPPING both (n INT, N INT) TYPE File OPTIONS ('path' = '/nowhere')")


def test_one_entry_is_answered_as_spark_answers(client):
    """A condition beside the key lets Spark carry a query out."""
    columns = ("text VARCHAR", "tiny TINYINT", "whole INT", "long BIGINT", "number DOUBLE", "truth BOOLEAN")
    client.sql(f"CREATE MAPPING mixed (__key VARCHAR, {', '.join(columns)}) TYPE IMap")
    client.sql("CREATE MAPPING texts EXTERNAL NAME mixed (__key VARCHAR, this VARCHAR) TYPE IMap")
    client.sql("CREATE MAPPING wholes EXTERNAL NAME mixed (__key VARCHAR, this BIGINT) TYPE IMap")
    values = (
        None,
        "",
        "\u00e9\n'\\",
        "12",
        "true",
        "1.5",
        True,
        False,
        0,
        -1,
        127,
        128,
        2**31,
        2**53 + 1,
        2**63,
        1.0,
        -0.0,
        1e300,
    )
    values = (*values, [1], {"a": 1})
    names = [column.split()[0] for column in columns]
    entries = {f"each {n}": dict.fromkeys(names, value) for n, value in enumerate(values)}
    entries |= {f"one {n}": {name: value} for n, value in enumerate(values) for name in names[n % 6 :: 6]}
    entries |= {f"bare {n}": value for n, value in enumerate(values)}
    client.map("mixed").put_all(entries)
    for mapping in ("mixed", "texts", "wholes"):
        rows_of_spark = map(dict, client.sql(f"SELECT * FROM {mapping} WHERE length(__key) > 0"))
        everything = {row["__key"]: repr(row) for row in rows_of_spark}
        assert everything.keys() == entries.keys()
        for key in entries:
            (row,) = client.sql(f"SELECT * FROM {mapping} WHERE __key = '{key}'")
            assert repr(dict(row)) == everything[key], (mapping, entries[key])


def test_of_several_inserts_of_one_key_one_is_carried_out(client, stack):
    rows(client, "SELECT 1")
    told, refused = [], []

    def insert(number):
        with connect(stack.url, (stack.data / "token").read_text().strip()) as other:
            try:
                other.sql(f"INSERT INTO cars (__key, speed) VALUES ('race', {number}), ('own{number}', {number})")
                told.append(number)
            except ConflictError as error:
                refused.append(error.message)

    threads = [threading.Thread(target=insert, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 1
    assert ["Duplicate key: race" in message for message in refused] == [True] * 5
    assert client.map("cars").get("race")["speed"] == told[0]
    assert client.map("cars").size() == 3 + 2


def test_a_query_ends_with_who_has_asked_even_before_it_has_begun(client, stack):
    many = "(SELECT explode(sequence(1, 2000000)) AS x)"
    endless = f"SELECT COUNT(*) FROM {many} AS a CROSS JOIN {many} AS b WHERE a.x + b.x = 3"
    headers = {"Authorization": f"Bearer {(stack.data / 'token').read_text().strip()}"}
    with pytest.raises(httpx2.TimeoutException):  # the process that is to carry it out only begins
        httpx2.post(f"{stack.url}/api/v1/sql", json={"statements": endless}, headers=headers, timeout=0.5)
    assert rows(client, "SELECT owner FROM cars WHERE __key = 'v1'") == [("o'1",)]
    folder = str(DataFolder(stack.data).queries)
    (queries,) = javas_of(folder)

    def rests():
        before = processor_seconds(queries)
        return not wait_until(lambda: processor_seconds(queries) - before > 0.5, 2)

    assert wait_until(rests, 60), "it is carried out for nobody"


def test_a_query_that_cannot_be_ended_ends_with_its_process(stack):
    """The optimizer computes it, in the driver: no task of it is there to be ended."""
    client = stack.start_server(options=("--query-seconds", "5"))
    assert rows(client, "SELECT 1") == [(1,)]
    folder = str(DataFolder(stack.data).queries)

    before = {process.pid for process in javas_of(folder)}
    long = "aggregate(sequence(1, 60000), 0L, (a, x) -> a + {0})"
    with pytest.raises(UsageError, match="The query took more than 5 seconds"):
        rows(client, f"SELECT {long.format(long.format('n'))} AS s FROM VALUES (1) AS v (n)")
    assert wait_until(lambda: not before & {process.pid for process in javas_of(folder)}, 30), "it is still computed"
    assert rows(client, "SELECT 2") == [(2,)]


def javas_of(folder):
    """The JVMs that work in a folder. Processes that end while they are listed are left out."""
    listed = psutil.process_iter(["name", "cmdline", "status"])
    javas = [process for process in listed if process.info["name"] == "java" and process.info["status"] != psutil.STATUS_ZOMBIE]
    return [process for process in javas if folder in "".join(process.info["cmdline"] or ())]


def processor_seconds(process):
    """Of it and of what it has started."""
    return sum(sum(each.cpu_times()[:2]) for each in [process, *process.children(recursive=True)])


def test_who_takes_no_rows_holds_up_nobody_and_what_is_too_much_is_told(stack):
    client = stack.start_server(options=("--query-rows", "200000"))
    client.sql("CREATE MAPPING few (__key VARCHAR, owner VARCHAR) TYPE IMap; SINK INTO few VALUES ('a', 'b')")
    many = "SELECT a.id FROM (SELECT explode(sequence(1, {0})) AS id) AS a"
    slow = client.sql(many.format(200_000))
    next(slow)  # the rest is not taken
    with connect(stack.url, (stack.data / "token").read_text().strip()) as other:
        assert [dict(row) for row in other.sql("SELECT owner FROM few")] == [{"owner": "b"}]
    assert sum(1 for _ in slow) == 199_999
    with pytest.raises(UsageError, match="The query has more than 200,000 rows"):
        list(client.sql(many.format(200_001)))
    with pytest.raises(UsageError, match="The query has more than 200,000 rows"):
        client.sql(f"SINK INTO few {many.format(200_001).replace('a.id', 'a.id, a.id')}")
    assert client.map("few").size() == 1
