"""Calls of the Kubernetes API, and mirrors of what it holds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp

Object = dict[str, Any]
"""One of Kubernetes' objects, or a part of one, as JSON has it."""
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
CALL_SECONDS = 15.0
WATCH_SECONDS, SILENT_SECONDS = 240, 90.0
RETRY_SECONDS = 0.5
NOT_FOUND, CONFLICT = 404, 409

logger = logging.getLogger(__name__)


class ApiError(Exception):
    """The API server has refused a call."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status} {text[:300]}")
        self.status = status


FAULTS = (ApiError, aiohttp.ClientError, OSError, TimeoutError)
"""All that may become of a call that is to be tried again."""


class Api:
    """The API server of a kubeconfig with one cluster, and one user who has a token."""

    def __init__(self, kubeconfig: Path) -> None:
        known = json.loads(kubeconfig.read_text())
        cluster = known["clusters"][0]["cluster"]
        self.host, port = cluster["server"].removeprefix("https://").split(":")
        self.port = int(port)
        self.authority = Path(cluster["certificate-authority"])
        self._url: str = cluster["server"]
        self._token: str = known["users"][0]["user"]["token"]

    async def __aenter__(self) -> Api:
        trusted = ssl.create_default_context(cafile=str(self.authority))
        self._session = aiohttp.ClientSession(
            self._url,
            headers={"Authorization": f"Bearer {self._token}"},
            connector=aiohttp.TCPConnector(ssl=trusted, limit=0),  # each mirror holds a connection
        )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._session.close()

    async def get(self, path: str, **query: str) -> Object:
        """An object, or a list of objects."""
        return await self._call("GET", path, query=query)

    async def create(self, path: str, body: Object) -> Object:
        """A new object, as it is kept."""
        return await self._call("POST", path, body)

    async def patch(self, path: str, body: Object, form: str = MERGE) -> Object:
        """Changes an object."""
        return await self._call("PATCH", path, body, form)

    async def delete(self, path: str, body: Object | None = None) -> None:
        """Deletes an object; nothing if there is none, or none any more that ``body`` asks for."""
        try:
            await self._call("DELETE", path, body)
        except ApiError as error:
            if error.status not in (NOT_FOUND, CONFLICT):
                raise

    async def ensure(self, path: str, body: Object) -> None:
        """Creates an object, unless it exists."""
        try:
            await self.create(path, body)
        except ApiError as error:
            if error.status != CONFLICT:
                raise

    async def mirror(self, path: str, **query: str) -> AsyncIterator[dict[str, Object]]:
        """All objects of a path by uid, again after each change, for ever. Each time it is a dictionary of its own."""
        while True:
            try:
                version, there = await self._list(path, query)
                yield dict(there)
                async with contextlib.aclosing(self._changes(path, version, query)) as changes:
                    async for kind, changed in changes:
                        if kind == "DELETED":
                            there.pop(changed["metadata"]["uid"], None)
                        else:
                            there[changed["metadata"]["uid"]] = changed
                        yield dict(there)
            except FAULTS as error:
                # After a restart of the API server, or a new kind, it refuses for a moment.
                logger.info("following %s: %r", path, error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _list(self, path: str, query: dict[str, str]) -> tuple[str, dict[str, Object]]:
        listed = await self.get(path, **query)
        return listed["metadata"]["resourceVersion"], {item["metadata"]["uid"]: item for item in listed["items"]}

    async def _changes(self, path: str, version: str, query: dict[str, str]) -> AsyncGenerator[tuple[str, Object], None]:
        """What changes after that version, until the server ends it or wants us to list again."""
        watching = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH_SECONDS)}
        patience = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=SILENT_SECONDS)
        async with self._session.get(path, params=query | watching, timeout=patience) as answer:
            if answer.status >= 400:
                raise ApiError(answer.status, await answer.text())
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for change in map(json.loads, lines):
                    if change["type"] == "ERROR":
                        return
                    if change["type"] != "BOOKMARK":
                        yield change["type"], change["object"]

    async def _call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        form: str = "application/json",
        query: dict[str, str] | None = None,
    ) -> Object:
        sent = None if body is None else json.dumps(body)
        async with (
            asyncio.timeout(CALL_SECONDS),
            self._session.request(method, path, params=query, data=sent, headers={"Content-Type": form}) as answer,
        ):
            text = await answer.text()
            if answer.status >= 400:
                raise ApiError(answer.status, text)
            result: Object = json.loads(text)
            return result
