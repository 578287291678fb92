"""A port before another one, in a process of its own: libraries that wait for a store may keep a whole Python from running.

It reads its state from its input, a line each: ``passes``, ``stalls`` (takes connections and says nothing), ``busy`` (503) or
``away`` (ends each connection at once). It answers a line with the connections that it has not passed on so far.
"""

import select
import socket
import sys
import threading
from contextlib import suppress

BUSY_BODY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
BUSY = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nConnection: close\r\n"
    b"Content-Length: " + str(len(BUSY_BODY)).encode() + b"\r\n\r\n" + BUSY_BODY
)


class Wire:
    def __init__(self, target):
        self._target, self._state, self._open = target, "passes", set()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self.refused = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def be(self, state):
        self._state = state
        for each in list(self._open):
            self._end(each)

    def _accept(self):
        while True:
            client, _ = self._door.accept()
            self._open.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with suppress(OSError, ValueError):  # a socket that another thread has closed has no number
            self.refused += self._state != "passes"
            if self._state == "busy":
                client.recv(65536)
                client.sendall(BUSY)
                client.shutdown(socket.SHUT_WR)
                client.recv(65536)
            elif self._state == "passes":
                with socket.create_connection(("127.0.0.1", self._target)) as server:
                    self._open.add(server)
                    pass_on(client, server)
                    self._open.discard(server)
            elif self._state == "stalls":
                while client.recv(65536):
                    pass
        self._end(client)

    def _end(self, each):
        self._open.discard(each)
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


def pass_on(client, server):
    while True:
        for ready in select.select([client, server], [], [])[0]:
            content = ready.recv(65536)
            if not content:
                return
            (server if ready is client else client).sendall(content)


if __name__ == "__main__":
    wire = Wire(int(sys.argv[1]))
    print(wire.port, flush=True)
    for line in sys.stdin:
        wire.be(line.strip())
        print(wire.refused, flush=True)
