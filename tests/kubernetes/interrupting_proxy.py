"""A way to the API server that can be cut at any request: it stands between an operator and the cluster."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.kubernetes.rig.cluster import Cluster

WRITES = ("POST", "PUT", "PATCH", "DELETE")
NEVER = -1
HOP_BY_HOP = ("connection", "content-length", "host", "transfer-encoding")
EXPIRED = b'"code":410'
Answer = Callable[[Request], Response | None]


def is_watch(request: Request) -> bool:
    """Whether it asks for changes as they come."""
    return request.query_params.get("watch") == "true"


def refusal(status: int, reason: str) -> Response:
    """As the API server refuses."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": status}
    return JSONResponse(body, status)


class InterruptingProxy:
    """``kubeconfig`` leads to it. ``writes``: how many requests that change something have come.

    ``requests``: all that have come but watches and those about leases, as "GET /path".
    """

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        known = json.loads(cluster.kubeconfig.read_text())
        self._target, token = cluster.url, known["users"][0]["user"]["token"]
        self._trusted = ssl.create_default_context(cafile=str(cluster.certificates / "ca.crt"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.kubeconfig = folder / "through-proxy"
        known["clusters"][0]["cluster"] = {"server": url}
        known["users"][0]["user"] = {"token": token}
        self.kubeconfig.write_text(json.dumps(known))
        self.writes = 0
        self.requests: list[str] = []
        self._left, self._cut, self._cut_first = NEVER, lambda: None, True
        self.answer_itself: Answer = lambda _: None
        """What the proxy says instead of the API server, if anything."""
        self.watches_end = False
        """Each watch ends where its next change would come."""
        self.expired = 0
        """How often the API server itself has said of a watch that it has expired."""

    @contextlib.contextmanager
    def serving(self) -> Iterator[InterruptingProxy]:
        """Answer, in a thread of its own."""
        methods = ["GET", *WRITES]
        app = Starlette(routes=[Route("/{path:path}", self._forward, methods=methods)])
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[self._listener])), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join(10)

    def cut_after(self, writes: int, cut: Callable[[], None], before_it: bool) -> None:
        """Call ``cut`` at the write after so many more: before it reaches the API server, or when it was carried out there."""
        self._left, self._cut, self._cut_first = writes, cut, before_it

    async def _forward(self, request: Request) -> Response:
        if not is_watch(request) and "leases" not in request.url.path:
            self.requests.append(f"{request.method} {request.url.path}")
        said = self.answer_itself(request)
        if said is not None:
            return said
        cut_now = False
        if request.method in WRITES and "leases" not in request.url.path:
            self.writes += 1
            cut_now, self._left = self._left == 0, self._left - 1 if self._left > 0 else self._left
        if cut_now:
            self._left = NEVER
            if self._cut_first:
                self._cut()
                return Response(status_code=503)
        client = httpx2.AsyncClient(verify=self._trusted, timeout=httpx2.Timeout(30, read=None))
        headers = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP}
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        made = client.build_request(request.method, self._target + path, headers=headers, content=await request.body())
        answer = await client.send(made, stream=True)
        if cut_now:
            await answer.aread()
            self._cut()
            await client.aclose()
            return Response(status_code=503)

        async def parts() -> AsyncIterator[bytes]:
            try:
                async for part in answer.aiter_raw():
                    if is_watch(request):
                        if self.watches_end:
                            return
                        self.expired += EXPIRED in part
                    yield part
            except httpx2.HTTPError:
                return  # the API server has gone: so does the watch
            finally:
                await client.aclose()

        kept = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}
        return StreamingResponse(parts(), answer.status_code, kept)
