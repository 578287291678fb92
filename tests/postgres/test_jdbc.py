"""PostgreSQL's JDBC driver, in a JVM of its own, carries statements out; scripts/with-postgres knows where the driver is."""

import os
import threading

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from pitstop.kit.waiting import wait_until
from pitstop.machine.java import find_java

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

DRIVER = os.environ.get("PITSTOP_TEST_JDBC", "")
MANY = "(SELECT explode(sequence(1, 2000000)) AS x)"
ENDLESS = f"SELECT COUNT(*) FROM {MANY} AS a CROSS JOIN {MANY} AS b WHERE a.x + b.x = 3"


@pytest.fixture
def java(tmp_path):
    """``java.sql`` of a JVM that has nothing but the driver."""
    if not DRIVER:
        pytest.skip("there is no JDBC driver here: install it (apt-get install libpostgresql-jdbc-java)")
    port, secret, process = launch_gateway(
        classpath=DRIVER,
        die_on_exit=True,
        java_path=str(find_java(tmp_path / "java") / "bin" / "java"),
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=secret))
    try:
        yield gateway.jvm.java.sql
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(20)


@pytest.fixture
def connect(java, door):
    """Connect by the driver, with options of its own."""
    _, where, token = door
    place = dict(part.split("=") for part in where.split())
    made = []

    def connected(**options):
        said = "&".join(f"{name}={value}" for name, value in options.items())
        url = f"jdbc:postgresql://{place['host']}:{place['port']}/{place['dbname']}?{said}"
        made.append(java.DriverManager.getConnection(url, place["user"], token))
        return made[-1]

    yield connected
    for connection in made:
        connection.close()


def rows(found):
    """Of a result, as texts."""
    columns = range(1, found.getMetaData().getColumnCount() + 1)
    told = []
    while found.next():
        told.append(tuple(found.getString(column) for column in columns))
    return told


def refusal(call):
    """(what is told, SQLSTATE) of the SQLException that a call ends with."""
    with pytest.raises(Py4JJavaError) as caught:
        call()
    error = caught.value.java_exception
    assert error.getClass().getName() == "org.postgresql.util.PSQLException"
    return error.getMessage(), error.getSQLState()


def test_jdbc_carries_statements_out(connect, door):
    client, _, _ = door
    connection = connect()
    said = connection.createStatement()
    assert said.executeUpdate("CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, speed INT, since TIMESTAMP) TYPE IMap") == 0
    said.execute("CREATE MAPPING numbers TYPE Rate; CREATE MAPPING log TYPE Log")
    said.executeUpdate("SINK INTO cars VALUES ('a', 'it''s', 3, TIMESTAMP '2026-01-01 00:00:00'), ('b', NULL, NULL, NULL)")

    found = said.executeQuery("SELECT __key, owner, speed, since FROM cars ORDER BY 1")
    told = found.getMetaData()
    assert [told.getColumnName(n) for n in range(1, 5)] == ["__key", "owner", "speed", "since"]
    assert [told.getColumnTypeName(n) for n in range(1, 5)] == ["text", "text", "int4", "timestamptz"]
    assert found.next()
    assert (found.getString(1), found.getString("owner"), found.getInt("speed")) == ("a", "it's", 3)
    assert found.getTimestamp("since").getTime() == 1_767_225_600_000
    assert found.next()
    assert (found.getString(2), found.getInt(3), found.wasNull()) == (None, 0, True)
    assert not found.next()

    prepared = connection.prepareStatement("SELECT owner FROM cars WHERE __key = 'a'")
    assert [rows(prepared.executeQuery()) for _ in range(7)] == [[("it's",)]] * 7  # from the fifth on it is prepared by name

    assert said.executeUpdate("CREATE JOB copied AS INSERT INTO log SELECT * FROM numbers") == 0
    assert rows(said.executeQuery("SHOW JOBS")) == [("copied",)]
    client.job("copied").wait_started(200)
    assert ("numbers", "source") in [row[:2] for row in rows(said.executeQuery("EXPLAIN JOB copied"))]
    assert said.executeUpdate("DROP JOB copied WITH SNAPSHOT s") == 0
    assert rows(said.executeQuery("SHOW JOBS")) == []
    assert [each.name for each in client.snapshots()] == ["s"]


def test_jdbc_tells_errors_puts_values_in_follows_streams_and_ends_queries(connect, door):
    client, _, _ = door
    connection = connect()
    said = connection.createStatement()
    said.execute("CREATE MAPPING few (__key VARCHAR, owner VARCHAR) TYPE IMap; CREATE MAPPING numbers TYPE Rate")

    message, state = refusal(lambda: said.executeUpdate("DROP JOBS nobody"))
    assert (message.startswith("ERROR: From line 1, column 6 to line 1, column 9: Encountered 'JOBS'"), state) == (True, "42601")
    assert refusal(lambda: said.executeUpdate("DROP JOB nobody")) == ("ERROR: Job doesn't exist: nobody", "42704")
    message, state = refusal(lambda: said.executeQuery("SELECT colour FROM few"))
    assert (message.startswith("ERROR: From line 1, column 8 to line 1, column 13: "), state) == (True, "42601")
    assert refusal(lambda: said.executeQuery("SELECT * FROM numbers"))[1] == "0A000"
    asked = connection.prepareStatement("SELECT owner FROM few WHERE __key = ?")
    asked.setString(1, "a")
    assert "Parameters ($1) are not possible" in refusal(asked.executeQuery)[0]

    simple = connect(preferQueryMode="simple")
    written = simple.prepareStatement("SINK INTO few VALUES (?, ?)")
    written.setString(1, "it's")
    written.setString(2, "C:\\new")
    written.executeUpdate()
    assert client.map("few").entries() == {"it's": {"owner": "C:\\new"}}
    read = simple.prepareStatement("SELECT owner FROM few WHERE __key = ?")
    for key, expected in (("it's", [("C:\\new",)]), ("\\' OR 1=1 -- ", [])):
        read.setString(1, key)
        assert rows(read.executeQuery()) == expected

    connection.setAutoCommit(False)
    following = connection.createStatement()
    following.setFetchSize(2)
    stream = following.executeQuery("SELECT sequence FROM numbers WHERE sequence % 2 = 0")
    assert [stream.getLong(1) for _ in range(5) if stream.next()] == [0, 2, 4, 6, 8]
    stream.close()
    connection.rollback()
    connection.setAutoCommit(True)

    said.setQueryTimeout(3)
    assert refusal(lambda: said.executeQuery(ENDLESS))[1] == "57014"
    threading.Timer(3, said.cancel).start()
    said.setQueryTimeout(0)
    assert refusal(lambda: said.executeQuery(ENDLESS))[1] == "57014"
    assert wait_until(lambda: rows(said.executeQuery("SELECT owner FROM few")) == [("C:\\new",)], 60)
