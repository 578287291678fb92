"""One HTTP request for the objects after a sequence number; whatever is wrong with its answer becomes a PollError."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import Future
from typing import Any

import httpx2

Row = tuple[int, str]
"""(sequence, JSON text of the object)."""

_LONGEST = 2**63 - 1


class PollError(Exception):
    """A request that brought nothing usable; says why."""


class Fetcher:
    """Asks ``GET url?since=N&limit=M``. Safe to use from several threads."""

    def __init__(self, url: str, limit: int, field: str, timeout: float) -> None:
        self._url, self._limit, self._field, self._timeout = url, limit, field, timeout
        self._client = httpx2.Client(timeout=timeout)
        self.shown_url = shown(url)

    def fetch(self, since: int) -> list[Row]:
        """Objects after ``since``, in order of their sequence, each once. PollError for whatever is wrong."""
        found = self._array(self._get(since))
        rows = dict(self._row(item) for item in found)
        return [(number, rows[number]) for number in sorted(rows) if number > since]

    def start(self, since: int) -> Future[list[Row]]:
        """The same in a thread of its own, so that a slow server holds up nobody else."""
        future: Future[list[Row]] = Future()

        def work() -> None:
            try:
                future.set_result(self.fetch(since))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work, name="http-poll", daemon=True).start()
        return future

    def close(self) -> None:
        self._client.close()

    def _get(self, since: int) -> bytes:
        # The client's own timeout is for each read: a server that drips must end at the deadline too.
        deadline = time.monotonic() + self._timeout
        body = bytearray()
        try:
            with self._client.stream("GET", self._url, params=self._parameters(since)) as response:
                if response.status_code >= 400:
                    raise PollError(f"the server answered {response.status_code}")
                for chunk in response.iter_bytes():
                    body += chunk
                    if time.monotonic() > deadline:
                        raise PollError(f"the answer was not complete after {self._timeout:g} s")
        except (httpx2.HTTPError, httpx2.InvalidURL, RuntimeError) as error:  # RuntimeError: the client was closed
            raise PollError(f"{type(error).__name__}: {error}") from error
        return bytes(body)

    def _parameters(self, since: int) -> httpx2.QueryParams:
        return httpx2.URL(self._url).params.merge({"since": since, "limit": self._limit})

    def _array(self, body: bytes) -> list[Any]:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise PollError(f"the answer is no JSON ({error})") from error
        if not isinstance(found, list):
            raise PollError("the answer is no JSON array")
        return found

    def _row(self, item: Any) -> Row:
        number = item.get(self._field) if isinstance(item, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or abs(number) > _LONGEST:
            raise PollError(f"an object has no whole number '{self._field}'")
        # JSON may hold half of a surrogate pair, which no UTF-8 text can.
        return number, json.dumps(item, ensure_ascii=False).encode("utf-8", "replace").decode()


def shown(url: str) -> str:
    """The URL as a log may show it: without user, password and query, for these hold secrets."""
    try:
        return str(httpx2.URL(url).copy_with(username=None, password=None, query=None, fragment=None))
    except httpx2.InvalidURL:
        return "the URL"
