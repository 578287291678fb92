"""psycopg carries statements out over the PostgreSQL protocol; psql and JDBC: tests/postgres."""

import threading

import psycopg
import pytest

from pitstop.kit.waiting import wait_until
from tests import gateways

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(400)]


@pytest.fixture
def gateway(stack, tmp_path):
    """How psycopg connects."""
    client = stack.start_server()
    token = (stack.data / "token").read_text().strip()
    with gateways.gateway(stack.url, token) as said:
        yield client, said, token


def test_clients_of_postgresql_carry_statements_out(gateway):
    client, where, token = gateway
    with psycopg.connect(where, password=token, autocommit=True) as connection:
        connection.execute(
            "CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, speed INT, ts TIMESTAMP, codes ARRAY<VARCHAR>) TYPE IMap"
        )
        connection.execute("CREATE MAPPING numbers TYPE Rate; CREATE MAPPING log TYPE Log")
        connection.execute(
            "SINK INTO cars VALUES ('a', 'it''s', 3, TIMESTAMP '2026-01-01 00:00:00', array('x')), ('b', NULL, NULL, NULL, NULL)"
        )
        found = connection.execute("SELECT __key, owner, speed, ts, codes FROM cars ORDER BY 1").fetchall()
        assert [(row[0], row[1], row[2], row[4]) for row in found] == [("a", "it's", 3, '["x"]'), ("b", None, None, None)]
        assert found[0][3].isoformat().startswith("2026-01-01T00:00:00")
        assert connection.execute("SELECT COUNT(*) AS n, 1.5 AS x, true AS t FROM cars").fetchone()[0] == 2
        connection.execute(
            "CREATE JOB copied OPTIONS ('processingGuarantee' = 'exactlyOnce',) AS INSERT INTO log SELECT * FROM numbers"
        )
        assert connection.execute("SHOW JOBS").fetchall() == [("copied",)]
        client.job("copied").wait_started()
        assert ("numbers", "source") in [row[:2] for row in connection.execute("EXPLAIN JOB copied").fetchall()]
        with pytest.raises(psycopg.errors.SyntaxError, match="From line 1, column 6"):
            connection.execute("DROP JOBS copied")
        with pytest.raises(psycopg.errors.UndefinedObject, match="Job doesn't exist: nobody"):
            connection.execute("DROP JOB nobody")
        connection.execute("DROP JOB IF EXISTS copied WITH SNAPSHOT s")
        assert connection.execute("SHOW SNAPSHOTS").fetchone()[0] == "s"
        assert "Pitstop" in connection.execute("SHOW server_version").fetchone()[0]
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(where, password="wrong")
    assert wait_until(lambda: client.jobs() == [], 20)


def test_what_is_refused_is_told_and_what_is_cancelled_ends(gateway):
    client, where, token = gateway
    client.sql("CREATE MAPPING pg_orders (__key VARCHAR, n INT) TYPE IMap; SINK INTO pg_orders VALUES ('a', 1)")
    many = "(SELECT explode(sequence(1, 2000000)) AS x)"
    endless = f"SELECT COUNT(*) FROM {many} AS a CROSS JOIN {many} AS b WHERE a.x + b.x = 3"
    with psycopg.connect(where, password=token, autocommit=True) as connection:
        assert connection.execute("SELECT * FROM pg_orders").fetchall() == [("a", 1)]
        for text, message in {
            "SELECT reflect('java.lang.System', 'exit', '0')": "reaches beyond mappings",
            "SELECT * FROM foo.bar": "reads only mappings and views",
            "SELECT FROM WHERE": "not complete|Expected|Invalid",
        }.items():
            with pytest.raises(psycopg.Error, match=message):
                connection.execute(text)
        for _ in range(2):
            timer = threading.Timer(3, connection.cancel)
            timer.start()
            with pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute(endless)
            assert connection.execute("SELECT n FROM pg_orders").fetchall() == [(1,)]
        value = "\\' OR 1=1 -- "
        with psycopg.ClientCursor(connection) as cursor:
            assert cursor.execute("SELECT n FROM pg_orders WHERE __key = %s", [value]).fetchall() == []
            assert cursor.execute("SELECT %s", [value]).fetchone() == (value,)
    assert wait_until(lambda: not client.sql("SELECT COUNT(*) AS n FROM pg_orders WHERE n > 0").close(), 30)
