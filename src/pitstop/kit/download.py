"""Downloads from URLs, within bounds of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import IO

import httpx2

DOWNLOAD_SECONDS = 120.0
"""The longest that a download may take in all, in seconds."""
_SILENT_SECONDS = 30.0
_NOT_FOUND = 404


def download(
    url: str,
    most_bytes: int,
    seconds: float = DOWNLOAD_SECONDS,
    look: Callable[[httpx2.Response], None] = lambda response: None,
) -> bytes:
    """Return the content of a URL; of one larger than ``most_bytes``, one byte more than that.

    TimeoutError if it is not complete after ``seconds``, FileNotFoundError if nothing is there, else the error of httpx2.
    ``look`` sees the answer before its body is read, and may raise. Do not call it in the thread of an event loop.
    """
    return asyncio.run(_download(url, most_bytes, seconds, look))


def save(
    url: str,
    file: IO[bytes],
    most_bytes: int,
    seconds: float = DOWNLOAD_SECONDS,
    look: Callable[[httpx2.Response], None] = lambda response: None,
) -> None:
    """Write the content of a URL into a file, and little more than ``most_bytes`` of it. Errors are those of :func:`download`."""

    async def saved() -> None:
        async with httpx2.AsyncClient(timeout=_SILENT_SECONDS) as client:
            await _taken(client, url, most_bytes, seconds, look, file.write)

    asyncio.run(saved())


async def _download(url: str, most_bytes: int, seconds: float, look: Callable[[httpx2.Response], None]) -> bytes:
    async with httpx2.AsyncClient(timeout=_SILENT_SECONDS) as client:
        return await downloaded(client, url, most_bytes, seconds, look)


async def downloaded(
    client: httpx2.AsyncClient,
    url: str,
    most_bytes: int,
    seconds: float,
    look: Callable[[httpx2.Response], None],
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Return the content of a URL as :func:`download` does, by a client that lasts.

    ``headers`` go with the request, but not to another host that it is redirected to.
    """
    content = bytearray()
    await _taken(client, url, most_bytes, seconds, look, content.extend, headers or {})
    return bytes(content[: most_bytes + 1])


async def _taken(
    client: httpx2.AsyncClient,
    url: str,
    most_bytes: int,
    seconds: float,
    look: Callable[[httpx2.Response], None],
    take: Callable[[bytes], object],
    headers: Mapping[str, str] = MappingProxyType({}),
) -> None:
    count = 0
    try:
        # Timeouts of the client are for each read. This ends all of it, also a server that drips its head or a packed body in
        # which there is nothing.
        async with asyncio.timeout(seconds), aclosing(await _answer(client, url, headers)) as response:
            look(response)
            if response.status_code == _NOT_FOUND:
                raise FileNotFoundError(url)
            response.raise_for_status()
            async for part in response.aiter_bytes():
                take(part)
                count += len(part)
                if count > most_bytes:
                    break
    except TimeoutError:
        raise TimeoutError(f"it was not there whole after {seconds:g} s") from None


async def _answer(client: httpx2.AsyncClient, url: str, headers: Mapping[str, str]) -> httpx2.Response:
    """Return the answer after all redirects. The client itself would read their bodies, of any size."""
    request = client.build_request("GET", url, headers=headers)
    origin = _origin(request)
    for _ in range(client.max_redirects + 1):
        response = await client.send(request, stream=True)
        if response.next_request is None:
            return response
        await response.aclose()
        request = response.next_request
        if _origin(request) != origin:
            for name in headers:
                request.headers.pop(name, None)
    raise httpx2.TooManyRedirects(f"there are more than {client.max_redirects} redirects", request=request)


def _origin(request: httpx2.Request) -> tuple[str, str, int | None]:
    return request.url.scheme, request.url.host, request.url.port
