"""Objects of a JSON array served over HTTP. Offset: ``{"sequence": n}``, the highest sequence seen.

Where a server has begun anew, the offset goes back to the beginning, with a higher ``"generation"``, in an epoch of no rows.

Objects are fetched once: those found while looking for the epoch's end travel to the workers inside the
partitions. Only a replay fetches again, and then checks that nothing is missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pitstop.errors import UsageError
from pitstop.kit.counts import counted
from pitstop.machine.named_secrets import revealed
from pitstop.spark.internals.prefetching import prefetching
from pitstop.spark.sources import python_source
from pitstop.spark.sources.batch import EverythingReader
from pitstop.spark.sources.http_fetch import BegunAnewError, Fetcher, PollError, Row, now_and_then
from pitstop.spark.sources.shared import SMALL_ROWS, Behind, Offset, SourceOptions

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
SHORT_SECONDS = 30.0
"""The longest that a batch goes on with a server whose answers are short, and have something new each time."""
POLL_BUDGET = 1.0
"""The seconds that one look for new data may take: other sources of the query are waiting."""
_SELDOM = 8
"""The most long answers of a server that seems to have no more until one of them is followed by a request at once."""
_FADING = 0.9
"""The factor by which the longest answer fades with each interval, because answers may become shorter for good."""
_UNPICKLED = ("_fetcher", "_buffer", "_pending")


class Rows(InputPartition):
    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows


class HttpPollReader(DataSourceStreamReader):
    """Rows: ``value string`` (JSON text of one object), ``sequence bigint``."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._log = options.log
        self._limit = options.number("limit", 200)
        self._interval = options.number("intervalMs", 2000) / 1000
        self._max_rows = options.number("maxRows", 10_000)
        self._since = options.number("since", -1)
        timeout = options.number("timeoutMs", 10_000) / 1000
        field = options.text("sequence", "sequence")
        bounds = self._limit, field, timeout, self._since
        self._fetcher = Fetcher(options.text("url"), *bounds, self._log.warning, _headers(options))
        self._buffer: list[Row] = []
        self._whole_from: int | None = None
        """The sequence number after which the buffer holds all objects, up to its last one."""
        self._pending: Future[list[Row]] | None = None
        self._generation = 0
        """The generation of the buffer."""
        self._begun_anew = False
        self._longest = 0.0
        """The most objects of a recent answer."""
        self._long = 0
        """The number of long answers since a request at once found more."""
        self._asked_at_once = False
        self._next_poll = 0.0
        self._pause = FIRST_PAUSE
        self._lost = 0

    def __getstate__(self) -> dict[str, Any]:
        # The reader travels to the workers, which only unpack their partition: neither client nor buffer goes with it.
        return {key: value for key, value in self.__dict__.items() if key not in _UNPICKLED}

    def initialOffset(self) -> Offset:
        return self._options.start_offset({"sequence": self._since})

    def latestOffset(self, start: Offset, limit: Any) -> Offset:
        return self._options.agreed(start, lambda: self._advance(start))

    def _advance(self, start: Offset) -> Offset:
        since = int(start["sequence"])
        self._go_to(start)
        deadline, most = time.monotonic() + POLL_BUDGET, self._options.limited(self._max_rows)
        while len(self._buffer) < most and self._may_ask(deadline):
            if not self._poll(self._newest(since), deadline):
                break
        ready = self._buffer[:most]
        self._options.behind = Behind(len(self._buffer) - len(ready), "rows")
        if ready:
            return start | {"sequence": ready[-1][0]}
        if self._begun_anew:
            self._log.warning(
                f"{self._fetcher.shown_url} has begun anew: it had {since} before, and now has only lower numbers. It is read "
                f"from its beginning; what it had after {since} before it began anew is lost."
            )
            return {"sequence": self._since, "generation": _generation(start) + 1}
        return start

    def _may_ask(self, deadline: float) -> bool:
        return self._pending is not None or self._next_poll <= time.monotonic() < deadline

    def _poll(self, since: int, deadline: float) -> bool:
        """Take the answer of the request under way, or of a new one, if it comes in time.

        Return False to look again later: no answer in time, a fault, or an answer after which there is no more now.
        """
        if self._pending is None:
            self._pending = self._fetcher.start(since)
        try:
            rows = self._pending.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            return False
        except PollError as error:
            self._pending = None
            self._back_off(error)
            return False
        except BegunAnewError:
            self._pending, self._begun_anew = None, True
            return False
        self._pending = None
        self._pause = FIRST_PAUSE
        more = self._has_more(len(rows))
        if not more:
            self._next_poll = time.monotonic() + self._interval
        rows = [row for row in rows if row[0] > since]
        if rows:
            self._tell_gap(since, rows[0][0])
            self._buffer += rows
            self._begun_anew = False
            self._log.debug(f"Added {len(rows)} pings. Highest sequence number is: {rows[-1][0]}")
        return more

    def _has_more(self, count: int) -> bool:
        """Return True if the server must be asked at once for more than the ``count`` objects that it has given.

        A server may bound its answers below what it is asked for, so a long answer may be part of a history, or all that has come
        in an interval. Only the next one tells. While it tells that there is no more, the server is asked for ever more seldom: a
        source that keeps up asks once an interval.
        """
        if count > 2 * self._longest or (self._asked_at_once and count):
            self._long = 0
        self._longest = max(count, self._longest * (1 if self._asked_at_once else _FADING))
        is_long = not self._is_short(count, self._longest)
        self._long += is_long
        self._asked_at_once = is_long and (count >= self._limit or now_and_then(self._long, _SELDOM))
        return self._asked_at_once

    def _is_short(self, count: int, longest: float) -> bool:
        """Return True if an answer of ``count`` objects is short compared with the longest answer.

        Where a server bounds the bytes of an answer, the answers of a long history differ in length, but not by far. A single
        object is always short, so a server without a history gives what is new.
        """
        return count < min(self._limit, max(longest / 2, 2))

    def everything(self, start: Offset) -> Offset:
        """Return the offset after all that the server has now; ask until it answers.

        A short answer is not the end: a server may give less than it is asked for, or repeat what was read before. But short
        answers do not go on for ever either, because another server has something new each time.
        """
        since, longest, short_since = int(start["sequence"]), 0, None
        self._go_to(start)
        while rows := self._insist(self._newest(since)):
            self._buffer += rows
            longest = max(longest, len(rows))
            short_since = (short_since or time.monotonic()) if self._is_short(len(rows), longest) else None
            if short_since is not None and time.monotonic() - short_since > SHORT_SECONDS:
                self._log.warning(
                    f"{self._fetcher.shown_url} still has something new after {SHORT_SECONDS:.0f} s of short answers, where it "
                    f"has given up to {longest} objects at once: it is read up to {self._newest(since)}."
                )
                break
        return {"sequence": self._newest(since)}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        if _generation(start) != _generation(end):
            return [Rows([])]
        first, last = int(start["sequence"]), int(end["sequence"])
        whole = (
            self._generation == _generation(end)
            and self._whole_from is not None
            and self._whole_from <= first
            and self._newest(first) >= last
        )
        rows = self._buffer if whole or first >= last else self._fetch_again(first, last)
        return [Rows([row for row in rows if first < row[0] <= last])]

    def commit(self, end: Offset) -> None:
        if _generation(end) == self._generation:
            self._drop_buffered(int(end["sequence"]))

    def stop(self) -> None:
        self._fetcher.close()

    def is_small(self, partition: InputPartition) -> bool:
        assert isinstance(partition, Rows)
        return len(partition.rows) <= SMALL_ROWS

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        if partition.rows:
            columns = [
                pa.array([text for _, text in partition.rows], pa.string()),
                pa.array([number for number, _ in partition.rows], pa.int64()),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["value", "sequence"])

    def _fetch_again(self, first: int, last: int) -> list[Row]:
        """Return the rows of an epoch that another process, or an earlier run, has seen: fetch them until they are whole."""
        self._log.info(f"fetching {first + 1} to {last} again")
        rows: list[Row] = []
        while (newest := rows[-1][0] if rows else first) < last:
            more = self._insist(newest, last)
            if not more:
                break
            rows += more
        return rows

    def _insist(self, since: int, expected: int | None = None) -> list[Row]:
        """Ask until the server answers, and until it has something if ``expected`` was seen there before."""
        pause = FIRST_PAUSE
        while True:
            try:
                rows = self._fetcher.fetch(since)
                if not rows and expected is not None:
                    raise PollError(f"the server has nothing after {since}, yet {expected} was seen before")
            except BegunAnewError:
                lost = counted((expected or since) - since, "event")
                self._log.warning(
                    f"lost {lost}: the server has begun anew, and no longer has {since + 1} to "
                    f"{expected or since}, which were to be read again."
                )
                return []
            except PollError as error:
                self._log.warning(f"{self._fetcher.shown_url}: {error}; trying again in {pause:.1f} s")
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            if rows:
                self._tell_gap(since, rows[0][0] if expected is None else min(rows[0][0], expected + 1))
            return rows

    def _tell_gap(self, since: int, oldest: int) -> None:
        if oldest > since + 1:
            lost = oldest - since - 1
            self._lost += lost
            self._log.warning(
                f"lost {counted(lost, 'event')}: the server no longer has {since + 1} to {oldest - 1} ({self._lost} lost in this "
                "run)."
            )

    def _back_off(self, error: PollError) -> None:
        self._log.warning(f"{self._fetcher.shown_url}: {error}; trying again in {self._pause:.1f} s")
        self._next_poll = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _newest(self, since: int) -> int:
        return self._buffer[-1][0] if self._buffer else since

    def _go_to(self, start: Offset) -> None:
        """Forget what comes before this offset, and everything of another generation."""
        if _generation(start) != self._generation:
            self._generation, self._begun_anew = _generation(start), False
            self._buffer, self._whole_from, self._pending = [], None, None
        self._drop_buffered(int(start["sequence"]))

    def _drop_buffered(self, up_to: int) -> None:
        self._buffer = [row for row in self._buffer if row[0] > up_to]
        if self._whole_from is None or self._whole_from < up_to:
            self._whole_from = up_to


def _generation(offset: Offset) -> int:
    return int(offset.get("generation", 0))


def _headers(options: SourceOptions) -> dict[str, str]:
    headers = {name: revealed(value) for name, value in json.loads(options.text("headers", "{}")).items()}
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise UsageError(
                f"Source '{options.stage}': header {name} has characters that no header can have: use printable ASCII."
            )
    return headers


class HttpPollSource(DataSource):
    """Options: url, limit, intervalMs, timeoutMs, sequence, since, maxRows, headers, and those of every source (shared.py)."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_http_poll"

    def schema(self) -> str:
        return "value string, sequence bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return prefetching(HttpPollReader(SourceOptions("http_poll", self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        return EverythingReader(HttpPollReader(SourceOptions("http_poll", self.options)))


KIND = python_source(HttpPollSource, batch=True, gated=True, has_limit=True, secrets=True)
