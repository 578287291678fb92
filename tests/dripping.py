"""An HTTP server that says byte for byte what it is told to, and takes its time."""

import socket
import threading
import zlib
from contextlib import contextmanager

OK = b"HTTP/1.1 200 OK\r\n"
MOST_PIECES, PAUSE = 500, 0.02


def packed(content, head=OK):
    """A whole answer with a gzip body."""
    packing = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    body = packing.compress(content) + packing.flush()
    return head + f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def serving(first, piece=b""):
    """The URL of a server that answers with this, then with a piece now and then, for some seconds."""
    over = threading.Event()

    def answer(connection):
        with connection:
            connection.recv(65536)
            try:
                connection.sendall(first)
                for _ in range(MOST_PIECES if piece else 0):
                    if over.wait(PAUSE):
                        return
                    connection.sendall(piece)
            except OSError:
                pass  # nobody listens any more

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/job.py"
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
