"""The endpoints for Kubernetes and Prometheus: liveness, readiness and metrics of the operator."""

from __future__ import annotations

import threading
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest


class Health:
    """Serves /healthz, /readyz and /metrics in a separate thread."""

    def __init__(self, host: str, port: int, ready: Callable[[], bool], registry: CollectorRegistry) -> None:
        app = FastAPI(openapi_url=None)

        @app.get("/healthz")
        def healthz() -> Response:
            return Response("ok", media_type="text/plain")

        @app.get("/readyz")
        def readyz() -> Response:
            there = ready()
            return Response("ok" if there else "not everything was seen yet", 200 if there else 503, media_type="text/plain")

        @app.get("/metrics")
        def metrics() -> Response:
            return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

        self._server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False))
        self._thread = threading.Thread(target=self._server.run, name="health", daemon=True)

    def start(self) -> None:
        """Start serving."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(5.0)
