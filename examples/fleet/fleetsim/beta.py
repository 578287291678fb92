"""Provider Beta: ``GET /pings?since=N&limit=M`` answers a JSON array of pings with sequence > N.

SIGTERM or SIGINT ends it; then it prints its count as one line of JSON.
"""

from __future__ import annotations

import argparse
import itertools
import socket
import threading
from collections import deque
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from fleetsim.options import positive_count, say, simulator_parser
from fleetsim.pacing import Signals, paced
from fleetsim.topic import PingTopic, add_options
from fleetsim.world import Ping, World

KEPT = 120_000
LARGEST_LIMIT = 10_000
_RULES = {
    "since": "since must be a whole number of at least -1 (the beginning)",
    "limit": f"limit must be a whole number from 1 to {LARGEST_LIMIT}",
}


class History:
    """The last ``keep`` pings; sequences count from 0 without gaps. Safe to use from several threads."""

    def __init__(self, keep: int) -> None:
        self._pings: deque[dict[str, Any]] = deque(maxlen=keep)
        self._lock = threading.Lock()
        self.count = 0

    def add(self, ping: Ping) -> None:
        with self._lock:
            self._pings.append(
                {
                    "vin": ping.vin,
                    "latitude": ping.latitude,
                    "longitude": ping.longitude,
                    "time": ping.time,
                    "sequence": self.count,
                    "obd_codes": list(ping.obd_codes),
                }
            )
            self.count += 1

    def after(self, since: int, limit: int) -> list[dict[str, Any]]:
        """At most ``limit`` pings with a sequence above ``since``, oldest first."""
        with self._lock:
            oldest = self.count - len(self._pings)
            start = max(0, since + 1 - oldest)
            return list(itertools.islice(self._pings, start, start + limit))

    def stats(self) -> dict[str, int]:
        """How many pings there ever were, and the oldest and newest sequence still kept (0 and -1 if there is none)."""
        with self._lock:
            return {"pings": self.count, "oldest": self.count - len(self._pings), "newest": self.count - 1}


def create_app(history: History, fail_every: int | None = None, garbage_every: int | None = None) -> FastAPI:
    """The service; ``fail_every`` and ``garbage_every`` break every so-many-th answer to ``/pings``, for tests."""
    app = FastAPI(title="Beta", docs_url=None, redoc_url=None)
    requests = itertools.count(1)

    @app.get("/pings")
    def pings(since: Annotated[int, Query(ge=-1)] = -1, limit: Annotated[int, Query(ge=1, le=LARGEST_LIMIT)] = 200) -> Response:
        number = next(requests)
        if fail_every and number % fail_every == 0:
            return JSONResponse({"detail": "Beta is busy on purpose (--fail-every): try again."}, 503)
        if garbage_every and number % garbage_every == 0:
            return Response('[{"vin": ', media_type="application/json")
        return JSONResponse(history.after(since, limit))

    @app.get("/stats")
    def stats() -> dict[str, int]:
        return history.stats()

    @app.exception_handler(RequestValidationError)
    def refuse(request: Request, error: RequestValidationError) -> Response:
        wrong = error.errors()[0]
        name = str(wrong["loc"][-1])
        return JSONResponse({"detail": f"{_RULES.get(name, name)}, not {wrong['input']!r}."}, 400)

    return app


def listen(port: int, host: str = "127.0.0.1") -> socket.socket:
    """A socket that lets clients wait until the server is ready; port 0 takes a free one."""
    # The protocol is named because asyncio turns off delays (Nagle) only on sockets that say they are TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(128)
    return listener


def parser() -> argparse.ArgumentParser:
    parser = simulator_parser(__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    parser.add_argument("--keep", type=positive_count, default=KEPT, help=f"how many pings to keep (default: {KEPT:,})")
    parser.add_argument("--fail-every", type=positive_count, help="answer every so-many-th poll with 503")
    parser.add_argument("--garbage-every", type=positive_count, help="answer every so-many-th poll with broken JSON")
    add_options(parser)
    return parser


def main() -> None:
    options = parser().parse_args()
    try:
        listener = listen(options.port, options.host)
    except (OSError, OverflowError) as error:
        where = f"port {options.port} on {options.host}"
        parser().error(f"{where} cannot be opened ({error}): choose another --port, or 0 for a free one")
    history, signals = History(options.keep), Signals()
    app = create_app(history, options.fail_every, options.garbage_every)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    serving.start()
    say("beta", url=f"http://{options.host}:{listener.getsockname()[1]}/pings")
    pings = World(options.seed, start_time=options.start_time).beta_pings()
    topic = PingTopic(options, "beta")
    for ping in paced(pings, options.start_time, options.speedup, signals):
        history.add(ping)
        topic.send(ping)
    topic.complete()
    if signals.frozen:
        say("beta", frozen=True, pings=history.count)
        signals.wait_asked()
    server.should_exit = True
    serving.join(timeout=5)
    say("beta", pings=history.count)


if __name__ == "__main__":
    main()
