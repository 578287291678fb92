"""SELECT on a real server: maps, files, saved state, views and streams."""

import json
import time
from datetime import UTC, datetime

import pytest

from pitstop.client import connect
from pitstop.errors import PitstopError, UsageError
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
    (moment,) = client.sql("SELECT TIMESTAMP '2026-01-01 00:00:00' AS t")
    assert moment["t"] == datetime(2026, 1, 1, tzinfo=UTC)

    for text, message in {
        "INSERT INTO cars (__key, speed) VALUES ('v11', 7), ('v10', 7)": "Duplicate key: v10",
        "INSERT INTO cars (__key, speed) VALUES ('v11', 7), ('v11', 8)": "Duplicate key: v11",
        "INSERT INTO cars (__key, owner) SELECT vin, colour FROM trips": "colour",
        "SINK INTO cars (__key, owner) SELECT 'a', sequence FROM numbers": "You must use CREATE JOB statement",
        "SINK INTO log SELECT 1": "You must use CREATE JOB statement",
        "SINK INTO cars (owner) VALUES ('a')": "Column '__key' needs a value",
        "SELECT colour FROM cars": "colour",
        "SELECT * FROM nothing": "Object 'nothing' not found",
        "SELECT * FROM csv.`/etc/passwd`": "reads what mappings and views name",
        "SELECT java_method('java.lang.System', 'getenv', 'PATH')": "reaches beyond mappings",
        "SELECT * FROM log": "cannot be read",
        "SELECT * FROM SNAPSHOT nothing STAGE x": "The snapshot doesn't exist: nothing",
        "SELECT 1 / 0": "zero",
        "SELECT OWNER FROM cars": "OWNER",
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
