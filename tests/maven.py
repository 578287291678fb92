"""A repository of Maven over HTTP, with jars of a test's own."""

import contextlib
import functools
import http.server
import threading


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Write nothing: tests compare what their commands write."""


@contextlib.contextmanager
def maven_repository(folder, contents):
    """Serve a folder with jars (jar -> its content); gives the URL."""
    for jar, content in contents.items():
        file = folder / jar.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
