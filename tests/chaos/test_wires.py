"""The wire to the broker and the database: late answers come whole and in order, and an end is told to both sides."""

import contextlib
import socket
import threading
import time

import pytest

from tests.wires import Wire


@pytest.fixture
def echo():
    """The port of a server that says again what it hears; ``last`` is its newest connection."""

    def answer(connection):
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                connection.sendall(data)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                echo.last, _ = listener.accept()
                threading.Thread(target=answer, args=(echo.last,), daemon=True).start()

    class echo:
        last = None

    with socket.create_server(("127.0.0.1", 0)) as listener:
        echo.port = listener.getsockname()[1]
        threading.Thread(target=accept, daemon=True).start()
        yield echo
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def wire(echo):
    with contextlib.closing(Wire("127.0.0.1", 0)) as wire:
        wire.lead_to(echo.port)
        yield wire


def connected(wire):
    connection = socket.create_connection(("127.0.0.1", wire.port))
    connection.settimeout(20)
    return connection


def heard(connection, size):
    content = b""
    while len(content) < size and (data := connection.recv(65536)):
        content += data
    return content


def test_late_answers_come_whole_in_order_and_beside_one_another(wire):
    wire.delay = 0.5
    with connected(wire) as client:
        began = time.monotonic()
        content = b"".join(b"%06d" % number for number in range(20_000))
        threading.Thread(target=client.sendall, args=(content,), daemon=True).start()
        assert heard(client, len(content)) == content
        assert 0.5 <= time.monotonic() - began < 5, "one delay, and not one for each piece"


def test_a_server_that_ends_a_connection_ends_that_of_the_client(wire, echo):
    with connected(wire) as client:
        client.sendall(b"1")
        assert heard(client, 1) == b"1"
        echo.last.shutdown(socket.SHUT_RDWR)
        assert client.recv(1) == b""


def test_a_server_that_is_away_refuses_and_is_there_again_later(wire, echo):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        wire.lead_to(nobody.getsockname()[1])
        with connected(wire) as client:
            assert client.recv(1) == b""
    wire.lead_to(echo.port)
    with connected(wire) as client:
        client.sendall(b"1")
        assert heard(client, 1) == b"1"


def test_nothing_comes_through_a_cut_wire_until_it_is_whole_again(wire):
    with connected(wire) as client:
        wire.whole.clear()
        client.sendall(b"1")
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        wire.whole.set()
        client.settimeout(20)
        assert heard(client, 1) == b"1"
