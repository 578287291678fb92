"""What the API server asks of a node: logs, and commands that are run in containers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Callable, Iterable, Mapping
from io import BufferedReader
from pathlib import Path

import aiohttp
from aiohttp import web

from tests.kubernetes.rig.agent.api import Object
from tests.kubernetes.rig.agent.container import Container
from tests.kubernetes.rig.agent.facts import NotYetError
from tests.kubernetes.rig.agent.pod import Pod

STEP_SECONDS = 0.1
PIECE = 32768
INPUT, OUTPUT, ERRORS, OUTCOME, END = 0, 1, 2, 3, 255
"""The first byte of each message of a command says what it is about."""
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
TRUE = ("1", "true")


class NodeServer:
    """Answers the API server, which shows a certificate of the same authority. ``pods``: those of the node, now."""

    def __init__(self, pods: Callable[[], Iterable[Pod]]) -> None:
        self._pods = pods
        self._app = web.Application()
        self._app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._logs)
        self._app.router.add_get("/exec/{namespace}/{pod}/{container}", self._run_command)

    async def start(self, address: str, port: int, certificates: Path) -> web.AppRunner:
        """Serve there until the result is cleaned up."""
        trusted = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates / "ca.crt"))
        trusted.load_cert_chain(certificates / "node.crt", certificates / "node.key")
        trusted.verify_mode = ssl.CERT_REQUIRED
        runner = web.AppRunner(self._app, access_log=None, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, address, port, ssl_context=trusted).start()
        return runner

    def _find(self, request: web.Request) -> tuple[Pod, Container]:
        asked = request.match_info
        for pod in self._pods():
            if (pod.facts.namespace, pod.facts.name) == (asked["namespace"], asked["pod"]):
                container = pod.container(asked["container"])
                if container is not None:
                    return pod, container
        raise web.HTTPNotFound(text="there is no such container on this node")

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        _, container = self._find(request)
        file = container.log(before=1 if request.query.get("previous") in TRUE else 0)
        if not file.exists():
            raise web.HTTPBadRequest(text=f"the container {container.name} has printed nothing yet")
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        with file.open("rb") as log, contextlib.suppress(ConnectionError):
            if "tailLines" in request.query:
                _skip_to_last(log, int(request.query["tailLines"]))
            while True:
                over = request.query.get("follow") not in TRUE or container.log() != file or not container.alive
                if piece := log.read(PIECE):
                    await answer.write(piece)
                elif over:
                    break
                else:
                    await asyncio.sleep(STEP_SECONDS)
        return answer

    async def _run_command(self, request: web.Request) -> web.WebSocketResponse:
        _, container = self._find(request)
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            command = container.beside(request.query.getall("command"))
        except NotYetError as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        socket = web.WebSocketResponse(protocols=PROTOCOLS)
        await socket.prepare(request)
        wants_input = request.query.get("input") in TRUE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe if wants_input else nothing, stdout=pipe, stderr=pipe, start_new_session=True
        )
        assert process.stdout is not None
        assert process.stderr is not None
        asked = asyncio.create_task(_take_input(socket, process))
        printed = asyncio.create_task(_send_all(socket, {OUTPUT: process.stdout, ERRORS: process.stderr}))
        try:
            await asyncio.wait([asked, printed], return_when=asyncio.FIRST_COMPLETED)
            if printed.done() and printed.exception() is None:
                code = await process.wait()
                await socket.send_bytes(bytes([OUTCOME]) + json.dumps(outcome(code)).encode())
        finally:
            asked.cancel()
            printed.cancel()
            if process.returncode is None:
                process.kill()
            await socket.close()
        return socket


def outcome(code: int) -> Object:
    """How a command has ended, as kubectl understands it."""
    code = 128 - code if code < 0 else code
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    message = f"command terminated with non-zero exit code: {code}"
    return {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "message": message, "details": {"causes": causes}}


async def _send_all(socket: web.WebSocketResponse, streams: Mapping[int, asyncio.StreamReader]) -> None:
    await asyncio.gather(*(_send(socket, channel, stream) for channel, stream in streams.items()))


async def _send(socket: web.WebSocketResponse, channel: int, stream: asyncio.StreamReader) -> None:
    while piece := await stream.read(PIECE):
        await socket.send_bytes(bytes([channel]) + piece)


async def _take_input(socket: web.WebSocketResponse, process: asyncio.subprocess.Process) -> None:
    """Hand on what comes for the command, until the one who asked is gone."""
    async for message in socket:
        if message.type != aiohttp.WSMsgType.BINARY or process.stdin is None:
            continue
        channel, piece = message.data[0], message.data[1:]
        with contextlib.suppress(ConnectionError):
            if channel == INPUT:
                process.stdin.write(piece)
                await process.stdin.drain()
            elif channel == END:
                process.stdin.close()


def _skip_to_last(log: BufferedReader, lines: int) -> None:
    everything = log.readlines()
    kept = sum(len(line) for line in everything[-lines:]) if lines else 0
    log.seek(-kept, 1)
