"""Ports of this machine."""

import socket


def free_port():
    """Return a port at which nobody listens; the next to ask may get it, too."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]
