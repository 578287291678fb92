"""Connections of clients within bounds: on bytes read, on the time without a password, and on their number."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Callable
from typing import Any

from pg_mimic import PgError, PgServer
from pg_mimic.connection import Connection
from pg_mimic.messages import make_error_response
from pg_mimic.stream import ConnectionClosed, PgStream

from pitstop.pgwire.limits import Limits
from pitstop.sql.parsing import MOST_LETTERS


class Fatal(ConnectionClosed):
    """A connection ends after an error was sent to its client."""


class BoundedStream(PgStream):
    """A stream that refuses a packet by its declared length, before it is read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        super().__init__(reader, writer)
        self._limits = limits
        self.trusted = False
        """True once the password was right."""

    async def read_startup_packet(self) -> tuple[int, bytes]:
        length, code = struct.unpack("!ii", await self._read_exactly(8))
        if not 8 <= length <= self._limits.startup_bytes:
            await self.refuse("08P01", "invalid length of startup packet")
        return code, await self._read_exactly(length - 8)

    async def read_message(self) -> tuple[bytes, bytes]:
        header = await self._read_exactly(5)
        (length,) = struct.unpack("!i", header[1:])
        most = self._limits.message_bytes if self.trusted else self._limits.startup_bytes
        if not 4 <= length <= most:
            await self.refuse("08P01", f"invalid message length: at most {most:,} bytes are read here")
        return header[:1], await self._read_exactly(length - 4)

    async def refuse(self, code: str, message: str) -> None:
        """Send an error to the client, and end the connection."""
        self.write(make_error_response({"S": "FATAL", "V": "FATAL", "C": code, "M": message}))
        try:
            async with asyncio.timeout(1):
                await self.drain()
        except (TimeoutError, ConnectionError):
            pass
        raise Fatal(message)

    async def _read_exactly(self, n: int) -> bytes:
        try:
            content: bytes = await super()._read_exactly(n)
        except OSError as error:
            raise ConnectionClosed from error
        return content


class BoundedConnection(Connection):
    """A connection within bounds. ``admit`` is called once the password was right, and raises Fatal for one client too many."""

    def __init__(
        self, *arguments: Any, limits: Limits, until: float, admit: Callable[[], Any], split: Callable[[str], list[str]]
    ) -> None:
        super().__init__(*arguments)
        self._limits, self._until, self._admit, self._split = limits, until, admit, split

    async def _authenticate(self) -> bool:
        try:
            async with asyncio.timeout_at(self._until):
                right: bool = await super()._authenticate()
        except TimeoutError:
            await self.stream.refuse("57014", "canceling authentication due to timeout")
        except (PgError, ValueError, IndexError, struct.error):
            await self.stream.refuse("08P01", "invalid message while the password was asked for")
        if right:
            await self._admit()
            self.stream.trusted = True
        return right

    async def _handle_simple_query(self, sql: str) -> None:
        if len(sql) > MOST_LETTERS or not sql.strip():
            await self._execute_one_simple_statement(sql)  # refused, or nothing
            return
        for each in await asyncio.to_thread(self._split, sql):
            await self._execute_one_simple_statement(each)

    async def _handle_parse(self, message: Any) -> None:
        others = [each for name, each in self.statements.items() if name != message.statement_name]
        letters = len(message.sql) + sum(len(each.sql) for each in others)
        if len(others) >= self._limits.statements or letters > self._limits.prepared_letters:
            raise PgError("54000", f"A connection prepares {self._limits.statements:,} statements at most: close some")
        await super()._handle_parse(message)

    async def _handle_bind(self, message: Any) -> None:
        if len(self.portals.keys() - {message.portal_name}) >= self._limits.portals:
            raise PgError("54000", f"A connection reads {self._limits.portals} results at once: close some")
        await super()._handle_bind(message)


class BoundedServer(PgServer):
    """A server within bounds. ``split`` returns the statements of a text."""

    def __init__(self, *arguments: Any, limits: Limits, split: Callable[[str], list[str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limits, self._split = limits, split
        self._strangers: dict[Any, asyncio.StreamWriter] = {}
        """The writers of connections without a password, by task, in the order in which they came."""
        self._clients = 0

    async def _handle_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream, task = BoundedStream(reader, writer, self._limits), asyncio.current_task()
        until = asyncio.get_running_loop().time() + self._limits.seconds_without_password
        self._strangers[task] = writer
        if len(self._strangers) > self._limits.strangers:
            oldest = next(iter(self._strangers))
            self._strangers.pop(oldest).transport.abort()
            oldest.cancel()
        try:
            try:
                async with asyncio.timeout_at(until):
                    parameters = await self._negotiate_startup(stream)
            except TimeoutError:
                return
            except (ValueError, IndexError, struct.error):
                await stream.refuse("08P01", "invalid startup packet")
            if parameters is not None:
                await self._serve(stream, parameters, until, task)
        except (ConnectionClosed, ConnectionError):
            pass
        finally:
            self._strangers.pop(task, None)

    async def _serve(self, stream: BoundedStream, parameters: dict[str, str], until: float, task: Any) -> None:
        counted = False

        async def admit() -> None:
            nonlocal counted
            self._strangers.pop(task, None)
            if self._clients >= self._limits.clients:
                await stream.refuse("53300", "sorry, too many clients already")
            self._clients += 1
            counted = True

        pid, secret = self._allocate_pid(), struct.unpack("!i", os.urandom(4))[0]
        session = self.session_factory()
        about = (stream, session, self, pid, secret, parameters)
        connection = BoundedConnection(*about, limits=self._limits, until=until, admit=admit, split=self._split)
        self._connections[pid] = connection
        try:
            await connection.run()
        finally:
            self._connections.pop(pid, None)
            self._clients -= counted
