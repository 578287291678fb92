"""Provider Beta: ``GET /pings?since=N&limit=M`` answers a JSON array of pings with sequence > N."""

from __future__ import annotations

import argparse
import itertools
import json
import socket
import threading
from collections import deque
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, HTTPException, Query, Response

from fleetsim.pacing import Stop, paced
from fleetsim.world import START_TIME, Ping, World, is_alpha


class History:
    """The last ``keep`` pings; sequences count from 0 without gaps."""

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
        with self._lock:
            return {"pings": self.count, "oldest": self.count - len(self._pings), "newest": self.count - 1}


def create_app(history: History, fail_every: int = 0, garbage_every: int = 0) -> FastAPI:
    """The service; ``fail_every`` and ``garbage_every`` break every so-many-th answer, for tests."""
    app = FastAPI(title="Beta", docs_url=None, redoc_url=None)
    requests = itertools.count(1)

    @app.get("/pings")
    def pings(since: int = -1, limit: Annotated[int, Query(ge=1, le=10_000)] = 200) -> Any:
        number = next(requests)
        if fail_every and number % fail_every == 0:
            raise HTTPException(503, "Beta is busy, try again")
        if garbage_every and number % garbage_every == 0:
            return Response('[{"vin": ', media_type="application/json")
        return history.after(since, limit)

    @app.get("/stats")
    def stats() -> dict[str, int]:
        return history.stats()

    return app


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--speedup", type=float, default=30.0)
    parser.add_argument("--start-time", type=float, default=START_TIME)
    parser.add_argument("--keep", type=int, default=120_000)
    parser.add_argument("--fail-every", type=int, default=0)
    parser.add_argument("--garbage-every", type=int, default=0)
    options = parser.parse_args()
    history = History(options.keep)
    listener = socket.create_server(("127.0.0.1", options.port))
    config = uvicorn.Config(create_app(history, options.fail_every, options.garbage_every), log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    stop = Stop()
    serving.start()
    print(json.dumps({"simulator": "beta", "url": f"http://127.0.0.1:{listener.getsockname()[1]}/pings"}), flush=True)
    for ping in paced(World(options.seed, start_time=options.start_time), options.speedup, stop):
        if not is_alpha(ping.vin):
            history.add(ping)
    print(json.dumps({"simulator": "beta", "pings": history.count}), flush=True)
    server.should_exit = True
    serving.join(timeout=5)


if __name__ == "__main__":
    main()
