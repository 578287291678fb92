"""The connections to the servers of all clusters."""

from __future__ import annotations

import threading

from pitstop.operator.connections import Address, Connection
from pitstop.operator.world import World


class Servers:
    """One connection for each cluster, by uid: a cluster that was deleted and made again is a different one."""

    def __init__(self) -> None:
        self._connections: dict[str, tuple[str, str, Connection]] = {}
        self._lock = threading.Lock()

    def of(self, uid: str) -> Connection | None:
        """Return the connection to the server of a cluster; None if there is none yet."""
        with self._lock:
            entry = self._connections.get(uid)
            return entry[2] if entry is not None else None

    def follow(self, uid: str, namespace: str, name: str, address: Address, world: World) -> Connection:
        """Return the connection to the server of a cluster at this address. It is made if there is none to that address."""

        def job_changed(identity: str | None) -> None:
            if identity is None:
                world.look_at_all_of(namespace, name)
            else:
                world.job_changed(identity)

        with self._lock:
            entry = self._connections.get(uid)
            if entry is not None and entry[2].address == address:
                return entry[2]
            self._drop(namespace, name)
            connection = Connection(address, job_changed, lambda: world.cluster_changed(namespace, name))
            self._connections[uid] = namespace, name, connection
            return connection

    def drop(self, namespace: str, name: str) -> None:
        """Close the connection to a cluster that is gone."""
        with self._lock:
            self._drop(namespace, name)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for _, _, connection in self._connections.values():
                connection.close()
            self._connections.clear()

    def _drop(self, namespace: str, name: str) -> None:
        for uid in [uid for uid, (where, which, _) in self._connections.items() if (where, which) == (namespace, name)]:
            self._connections.pop(uid)[2].close()
