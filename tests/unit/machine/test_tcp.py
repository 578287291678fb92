"""Whose a socket is."""

import contextlib
import socket

import pytest

from pitstop.machine import tcp
from tests.strangers import as_nobody, as_root


@contextlib.contextmanager
def listening(host="127.0.0.1", family=socket.AF_INET):
    with socket.create_server((host, 0), family=family) as listener:
        listener.settimeout(10)
        yield listener, listener.getsockname()[1]


def test_a_connection_of_the_same_user_is_ones_own():
    with listening() as (listener, port), socket.create_connection(("127.0.0.1", port)):
        accepted, _ = listener.accept()
        with accepted:
            assert tcp.is_own_peer(accepted)


def test_so_is_one_by_ipv6_to_an_ipv4_address():
    """Java connects so."""
    with listening() as (listener, port), socket.socket(socket.AF_INET6) as client:
        client.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        client.connect(("::ffff:127.0.0.1", port))
        accepted, _ = listener.accept()
        with accepted:
            assert tcp.is_own_peer(accepted)


def test_a_connection_that_the_other_end_has_closed_is_nobodys():
    """The kernel then says that it belongs to user 0."""
    with listening() as (listener, port):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"x")
        client.close()
        accepted, _ = listener.accept()
        with accepted:
            assert not tcp.is_own_peer(accepted)


@as_root
def test_a_connection_of_another_user_is_not_ones_own():
    with listening() as (listener, port), as_nobody(), socket.create_connection(("127.0.0.1", port)):
        accepted, _ = listener.accept()
        with accepted:
            assert not tcp.is_own_peer(accepted)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("asked", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_ones_own_server_is_known(host, asked):
    with listening(host) as (_, port):
        assert tcp.is_own_server(asked, port)


@pytest.mark.parametrize("host", ["example.org", "10.0.0.1", "", "127.0.0.1.example.org"])
def test_a_server_elsewhere_is_not(host):
    with listening("0.0.0.0") as (_, port):
        assert not tcp.is_own_server(host, port)


def test_nor_is_a_port_where_nobody_listens():
    with listening() as (_, port):
        pass
    assert not tcp.is_own_server("127.0.0.1", port)


@as_root
def test_nor_one_of_another_user():
    with as_nobody(), listening() as (_, port):
        assert not tcp.is_own_server("127.0.0.1", port)
