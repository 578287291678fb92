"""What strangers and clients may take of the door: bytes, time, connections."""

import struct
import time

import psycopg
import pytest

from pitstop.kit.waiting import wait_until
from pitstop.pgwire.limits import Limits
from tests.unit.pgwire.doors import connect, door, everything, startup, stranger


@pytest.mark.parametrize("length", [0, 7, 10_001, 2**31 - 1, -1])
def test_a_startup_packet_is_refused_by_the_length_that_it_says(length):
    with door() as place, stranger(place) as connection:
        connection.sendall(struct.pack("!ii", length, 196608))
        assert b"invalid length of startup packet" in everything(connection)


def test_a_startup_packet_that_is_none_is_refused():
    with door() as place, stranger(place) as connection:
        connection.sendall(struct.pack("!ii", 12, 196608) + b"user")
        assert b"invalid startup packet" in everything(connection)


@pytest.mark.parametrize("length", [3, 0, -1, 10_001, 8 << 20, 2**31 - 1])
def test_before_the_password_messages_are_small(length):
    with door() as place, stranger(place) as connection:
        connection.sendall(startup())
        assert b"SCRAM-SHA-256" in connection.recv(1000)
        connection.sendall(b"p" + struct.pack("!i", length))
        assert b"invalid message length" in everything(connection)


def test_the_limits_are_those_that_are_promised():
    """In docs/security.md."""
    limits = Limits()
    assert (limits.startup_bytes, limits.message_bytes, limits.seconds_without_password) == (10_000, 8 * 1024 * 1024, 60)
    assert (limits.clients, limits.strangers) == (100, 100)


@pytest.mark.parametrize(
    "message", [b"", b"\0\0\0\0", b"SCRAM-SHA-256\0\0\0\0\2\xff\xff", b"SCRAM-SHA-256\0\0\0\0\4n,,n", b"\xff"]
)
def test_before_the_password_wrong_messages_are_answered(message):
    with door() as place, stranger(place) as connection:
        connection.sendall(startup())
        connection.recv(1000)
        connection.sendall(b"p" + struct.pack("!i", len(message) + 4) + message)
        assert everything(connection)[:1] == b"E"


def test_behind_the_password_messages_are_bounded():
    with door(Limits(message_bytes=100_000)) as place:
        with connect(place) as connection:
            assert connection.execute("SELECT length(%s::text), version()", ["x" * 50_000]).fetchone()[0] == 50_000
            with pytest.raises(psycopg.OperationalError, match="invalid message length"):
                connection.execute(f"SELECT version() -- {'x' * 100_000}")
        with connect(place) as connection:
            assert connection.execute("SELECT 'open' AS a, version()").fetchone()[0] == "open"


@pytest.mark.parametrize(("said", "told"), [(b"", b""), (b"\0\0", b""), (startup(), b"canceling authentication due to timeout")])
def test_who_gives_no_password_is_ended(said, told):
    with door(Limits(seconds_without_password=0.5)) as place, stranger(place) as connection:
        began = time.monotonic()
        connection.sendall(said)
        found = everything(connection)
        assert 0.3 < time.monotonic() - began < 10
        assert told in found


def test_who_gave_it_stays():
    with door(Limits(seconds_without_password=0.5)) as place, connect(place) as connection:
        time.sleep(0.8)
        assert connection.execute("SELECT current_user").fetchone() == ("viewer",)


def test_clients_beyond_the_most_are_told_and_the_next_one_comes_in_once_one_has_gone():
    with door(Limits(clients=2)) as place:
        first, second = connect(place), connect(place)
        with pytest.raises(psycopg.OperationalError, match="sorry, too many clients already"):
            connect(place)
        first.close()

        def comes_in():
            try:
                connect(place).close()
            except psycopg.OperationalError:
                return False
            return True

        assert wait_until(comes_in, 10)
        assert second.execute("SELECT 1 AS a, current_user").fetchone()[0] == 1
        second.close()


def test_strangers_keep_nobody_out():
    with door(Limits(strangers=3)) as place:
        waiting = [stranger(place) for _ in range(6)]
        with connect(place) as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("viewer",)
        assert everything(waiting[0]) == b"", "the oldest ones are ended"
        for each in waiting:
            each.close()


def test_a_query_is_cancelled_while_strangers_wait():
    with door(Limits(strangers=3)) as place, connect(place) as connection:
        waiting = [stranger(place) for _ in range(5)]
        connection.cancel_safe()
        assert connection.execute("SELECT current_user").fetchone() == ("viewer",)
        for each in waiting:
            each.close()


def test_one_connection_prepares_and_reads_so_much_at_most():
    with door(Limits(statements=5, prepared_letters=1000)) as place, connect(place) as connection:
        for number in range(5):
            connection.pgconn.prepare(f"s{number}".encode(), b"SELECT current_user")
        refused = connection.pgconn.prepare(b"s5", b"SELECT current_user")
        assert (refused.status, b"at most" in refused.error_message) == (psycopg.pq.ExecStatus.FATAL_ERROR, True)
        refused = connection.pgconn.prepare(b"s4", b"SELECT current_user" + b" " * 1000)
        assert b"at most" in refused.error_message
        assert connection.pgconn.prepare(b"s4", b"SELECT session_user").status == psycopg.pq.ExecStatus.COMMAND_OK


def test_a_text_of_statements_is_bounded():
    with door() as place, connect(place) as connection:
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="1,048,576 letters"):
            connection.pgconn and psycopg.ClientCursor(connection).execute("SELECT " + "1" * (1 << 20))
        assert connection.execute("SELECT current_user").fetchone() == ("viewer",)
