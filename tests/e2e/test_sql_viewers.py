"""What a viewer's token may do by statements, over HTTP and PostgreSQL's protocol: look at names, maps and jobs, and no more."""

import json

import psycopg
import pytest

from pitstop.client import connect
from pitstop.errors import ForbiddenError
from tests.gateways import gateway

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(400)]

VIEWER = "the-token-of-viewers"
MAPPINGS = """
CREATE MAPPING cars (__key VARCHAR, owner VARCHAR) TYPE IMap;
CREATE MAPPING trips (vin VARCHAR) TYPE File OPTIONS ('path' = '{trips}', 'format' = 'json');
CREATE MAPPING numbers TYPE Rate;
CREATE MAPPING changes TYPE MapJournal OPTIONS ('map' = 'cars');
CREATE MAPPING log TYPE Log;
CREATE VIEW owners AS SELECT owner FROM cars;
CREATE VIEW vins AS SELECT vin FROM trips;
SINK INTO cars VALUES ('v1', 'Ada'), ('v2', 'Bob');
CREATE JOB copied AS SINK INTO cars SELECT CAST(sequence % 2 AS VARCHAR), CAST(COUNT(*) AS VARCHAR) FROM numbers GROUP BY 1;
"""
LOOKS = {
    "SELECT owner FROM cars WHERE __key = 'v1'": [("Ada",)],
    "SELECT __key, owner FROM cars WHERE __key LIKE 'v%' ORDER BY 1": [("v1", "Ada"), ("v2", "Bob")],
    "SELECT COUNT(*) FROM owners WHERE owner IN (SELECT owner FROM cars WHERE __key = 'v2')": [(1,)],
    "WITH trips AS (SELECT 1 AS x) SELECT x FROM trips": [(1,)],
    "SELECT table_name FROM information_schema.views ORDER BY 1": [("owners",), ("vins",)],
    "SELECT column_name FROM information_schema.columns WHERE table_name = 'trips'": [("vin",)],
    "SELECT name, status FROM information_schema.jobs": [("copied", "SUSPENDED")],
    "SELECT name FROM information_schema.snapshots": [("s",)],
    "SHOW JOBS": [("copied",)],
    "SHOW VIEWS": [("owners",), ("vins",)],
    "SHOW MAPPINGS": [("cars",), ("changes",), ("log",), ("numbers",), ("trips",)],
}
REFUSED = (
    "SELECT * FROM trips",
    "SELECT * FROM vins",
    "SELECT owner FROM cars WHERE EXISTS (SELECT 1 FROM trips WHERE vin = 'v1')",
    "WITH trips AS (SELECT * FROM trips) SELECT * FROM trips",
    "SELECT (SELECT MAX(vin) FROM trips) AS most FROM cars",
    "SELECT * FROM cars UNION ALL SELECT vin, vin FROM trips",
    "SELECT * FROM numbers",
    "SELECT * FROM changes",
    'SELECT * FROM SNAPSHOT s STAGE "{stage}"',
    "SINK INTO cars VALUES ('v1', 'Eve')",
    "INSERT INTO cars VALUES ('v3', 'Eve')",
    "CREATE MAPPING more TYPE Rate",
    "CREATE OR REPLACE MAPPING numbers TYPE Log",
    "CREATE VIEW more AS SELECT 1 AS x",
    "DROP MAPPING cars",
    "DROP VIEW IF EXISTS owners",
    "CREATE JOB other AS INSERT INTO log SELECT * FROM numbers",
    "UPDATE JOB copied AS INSERT INTO log SELECT * FROM numbers",
    "CHECK JOB copied AS INSERT INTO log SELECT * FROM numbers",
    "ALTER JOB copied RESUME",
    "ALTER JOB copied OPTIONS ('autoScaling' = 'false')",
    "DROP JOB copied",
    "DROP JOB IF EXISTS nobody",
    "CREATE OR REPLACE SNAPSHOT s FOR JOB copied",
    "DROP SNAPSHOT IF EXISTS s",
    "SHOW JOBS; DROP JOB copied",
    "SELECT owner FROM cars; SELECT * FROM trips",
)


@pytest.fixture
def server(stack, tmp_path):
    """(a viewer's client, how psycopg connects as one, the operator's client, the stage of the snapshot s that has state)."""
    (tmp_path / "trips").mkdir()
    (tmp_path / "trips" / "a.json").write_text(json.dumps({"vin": "v1"}) + "\n")
    token = tmp_path / "viewer-token"
    token.write_text(VIEWER)
    token.chmod(0o600)
    operator = stack.start_server(options=("--viewer-token-file", str(token)))
    operator.sql(MAPPINGS.format(trips=tmp_path / "trips"))
    operator.job("copied").wait_started(200)
    operator.sql("CREATE OR REPLACE SNAPSHOT s FOR JOB copied; ALTER JOB copied SUSPEND")
    (stage,) = [stage["name"] for stage in operator.service.snapshot("s").plan["stages"] if stage["layout"]]
    with connect(stack.url, VIEWER) as viewer, gateway(stack.url, VIEWER) as where:
        yield viewer, where, operator, stage


def everything(operator):
    """What statements could change."""
    tables = ("mappings", "views", "jobs", "snapshots")
    found = {name: list(map(dict, operator.sql(f"SELECT * FROM information_schema.{name} ORDER BY 1, 2"))) for name in tables}
    return found, operator.map("cars").entries(), list(map(dict, operator.sql("DESCRIBE JOB copied")))


def test_viewers_look_at_maps_and_names_and_do_nothing_else(server):
    viewer, where, operator, stage = server
    before = everything(operator)
    for text, expected in LOOKS.items():
        assert [tuple(row.values()) for row in viewer.sql(text)] == expected, text
    assert {row["property"]: row["value"] for row in viewer.sql("DESCRIBE JOB copied")}["status"] == "SUSPENDED"
    assert [row["kind"] for row in viewer.sql("EXPLAIN JOB copied") if row["stage"] == "numbers"] == ["source"]
    refused = [text.format(stage=stage) for text in REFUSED]
    for text in refused:
        with pytest.raises(ForbiddenError, match="This token is a viewer's"):
            list(viewer.sql(text))

    with psycopg.connect(where, password=VIEWER, autocommit=True) as connection:
        for text, expected in LOOKS.items():
            assert connection.execute(text).fetchall() == expected, text
        tables = connection.execute("SELECT relname FROM pg_catalog.pg_class WHERE relname = 'cars'").fetchall()
        assert tables == [("cars",)]
        for text in refused:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="This token is a viewer's"):
                connection.execute(text)
    assert everything(operator) == before
