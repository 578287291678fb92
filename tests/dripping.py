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


def chunk(content):
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


BEGUN = zlib.compressobj(wbits=zlib.MAX_WBITS | 16).flush(zlib.Z_FULL_FLUSH)
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
"""Of a packed body: may come again and again, and nothing is in it."""
DRIPS = {
    "body": (OK + b"Content-Length: 1000000\r\n\r\n", b"#"),
    "head": (OK, b"X-More: x\r\n"),
    "first line": (b"HTTP/1.1 200 ", b"O"),
    "packed body of nothing": (
        OK + b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n" + chunk(BEGUN),
        chunk(EMPTY_BLOCK),
    ),
}
"""What a server says at first, and the piece that it says again and again: its answer has no end."""


@contextmanager
def serving(first, piece=b"", most_pieces=MOST_PIECES):
    """The URL of a server that answers with this, then with a piece now and then, for some seconds."""
    over = threading.Event()

    def answer(connection):
        with connection:
            connection.recv(65536)
            try:
                connection.sendall(first)
                for _ in range(most_pieces if piece else 0):
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


@contextmanager
def hanging():
    """The URL of a server that takes connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
