"""A wire between clients and a server on this machine, which is cut, or carries what the server says late."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time


class Wire:
    """Clients connect to ``port`` instead of the server's. While it is cut, nothing comes through, and no end is told."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self.whole = threading.Event()
        """Clear it to cut the wire."""
        self.whole.set()
        self.delay = 0.0
        """So many seconds later comes what the server says."""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, port: int) -> None:
        """Lead to another port of the host from the next connection on."""
        self._server = (self._server[0], port)

    def close(self) -> None:
        """Take no more connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._server)
            except OSError:  # the server is away: so it is for the client
                near.close()
                continue
            answers: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
            for target, ends in (
                (self._carry, (near, far)),
                (self._hear, (far, answers)),
                (self._answer, (near, far, answers)),
            ):
                threading.Thread(target=target, args=ends, daemon=True).start()

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(65536):
                self.whole.wait()
                far.sendall(data)
        end(near, far)

    def _hear(self, far: socket.socket, answers: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        data = b"-"
        while data:
            try:
                data = far.recv(65536)
            except OSError:
                data = b""
            answers.put((time.monotonic() + self.delay, data))

    def _answer(self, near: socket.socket, far: socket.socket, answers: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = answers.get()
                time.sleep(max(0.0, due - time.monotonic()))
                self.whole.wait()
                if not data:
                    break
                near.sendall(data)
        end(near, far)


def end(*sockets: socket.socket) -> None:
    """End connections for both sides, also for threads that wait for something to come."""
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
