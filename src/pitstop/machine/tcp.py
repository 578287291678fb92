"""The owners of TCP sockets of this machine, as the kernel tells them in ``/proc/net``."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOOKS = 5
LOOK_SECONDS = 0.01
"""The pause between two looks, in seconds. The table changes while it is read, so that one look may miss a line."""
KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]
"""The options of a socket on which an answer may take long: it breaks within half a minute after the other side is gone."""

_ESTABLISHED, _LISTENS = "01", "0A"

Address = tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]
"""Host and port."""


@dataclass(frozen=True)
class _Line:
    local: str
    remote: str
    state: str
    uid: int


def is_own_peer(connection: socket.socket) -> bool:
    """Return True if a process of this user, on this machine, holds the other end of an accepted connection.

    A socket that its process has closed belongs to nobody; the kernel then says 0, so only an open connection counts.
    """
    return user_of(connection.getpeername(), connection.getsockname()) == os.geteuid()


def user_of(there: Sequence[Any], here: Sequence[Any]) -> int | None:
    """Return the user of this machine whose process holds the end ``there`` of a connection, of which this process has ``here``.

    None if the connection is no longer open, or comes from another machine. An end begins with host and port.
    """
    ends, port = (_address(*there[:2]), _address(*here[:2])), f":{there[1]:04X}"
    for look in range(LOOKS):
        if look:
            time.sleep(LOOK_SECONDS)
        for line in _lines():
            if line.local.endswith(port) and (_parsed(line.local), _parsed(line.remote)) == ends:
                return line.uid if line.state == _ESTABLISHED else None
    return None


def is_own_server(host: str, port: int) -> bool:
    """Return True if a process of this user listens there, on a loopback address of this machine, and nobody else does."""
    addresses = loopback_addresses(host)
    hosts = {*addresses, ipaddress.ip_address("0.0.0.0"), ipaddress.ip_address("::")}
    ending = f":{port:04X}"
    lines = [line for line in _lines() if line.state == _LISTENS and line.local.endswith(ending)]
    owners = {line.uid for line in lines if _parsed(line.local)[0] in hosts}
    return bool(addresses) and owners == {os.geteuid()}


def loopback_addresses(host: str) -> set[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return the loopback addresses that a host stands for; none if it is another machine, or may be."""
    if host.lower() == "localhost":
        return {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")}
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return set()
    return {address} if address.is_loopback else set()


def is_own_address(host: str) -> bool:
    """Return True if the host stands for one address of this machine that others may reach, and not for all addresses."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        if _address(str(address[0]), 0)[0].is_unspecified:
            return False
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True


def _lines() -> Iterator[_Line]:
    for table in TABLES:
        try:
            rows = table.read_text().splitlines()[1:]
        except FileNotFoundError:  # a kernel without IPv6
            continue
        for row in rows:
            fields = row.split()
            yield _Line(fields[1], fields[2], fields[3], int(fields[7]))


def _parsed(text: str) -> Address:
    """``0100007F:21FD``: words of four bytes, each in the machine's own order, and the port."""
    host, port = text.split(":")
    words = (bytes.fromhex(host[start : start + 8]) for start in range(0, len(host), 8))
    raw = b"".join(int.from_bytes(word, "big").to_bytes(4, sys.byteorder) for word in words)
    return _address(str(ipaddress.ip_address(raw)), int(port, 16))


def _address(host: str, port: int) -> Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address, port
