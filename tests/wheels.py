"""Wheels that tests make, and an index of them over HTTP."""

import contextlib
import functools
import http.server
import threading
import zipfile


def wheel(folder, name, version="1.0", files=None, needs=(), python=None):
    """A wheel of pure Python, or of the files given (path -> text), in a folder that need not be there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {need}" for need in needs)]
    metadata += [f"Requires-Python: {python}"] if python else []
    content = {f"{name}/__init__.py": f"VERSION = {version!r}\n"} if files is None else files
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in content.items():
            archive.writestr(file, text)
        archive.writestr(f"{info}/METADATA", "\n".join(["Metadata-Version: 2.1", *metadata]) + "\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Says nothing."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.server.silent:
            self.server.released.wait(60)
        super().do_GET()


@contextlib.contextmanager
def index(folder, silent=False):
    """(URL of an index as of PEP 503 with the wheels of a folder, the paths that are asked for); ``silent``: it never answers."""
    pages = folder.parent / f"{folder.name}-index"
    for path in sorted(folder.glob("*.whl")):
        place = pages / path.name.split("-")[0].replace("_", "-")
        place.mkdir(parents=True, exist_ok=True)
        (place / path.name).write_bytes(path.read_bytes())
    pages.mkdir(exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, directory=str(pages)))
    server.asked, server.silent, server.released, server.daemon_threads = [], silent, threading.Event(), True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.asked
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
