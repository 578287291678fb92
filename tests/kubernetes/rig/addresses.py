"""Loopback addresses of our own, so that clusters can run side by side on one machine."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from tests.kubernetes.rig.processes import RigError

MOST_NODES = 16
HOLDING = ("255.254", 65535)
"""The place in a net that its holder listens on."""
TRIES = 50


@dataclass(frozen=True)
class LoopbackNet:
    """127.N.0.0/16: Services have its first quarter, then each node 256 addresses; the control plane is near the end."""

    number: int

    @property
    def services(self) -> str:
        return f"127.{self.number}.0.0/18"

    @property
    def api_service(self) -> str:
        """The address of the Service of the API server: the first one."""
        return f"127.{self.number}.0.1"

    @property
    def control_plane(self) -> str:
        return f"127.{self.number}.255.1"

    def pods(self, node: int) -> str:
        """The first three numbers of the addresses of the n-th node's pods."""
        if node >= MOST_NODES:
            raise RigError(f"A cluster of the rig has at most {MOST_NODES} nodes.")
        return f"127.{self.number}.{64 + node}"

    def node(self, node: int) -> str:
        """The n-th node's own address."""
        return f"{self.pods(node)}.1"


@contextlib.contextmanager
def loopback_net() -> Iterator[LoopbackNet]:
    """One that no other session uses, until this is left."""
    place, port = HOLDING
    for _ in range(TRIES):
        number = random.randint(2, 250)
        with socket.socket() as holder:
            try:
                holder.bind((f"127.{number}.{place}", port))
            except OSError:
                continue
            yield LoopbackNet(number)
            return
    raise RigError(f"There is no free loopback net: {TRIES} were tried.")
