"""The ports on which Java takes calls from Python keep no connection of another user, and jobs go on meanwhile."""

import contextlib
import socket
import time

import pytest

from pitstop.kit.waiting import wait_until
from pitstop.spark.internals.gateways import GatewayGuard
from pitstop.spark.internals.joining import Clients
from tests.strangers import as_nobody, as_root

pytestmark = pytest.mark.spark

MANY = 150
END_SECONDS = 20.0
"""The longest that a stranger's connection may last on a busy machine; py4j itself waits without a limit."""
SENT = (b"", b"A\nno-secret", b"x" * 4096, b"A\nno-secret\ne\n")
"""The bytes that strangers send: none, lines without an end, and a wrong secret."""


def strangers(port):
    connections = []
    with as_nobody():
        for _ in range(MANY):
            connections.append(socket.create_connection(("127.0.0.1", port), timeout=END_SECONDS))
    for number, connection in enumerate(connections):
        with contextlib.suppress(OSError):  # it has been ended already
            connection.sendall(SENT[number % len(SENT)])
    return connections


def open_still(connections):
    """The numbers of the connections that the other side has not closed in time; what it says before that does not count."""
    deadline = time.monotonic() + END_SECONDS
    numbers = []
    for number, connection in enumerate(connections):
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            while connection.recv(4096):
                pass
        except TimeoutError:
            numbers.append(number)
        except OSError:
            continue
    return numbers


def answer(port, secret):
    """The answer of a gateway to a client that gives this secret."""
    with socket.create_connection(("127.0.0.1", port), timeout=END_SECONDS) as client:
        client.sendall(f"A\n{secret}\n".encode())
        return client.recv(100)


def threads(spark):
    """The number of Java's threads without a name of their own, as those of py4j are: Spark starts one or two with each epoch."""
    every = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    return sum(each.getThreadName().startswith("Thread-") for each in every.getThreadInfo(every.getAllThreadIds()) if each)


@pytest.fixture
def epochs(spark, tmp_path):
    """The sizes of the epochs of a query that runs and calls a function of this process."""
    sizes = []
    numbers = spark.readStream.format("pitstop_rate").option("rowsPerSecond", 100).load()
    query = numbers.writeStream.foreachBatch(lambda rows, number: sizes.append(rows.count()))
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert wait_until(lambda: sizes, 120)
    yield sizes
    query.stop()


@as_root
def test_each_of_many_strangers_at_the_gateway_is_ended_while_a_query_goes_on(spark, epochs):
    parameters = spark.sparkContext._gateway.gateway_parameters
    own = socket.create_connection(("127.0.0.1", parameters.port), timeout=END_SECONDS)
    with own:
        before, begun = threads(spark), len(epochs)
        connections = strangers(parameters.port)
        assert open_still(connections) == []
        for each in connections:
            each.close()
        assert wait_until(lambda: len(epochs) >= begun + 2, 120)
        assert wait_until(lambda: threads(spark) < before + MANY / 2, 60)
        own.sendall(f"A\n{parameters.auth_token}\n".encode())
        assert own.recv(100) == b"!yv\n", "a connection of the same user has stayed all the time"


@as_root
def test_strangers_at_the_door_of_a_process_in_an_engine_are_ended(spark):
    session = Clients(spark).add("strangers")
    try:
        connections = strangers(session.door.port)
        assert open_still(connections) == []
        for each in connections:
            each.close()
        assert answer(session.door.port, session.door.secret) == b"!yv\n"
    finally:
        assert wait_until(lambda: not session.end(), 60)
        session.forget()


@as_root
def test_one_who_came_before_the_guard_is_ended_too(spark):
    """Python can ask for it only once Java listens."""
    server = spark._jvm.org.apache.spark.api.python.Py4JServer(spark.sparkContext._jsc.sc().conf())
    server.start()
    try:
        port = server.getListeningPort()
        with as_nobody():
            stranger = socket.create_connection(("127.0.0.1", port), timeout=END_SECONDS)
        with stranger:
            assert answer(port, server.secret()) == b"!yv\n"  # it has accepted the one before, too
            GatewayGuard(spark).guard(server.server().getJavaServer())
            assert open_still([stranger]) == []
    finally:
        server.shutdown()
