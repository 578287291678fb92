"""One HTTP request for the objects after a sequence number. Any fault of its answer becomes a PollError."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import httpx2

from pitstop.kit.download import downloaded
from pitstop.machine.named_secrets import hidden, revealed_url
from pitstop.spark.base.away import SourceFaultError

Row = tuple[int, str]
"""(sequence, JSON text of the object)."""

MOST_BYTES = 64 << 20
"""The largest answer, unpacked, in bytes. Its objects take several times as much memory."""
_MARK = secrets.token_urlsafe(9)
"""A text that no server can know, so that no answer has it."""
_LONGEST = 2**63 - 1
_LOOKS = 3
"""The number of looks that must agree that a server has begun anew: one that just starts may have its objects a moment later."""
_SELDOM = 32
"""The most empty answers in a row after which a source without news checks again if the server has begun anew."""


class PollError(Exception):
    """A request that brought nothing usable; says why."""


class BegunAnewError(Exception):
    """The server's sequence has started again: it has objects, and none of them reaches the number that was read before."""


class Fetcher:
    """A client that asks ``GET url?since=N&limit=M``. Safe to use from several threads, of which one asks at a time.

    ``beginning`` is the number after which the source was to begin; ``warn`` gets what is odd in an answer.
    """

    def __init__(
        self,
        url: str,
        limit: int,
        field: str,
        timeout: float,
        beginning: int,
        warn: Callable[[str], None],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._url, self._limit, self._field, self._timeout = revealed_url(url), limit, field, timeout
        self._headers = dict(headers or {})
        self._beginning, self._warn = beginning, warn
        # The client lasts, for it keeps its connection, and so does the loop that this belongs to. One request runs it at a time.
        self._client = httpx2.AsyncClient(timeout=None)
        self._loop, self._turn = asyncio.new_event_loop(), threading.Lock()
        self._empty = self._odd = 0
        self.shown_url = shown(url)

    def fetch(self, since: int) -> list[Row]:
        """Return the objects after ``since``, in order of their sequence.

        PollError for any fault; BegunAnewError; SourceFaultError for an answer that is too large, as it would be each time. Equal
        objects come once. Different ones with the same number all come, with a warning.
        """
        rows_of_answer = self._rows(since)
        rows = [row for row in sorted(dict.fromkeys(rows_of_answer), key=lambda row: row[0]) if row[0] > since]
        if rows:
            self._empty = self._odd = 0
            return rows
        self._empty += 1
        # A look costs the server a request or two.
        if since > self._beginning and (self._odd or now_and_then(self._empty, _SELDOM)):
            self._odd = self._odd + 1 if self._ends_before(since, rows_of_answer) else 0
            if self._odd >= _LOOKS:
                self._empty = self._odd = 0
                raise BegunAnewError
        return []

    def start(self, since: int) -> Future[list[Row]]:
        """Start a fetch in a thread of its own, so that a slow server holds up nobody else."""
        future: Future[list[Row]] = Future()

        def work() -> None:
            try:
                future.set_result(self.fetch(since))
            except BaseException as error:  # whoever waits for the future gets it
                future.set_exception(error)

        threading.Thread(target=work, name="http-poll", daemon=True).start()
        return future

    def close(self) -> None:
        """Let a request that is under way end by its timeout, in a thread that nobody waits for."""
        if self._loop.is_closed() or not self._turn.acquire(blocking=False):
            return
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._client.aclose())
        self._turn.release()

    def _rows(self, since: int) -> list[Row]:
        """Return the objects of the server's answer, in its order.

        An object without a number takes its neighbour's if others have one.
        """
        objects = self._objects(self._get(since))
        numbers = [number for number, _ in objects if number is not None]
        self._tell_doubled([(number, text) for number, text in objects if number is not None], since)
        if objects and not numbers:
            raise PollError(f"an object has no whole number '{self._field}'")
        if len(numbers) < len(objects):
            odd = next(text for number, text in objects if number is None)
            self._warn(
                f"{len(objects) - len(numbers)} objects of an answer have no whole number '{self._field}', such as {odd}: "
                "they are read with what stands before them."
            )
        rows, last = [], numbers[0] if numbers else 0
        for number, text in objects:
            last = last if number is None else number
            rows.append((last, text))
        return rows

    def _ends_before(self, since: int, answer: list[Row]) -> bool:
        """Return True if the server has objects, but none from ``since`` on.

        ``answer`` is its answer to a request for the objects after ``since``.
        """
        if answer:  # it gives what was not asked for
            highest = max(number for number, _ in answer)
            if highest < since and len(answer) >= self._limit:
                raise PollError(f"it was asked for what comes after {since}, and answers with objects up to {highest}")
            return highest < since
        return not self._rows(since - 1) and bool(self._rows(self._beginning))

    def _tell_doubled(self, numbered: list[Row], since: int) -> None:
        times = Counter(number for number, _ in dict.fromkeys(numbered) if number > since)
        doubled = [number for number, count in times.items() if count > 1]
        if doubled:
            self._warn(
                f"several objects have the {self._field} {doubled[0]} ({len(doubled)} such numbers in one answer): all are read, "
                "but one that comes in a later answer is not."
            )

    def _get(self, since: int) -> bytes:
        try:
            url = str(httpx2.URL(self._url).copy_merge_params({"since": since, "limit": self._limit}))
            with self._turn:
                download = downloaded(self._client, url, MOST_BYTES, self._timeout, _look, self._headers)
                body = self._loop.run_until_complete(download)
        except TimeoutError:
            raise PollError(f"the answer was not complete after {self._timeout:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise PollError(hidden(f"{type(error).__name__}: {error}")) from None
        if len(body) > MOST_BYTES:
            most = f"{MOST_BYTES >> 20} MiB: give the source a lower limit, or have the server answer with less."
            raise SourceFaultError(f"{self.shown_url} answers a request for {self._limit} objects with more than {most}")
        return body

    def _objects(self, body: bytes) -> list[tuple[int | None, str]]:
        """Return the number of each object, if it has one, and its text."""
        try:
            items = json.loads(body, parse_float=_marked)
            if not isinstance(items, list):
                raise PollError("the answer is not a JSON array")
            return [(self._number(item), _text(item)) for item in items]
        except (ValueError, RecursionError) as error:
            raise PollError(f"the answer is not JSON ({error})") from error

    def _number(self, item: Any) -> int | None:
        number = item.get(self._field) if isinstance(item, dict) else None
        return number if isinstance(number, int) and not isinstance(number, bool) and abs(number) <= _LONGEST else None


def now_and_then(time: int, seldom: int) -> bool:
    """Return True the first time, then ever more seldom, but every ``seldom``-th time at least."""
    return time & (time - 1) == 0 or time % seldom == 0


def _look(response: httpx2.Response) -> None:
    if not response.is_success:
        raise PollError(f"the server answered {response.status_code}")


def _marked(number: str) -> str:
    # A float would not hold all digits of a decimal number. As a text between marks it goes through json's fast code unchanged.
    return f"{_MARK}{number}{_MARK}"


def _text(item: Any) -> str:
    text = json.dumps(item, ensure_ascii=False).replace(f'"{_MARK}', "").replace(f'{_MARK}"', "")
    # JSON may hold half of a surrogate pair, which no UTF-8 text can.
    return text.encode("utf-8", "replace").decode()


def shown(url: str) -> str:
    """Return the URL as a log may show it: without user, password and query, because they hold secrets."""
    try:
        return str(httpx2.URL(url).copy_with(username=None, password=None, query=None, fragment=None))
    except httpx2.InvalidURL:
        return "the URL"
