"""The wires of a process, which tests cut: the kernel drops its packets to and from some places, as a broken network does.

The process is in a control group of its own, and a program of the kernel (BPF) decides there about each packet.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import platform
import secrets
import struct
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.kubernetes.rig.processes import RigError

_CALL = {"x86_64": 321, "aarch64": 280}
_LOAD, _ATTACH, _DETACH = 5, 8, 9
_OF_GROUPS = 8
"""The type of a program that sees the packets of a group."""
_INGRESS, _EGRESS = 0, 1
_REMOTE_ADDRESS, _LOCAL_PORT = 92, 136
"""The places of a packet's facts in the kernel's structure (__sk_buff)."""
_READ, _SET, _UNLESS, _EXIT = 0x61, 0xB7, 0x56, 0x95


@dataclass(frozen=True)
class Wire:
    """To another place. ``port``: the process's own, of one connection; None: of all connections, also of those to come."""

    address: str
    port: int | None = None


class Wires:
    """Those of one process, which ``command`` starts, and of its children."""

    def __init__(self, folder: Path) -> None:
        self._mount = folder / "groups"
        self._mount.mkdir()
        subprocess.run(["mount", "-t", "cgroup2", "none", self._mount], check=True, capture_output=True)
        self._group = self._mount / f"pitstop-{secrets.token_hex(4)}"
        self._group.mkdir()
        self._attached = False

    def close(self) -> None:
        """Leave the kernel as it was. The process has ended."""
        self.join()
        self._group.rmdir()
        subprocess.run(["umount", self._mount], check=True)

    def command(self, command: Iterable[str | Path]) -> list[str | Path]:
        """Return the command that starts a process on these wires."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', self._group / "cgroup.procs", *command]

    def cut(self, *wires: Wire) -> None:
        """Drop the packets of these wires, and of no others."""
        program = _loaded(wires)
        try:
            self._attend(_ATTACH, program)
        finally:
            os.close(program)
        self._attached = True

    def join(self) -> None:
        """Let all packets through."""
        if self._attached:
            self._attend(_DETACH, 0)
            self._attached = False

    def _attend(self, command: int, program: int) -> None:
        group = os.open(self._group, os.O_RDONLY)
        try:
            for direction in (_INGRESS, _EGRESS):
                _call(command, struct.pack("<IIII", group, program, direction, 0))
        finally:
            os.close(group)


def address_of(url: str) -> str:
    """Return the address in a URL."""
    return str(urlsplit(url).hostname)


def connections(pid: int, address: str) -> list[Wire]:
    """Return the connections that a process has to an address now, a wire each."""
    there = [each for each in psutil.Process(pid).net_connections("tcp") if each.raddr and each.raddr.ip == address]
    return [Wire(address, each.laddr.port) for each in there if each.status == psutil.CONN_ESTABLISHED]


def _loaded(wires: Iterable[Wire]) -> int:
    """Return the descriptor of a program that drops the packets of these wires."""
    program = _step(_READ, 2, 1, _REMOTE_ADDRESS) + _step(_READ, 3, 1, _LOCAL_PORT)
    for wire in wires:
        # The kernel has an address as it is on the wire, and the own port as a number.
        address = int.from_bytes(ipaddress.IPv4Address(wire.address).packed, "little")
        program += _step(_UNLESS, 2, 0, 2 if wire.port is None else 3, address)
        if wire.port is not None:
            program += _step(_UNLESS, 3, 0, 2, wire.port)
        program += _end(0)
    code = ctypes.create_string_buffer(program + _end(1))
    licence = ctypes.create_string_buffer(b"GPL")
    said = ctypes.create_string_buffer(1 << 16)
    steps = (len(code) - 1) // 8
    places = [ctypes.addressof(each) for each in (code, licence, said)]
    return _call(_LOAD, struct.pack("<IIQQIIQ", _OF_GROUPS, steps, places[0], places[1], 1, len(said), places[2]))


def _step(what: int, to: int, of: int, offset: int, value: int = 0) -> bytes:
    return struct.pack("<BBhI", what, of << 4 | to, offset, value)


def _end(answer: int) -> bytes:
    """Return the steps that let a packet through (1) or drop it (0)."""
    return _step(_SET, 0, 0, 0, answer) + _step(_EXIT, 0, 0, 0)


def _call(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    libc = ctypes.CDLL(None, use_errno=True)
    answer = int(libc.syscall(_CALL[platform.machine()], command, buffer, len(buffer)))
    if answer < 0:
        raise RigError(f"The kernel refuses a program for packets: {os.strerror(ctypes.get_errno())}.")
    return answer
