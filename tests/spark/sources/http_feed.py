"""An HTTP server for sources to poll, which fails, stutters, hangs and forgets as a test asks for."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse


class Feed:
    """``count`` objects, of which those below ``oldest`` are forgotten. ``faults`` are answered first, (status, body) each.

    While ``hanging`` is set, no answer is given; ``dripping`` sends a byte now and then for ever. ``redirects`` is the status
    with which /moved leads to the objects. An answer has ``most`` objects at most, whatever is asked for, or as many as the next
    of them says; ``inclusive``: it begins with the object of the number that was given. ``grows``: so many objects are new with
    each request.
    """

    def __init__(self):
        self.count, self.oldest, self.faults, self.requests, self.queries = 0, 0, [], [], []
        self.redirects, self.most, self.inclusive, self.grows = None, None, False, 0
        self.hanging, self.dripping, self.ended = threading.Event(), False, threading.Event()
        self.go_on = threading.Event()
        feed = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                feed.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/pings"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def answer(self, handler):
        if self.redirects and urlparse(handler.path).path == "/moved":
            handler.send_response(self.redirects)
            handler.send_header("Location", handler.path.replace("/moved", "/pings"))
            handler.end_headers()
            return
        query = parse_qs(urlparse(handler.path).query)
        self.queries.append(query)
        since, limit = int(query["since"][0]), int(query["limit"][0])
        self.requests.append(since)
        if self.hanging.is_set():
            self.go_on.wait(30)
        status, body = self.faults.pop(0) if self.faults else (200, self.page(since, limit))
        handler.send_response(status)
        handler.end_headers()
        try:
            while self.dripping and not self.ended.wait(0.02):
                handler.wfile.write(b" ")
                handler.wfile.flush()
            handler.wfile.write(body)
        except OSError:
            pass  # the client has given up

    def page(self, since, limit):
        self.count += self.grows
        most = next(self.most) if isinstance(self.most, Iterator) else self.most
        first = max(since + (0 if self.inclusive else 1), self.oldest)
        return json.dumps([{"sequence": n, "v": n} for n in range(first, self.count)][: most or limit]).encode()

    def close(self):
        self.ended.set()
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()
