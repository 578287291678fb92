"""The ends of records in CSV text: a newline, or, if fields may have newlines in quotes, a newline outside of quotes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

SCAN_BYTES = 64 * 1024
LONGEST_QUOTED = 1024 * 1024
"""The most bytes of a quoted field. A longer one was never closed, and its record ends with its first line."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def last_line_end(file: BinaryIO, start: int, wanted: int, size: int) -> int:
    """Return the end of the last complete line up to ``wanted``, or of the first if that is longer.

    ``start`` if no line is complete.
    """
    upper = wanted
    while upper > start:
        lower = max(start, upper - SCAN_BYTES)
        file.seek(lower)
        found = file.read(upper - lower).rfind(b"\n")
        if found >= 0:
            return lower + found + 1
        upper = lower
    position = wanted
    while position < size:
        file.seek(position)
        chunk = file.read(min(SCAN_BYTES, size - position))
        found = chunk.find(b"\n")
        if found >= 0:
            return position + found + 1
        if not chunk:
            break
        position += len(chunk)
    return start


def last_record_end(file: BinaryIO, start: int, wanted: int, size: int) -> int:
    """Return the end of the last complete record up to ``wanted``, where a newline in quotes ends no record.

    A longer first record, and a missing one, are treated as by :func:`last_line_end`.
    """
    file.seek(start)
    data = file.read(wanted - start)
    while True:
        end = start
        for record in quoted_records(data, whole=False):
            if end > start and end + len(record) > wanted:
                return end
            end += len(record)
        # Nothing is complete: the first record may be longer than was wanted.
        more = file.read(SCAN_BYTES) if end == start and start + len(data) < size else b""
        if not more:
            return end
        data += more


def record_end_from(file: BinaryIO, start: int, position: int, size: int) -> int:
    """Return the first end of a record from ``position`` on, counted from the one at ``start``.

    If none is there, return the last end before it.
    """
    while start < position:
        end = last_record_end(file, start, min(position, start + LONGEST_QUOTED), size)
        if end == start:
            break
        start = end
    return start


def ends_record(file: BinaryIO, position: int) -> bool:
    """Return False if no record can end there."""
    file.seek(position - 1)
    return file.read(1) == b"\n"


def lines(data: bytes) -> Iterator[bytes]:
    """Yield the complete lines, each with its newline."""
    at = 0
    while (found := data.find(b"\n", at)) >= 0:
        yield data[at : found + 1]
        at = found + 1


def quoted_records(data: bytes, whole: bool = True) -> Iterator[bytes]:
    """Yield the complete records, each with its last newline, of data that begins with a record; ``whole``: and ends with one."""
    at = 0
    while at < len(data):
        end = _record_end(data, at, whole)
        if end is None:
            return
        yield data[at:end]
        at = end


def _record_end(data: bytes, start: int, whole: bool) -> int | None:
    """Return the end of the record that begins at ``start``: the first newline with an even number of quotes before it."""
    first = data.find(b"\n", start) + 1
    end, quotes = first, 0
    at = start
    while end:
        quotes += data.count(b'"', at, end)
        if quotes % 2 == 0:
            return end
        if end - start > LONGEST_QUOTED:
            return first
        at, end = end, data.find(b"\n", end) + 1
    return first if first and (whole or len(data) - start > LONGEST_QUOTED) else None
