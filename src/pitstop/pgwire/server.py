"""The listener for PostgreSQL's protocol."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pg_mimic import IdentityProvider, ScramSha256AuthPlugin, connection

from pitstop.client.http import HttpService
from pitstop.errors import UsageError
from pitstop.kit.version import __version__
from pitstop.machine.tcp import loopback_addresses
from pitstop.pgwire.connections import BoundedServer
from pitstop.pgwire.limits import Limits
from pitstop.pgwire.session import PitstopSession
from pitstop.pgwire.texts import with_plain_texts
from pitstop.sql.splitting import from_first_word, pieces


def split_statements(text: str) -> list[str]:
    """Return each statement of a text, as it is written there."""
    return pieces(with_plain_texts(text)) or [text]


def command_tag(sql: str, rows: int) -> str:
    """Return the tag that clients show for a finished statement: OK for our statements without rows."""
    tag: str = _tag_of_postgres(from_first_word(sql), rows)
    return "OK" if tag.split()[0] in _WITHOUT_ROWS else tag


_tag_of_postgres = connection.command_tag
_WITHOUT_ROWS = ("CREATE", "ALTER", "DROP", "SINK", "INSERT")
"""The first words of our statements without rows. PostgreSQL's tag for INSERT would name an uncounted number of rows."""

connection.command_tag = command_tag


class _OneToken(IdentityProvider):
    """Takes the server's present token as every user's password. Without a token, no user is let in."""

    def __init__(self, token: Callable[[], str | None]) -> None:
        self._token = token

    async def get_password(self, username: str) -> str | None:
        # None would be an empty password.
        return await asyncio.to_thread(self._token) or secrets.token_urlsafe()


async def listen(
    host: str,
    port: int,
    token: Callable[[], str | None],
    open_service: Callable[[], HttpService],
    ready: Callable[[str, int], None],
    limits: Limits | None = None,
) -> None:
    """Serve until cancelled. UsageError if other machines could connect, since the protocol is not encrypted here."""
    if not loopback_addresses(host):
        raise UsageError(f"{host} is not a loopback address, so others could read the traffic: use an SSH tunnel.")
    # They log each statement that is not PostgreSQL's, and each wrong password with a stack trace.
    for name in ("sqlglot", "pg_mimic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    limits = limits or Limits()
    # Calls that wait for the server take none of the threads that others need.
    threads = ThreadPoolExecutor(limits.clients + 8, thread_name_prefix="pgwire")
    asyncio.get_running_loop().set_default_executor(threads)
    server = BoundedServer(
        lambda: PitstopSession(open_service),
        lambda username: ScramSha256AuthPlugin(),
        _OneToken(token),
        server_version=f"16.0 (Pitstop {__version__})",
        limits=limits,
        split=split_statements,
    )
    listening = await server.start_server(host, port)
    ready(*listening.sockets[0].getsockname()[:2])
    try:
        await server.serve_forever()
    finally:
        server.close()
