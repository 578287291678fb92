"""py4j's callback port lets in nobody but its own user."""

import socket
import struct
import sys
import threading
from types import SimpleNamespace

import pytest
from py4j.java_gateway import server_started
from pyspark import java_gateway

from tests.strangers import as_nobody, as_root

pytestmark = pytest.mark.spark

DETACH = b"g\no1\ne\n"
"""py4j's request to let go of an object: of a running query, if it is one's."""


@pytest.fixture
def port(spark):
    gateway = spark.sparkContext._gateway
    java_gateway.ensure_callback_server_started(gateway)
    return gateway._callback_server.server_socket.getsockname()[1]


def answer(connection):
    connection.settimeout(10)
    try:
        return connection.recv(100)
    except ConnectionResetError:
        return b""


def test_a_callback_of_the_same_user_is_answered(port):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"g\nno-such-object\ne\n")
        assert answer(client)


@as_root
def test_one_of_another_user_is_closed_unread(port):
    with as_nobody():
        stranger = socket.create_connection(("127.0.0.1", port))
    with stranger:
        stranger.sendall(DETACH)
        assert answer(stranger) == b""


def test_afterwards_queries_go_on(folder_stream, port, tmp_path):
    stream, add = folder_stream
    add('{"key": 1, "time": "2026-01-01 00:00:00"}')
    seen = []
    query = stream.writeStream.foreachBatch(lambda rows, number: seen.append(rows.count())).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination(60)
    assert seen == [1]


REQUEST, FAILURE = 3, 5
"""Kinds of messages of Spark's transport (``RpcRequest``, ``RpcFailure``)."""


def test_sparks_own_ports_look_at_nothing_that_a_stranger_sends(spark):
    """Without a secret they deserialize what comes: a stream of Java objects."""
    blocks = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().keySet().mkString(" ")  # the addresses of block managers
    ports = {int(spark.sparkContext.getConf().get("spark.driver.port")), int(blocks.rpartition(":")[2])}
    assert len(ports) == 2
    body = b"\xac\xed\x00\x05 any object"
    for port in ports:
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.settimeout(10)
            stranger.sendall(struct.pack(">QBqI", 21 + len(body), REQUEST, 1, len(body)) + body)
            told = stranger.recv(10_000)
        assert told[8:9] == bytes([FAILURE])
        assert b"Sasl" in told
        assert b"StreamCorrupted" not in told


def test_a_server_that_starts_has_its_port_at_every_moment(spark):
    """Who has started it asks its socket for the port while py4j's thread tells us of it."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3_000):
            with socket.create_server(("127.0.0.1", 0)) as listening:
                server = SimpleNamespace(server_socket=listening)
                telling = threading.Thread(target=server_started.send, kwargs={"sender": server, "server": server})
                telling.start()
                while telling.is_alive():
                    server.server_socket.getsockname()
                server.server_socket.close()
    finally:
        sys.setswitchinterval(usual)
