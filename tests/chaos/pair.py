"""Two servers on one PostgreSQL, each with a member, one data folder: one of them leads, the other one waits for the lead."""

from __future__ import annotations

import signal
import socket
from functools import cached_property
from pathlib import Path

from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder
from pitstop.store.database import open_database
from pitstop.store.registry import SqlRegistry
from tests.chaos.cluster import START_SECONDS, ChaosFailedError, Cluster
from tests.chaos.postgres import Postgres
from tests.ports import free_port
from tests.postgres.planes import Plane


class Pair(Cluster):
    """What is asked of the product is asked of the server that does not lead, while it is there."""

    def __init__(self, folder: Path, small: Path, spares: int) -> None:
        super().__init__(folder, small, spares)
        self.store = Postgres()
        self._folder, self._planes = small / "served", dict[int, Plane]()
        self._ports = (free_port(), free_port())
        self.parts = [DataFolder(self.data.root, f"{socket.gethostname()}-{port}") for port in self._ports]
        self._kept = self._first = frozenset(f"{part.server}-1" for part in self.parts)

    def start_server(self) -> None:
        """Each that does not run."""
        for port in self._ports:
            if port not in self._planes or self._planes[port].process.poll() is not None:
                options = ("--spares", str(self.spares), "--members", "1")
                self._planes[port] = Plane(self._folder, self.store.url, port, *options)
                self.client = self._planes[port].client
        if not wait_until(lambda: self.client.service.server_info().leader, START_SECONDS):
            raise ChaosFailedError(f"None of two servers leads after {START_SECONDS:.0f} s.")
        self._kept = self._first

    def disturb_leader(self, number: signal.Signals) -> Plane:
        """Send a signal to the server that leads, and to it alone; the other one, of which all is asked from now on."""
        leading = self.client.service.server_info().leader
        leader = next(plane for plane in self._planes.values() if plane.address == leading)
        other = next(plane for plane in self._planes.values() if plane is not leader)
        self.client = other.client
        leader.signal(number)
        if number is signal.SIGKILL:
            leader.process.wait()
        return other

    def wake_servers(self) -> None:
        """SIGCONT; nothing to those that do not stand still."""
        for plane in self._planes.values():
            plane.signal(signal.SIGCONT)

    def close(self) -> None:
        self.store.go_on()
        self.store.start()
        super().close()
        for plane in self._planes.values():
            plane.end()

    @cached_property
    def _registry(self) -> SqlRegistry:
        return SqlRegistry(open_database(self.store.url))
