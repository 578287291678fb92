"""Services' own addresses: a listener on each, which hands every connection on to one of the pods behind it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Mapping

Port = tuple[str, int]
Backend = tuple[str, int]
CONNECT_SECONDS = 5.0
PIECE = 65536

logger = logging.getLogger(__name__)


class Proxies:
    """A Service without any pod refuses connections, so it has no listener."""

    def __init__(self) -> None:
        self._backends: Mapping[Port, list[Backend]] = {}
        self._listening = dict[Port, asyncio.Server]()

    async def update(self, backends: Mapping[Port, list[Backend]]) -> None:
        """From now on these ports lead to these backends."""
        self._backends = backends
        wanted = {port for port, behind in backends.items() if behind}
        for port in self._listening.keys() - wanted:
            self._listening.pop(port).close()
        for port in wanted - self._listening.keys():
            try:
                self._listening[port] = await self._listen(port)
            except OSError as error:
                logger.warning("the address %s:%d of a Service: %s", *port, error)

    def close(self) -> None:
        """Listen no more."""
        for server in self._listening.values():
            server.close()

    async def _listen(self, port: Port) -> asyncio.Server:
        async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._hand_on(port, reader, writer)

        # Each node of a cluster on this machine listens there.
        return await asyncio.start_server(hand_on, *port, reuse_port=True)

    async def _hand_on(self, port: Port, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await self._connect(port)
        if there is None:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(_pass_on(reader, there[1]), _pass_on(there[0], writer))
        finally:
            there[1].close()
            writer.close()

    async def _connect(self, port: Port) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        backends = list(self._backends.get(port, []))
        random.shuffle(backends)
        for backend in backends:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(*backend)
        return None


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What is read is written, until one side has no more; the other direction may go on."""
    try:
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()
