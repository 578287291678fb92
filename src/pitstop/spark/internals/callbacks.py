"""The port on which the JVM calls functions of this process (py4j's callback server): only its own user gets in.

The protocol has no secret: anybody who can connect can detach the objects of a running query and end it. py4j loses the token
that its callback server could ask for when it copies its settings.
"""

from __future__ import annotations

import socket
from typing import Any

from py4j.java_gateway import server_started

from pitstop.machine.tcp import is_own_peer


class _OwnPeersOnly(socket.socket):
    """A listening socket that closes the connections of other users."""

    __slots__ = ()  # no other layout than a socket has, so that one can become it

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            connection, address = super().accept()
            try:
                if is_own_peer(connection):
                    return connection, address
            except OSError:  # it has gone already
                pass
            connection.close()


def _guard(*, server: Any, **_: Any) -> None:
    # py4j says so in the thread that accepts, just before the first connection, while the one that has started it asks the
    # same socket for its port: it must never be another one, nor closed.
    server.server_socket.__class__ = _OwnPeersOnly


def accept_own_peers_only() -> None:
    """Let every callback server that starts in this process from now on ask the kernel which user connects."""
    server_started.connect(_guard)
