"""``pitstop pgwire``: a door for clients of PostgreSQL (docs/sql.md)."""

from __future__ import annotations

import contextlib
from typing import Annotated
from urllib.parse import urlsplit

import typer

from pitstop.cli.context import Call
from pitstop.errors import DeniedError, UsageError

USUAL_PORT = 5432


def pgwire(
    call: Call,
    host: Annotated[str, typer.Option(help="Loopback address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0: any free port")] = USUAL_PORT,
) -> None:
    """Let psql, psycopg and JDBC carry out statements of SQL, until Ctrl-C. Any user; the password is the server's token.

    They may do all that this token allows (--token-file, PITSTOP_TOKEN, or that of your own server).
    """
    import asyncio  # other commands need not wait for it

    try:
        from pitstop.pgwire import server
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed: install Pitstop with its extra 'pgwire' (make install brings it)."
        ) from None
    from pitstop.client.http import HttpService
    from pitstop.client.local_server import find_token

    service = call.server()
    service.server_info()
    url, parts = service.url, urlsplit(service.url)
    own_token = call.given_token

    def token() -> str | None:
        return own_token or find_token(parts.hostname or "", parts.port or 80)

    if not token():
        raise DeniedError("The token of the server is not known here: give it with --token-file or PITSTOP_TOKEN.")

    def ready(at: str, listening: int) -> None:
        print(f"psql 'host={at} port={listening} user=pitstop dbname=pitstop'   (the password is the token)", flush=True)

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.listen(host, port, token, lambda: HttpService(url, own_token, "postgres"), ready))
