"""Objects of a JSON array served over HTTP. Offset: ``{"sequence": n}``, the highest sequence seen.

Objects are fetched once: those found while looking for the epoch's end travel to the workers inside the
partitions. Only a replay fetches again, and then checks that nothing is missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.spark.sources.shared import Offset, SourceOptions

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
POLL_BUDGET = 1.0
"""Seconds that one look for new data may take: other sources of the query are waiting."""


class Rows(InputPartition):
    def __init__(self, rows: list[tuple[int, str]]) -> None:
        self.rows = rows


class PollError(Exception):
    """A poll that brought nothing usable; says why."""


class HttpPollReader(DataSourceStreamReader):
    """Rows: ``value string`` (JSON text of one object), ``sequence bigint``."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._log = options.log
        self._url = options.text("url")
        self._limit = options.number("limit", 200)
        self._field = options.text("sequence", "sequence")
        self._interval = options.number("intervalMs", 2000) / 1000
        self._max_rows = options.number("maxRows", 10_000)
        self._since = options.number("since", -1)
        self._client = httpx2.Client(timeout=options.number("timeoutMs", 10_000) / 1000)
        self._buffer: list[tuple[int, str]] = []
        self._next_poll = 0.0
        self._pause = FIRST_PAUSE

    def __getstate__(self) -> dict[str, Any]:
        # The reader travels to the workers, which only unpack their partition: neither client nor buffer goes with it.
        return {key: value for key, value in self.__dict__.items() if key not in ("_client", "_buffer")}

    def initialOffset(self) -> Offset:
        return {"sequence": self._since}

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        since = int(start["sequence"])
        self._drop_buffered(since)
        deadline, most = time.monotonic() + POLL_BUDGET, self._options.limited(self._max_rows)
        while len(self._buffer) < most and self._next_poll <= time.monotonic() < deadline:
            newest = self._buffer[-1][0] if self._buffer else since
            try:
                rows = self._fetch(newest)
            except PollError as error:
                self._back_off(error)
                break
            self._pause = FIRST_PAUSE
            self._buffer += rows
            if rows:
                self._log.info(f"Added {len(rows)} pings. Highest sequence number is: {rows[-1][0]}")
            if len(rows) < self._limit:
                self._next_poll = time.monotonic() + self._interval
        return {"sequence": self._buffer[-1][0] if self._buffer else since}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        first, last = int(start["sequence"]), int(end["sequence"])
        rows = [row for row in self._buffer if first < row[0] <= last]
        whole = rows and rows[-1][0] == last
        if first < last and not whole:
            rows = self._fetch_again(first, last)
        return [Rows(rows)]

    def commit(self, end: Offset) -> None:
        self._drop_buffered(int(end["sequence"]))

    def stop(self) -> None:
        self._client.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        if partition.rows:
            columns = [
                pa.array([text for _, text in partition.rows], pa.string()),
                pa.array([number for number, _ in partition.rows], pa.int64()),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["value", "sequence"])

    def _fetch(self, since: int) -> list[tuple[int, str]]:
        """Objects after ``since``, in order of their sequence. PollError for whatever is wrong."""
        try:
            response = self._client.get(self._url, params={"since": since, "limit": self._limit})
        except httpx2.HTTPError as error:
            raise PollError(f"{type(error).__name__}: {error}") from error
        if response.status_code >= 400:
            raise PollError(f"the server answered {response.status_code}")
        try:
            found = response.json()
        except ValueError as error:
            raise PollError(f"the answer is no JSON ({error})") from error
        if not isinstance(found, list):
            raise PollError("the answer is no JSON array")
        rows = sorted(self._row(item) for item in found)
        self._tell_gap(since, rows)
        return [row for row in rows if row[0] > since]

    def _row(self, item: Any) -> tuple[int, str]:
        number = item.get(self._field) if isinstance(item, dict) else None
        if not isinstance(number, int):
            raise PollError(f"an object has no whole number '{self._field}'")
        return number, json.dumps(item, ensure_ascii=False)

    def _tell_gap(self, since: int, rows: list[tuple[int, str]]) -> None:
        if rows and rows[0][0] > since + 1:
            lost = rows[0][0] - since - 1
            self._log.warning(f"lost {lost} events: asked for those after {since}, the server's oldest is {rows[0][0]}.")

    def _fetch_again(self, first: int, last: int) -> list[tuple[int, str]]:
        """The rows of an epoch that is written again: fetched until they are whole."""
        self._log.info(f"fetching {first + 1} to {last} again")
        rows: list[tuple[int, str]] = []
        pause = FIRST_PAUSE
        while (newest := rows[-1][0] if rows else first) < last:
            try:
                found = self._fetch(newest)
                if not found:
                    raise PollError(f"the server has nothing after {newest}, yet {last} was seen before")
            except PollError as error:
                self._log.warning(f"{self._url}: {error}; trying again in {pause:.1f} s")
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            pause = FIRST_PAUSE
            rows += found
        return [row for row in rows if row[0] <= last]

    def _back_off(self, error: PollError) -> None:
        self._log.warning(f"{self._url}: {error}; trying again in {self._pause:.1f} s")
        self._next_poll = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _drop_buffered(self, up_to: int) -> None:
        self._buffer = [row for row in self._buffer if row[0] > up_to]


class HttpPollSource(DataSource):
    """Options: url, limit, intervalMs, timeoutMs, sequence, since, maxRows."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_http_poll"

    def schema(self) -> str:
        return "value string, sequence bigint"

    def streamReader(self, schema: StructType) -> HttpPollReader:
        return HttpPollReader(SourceOptions("http_poll", self.options))
