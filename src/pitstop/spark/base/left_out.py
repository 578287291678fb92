"""Log messages about rows that are left out: those that do not parse, and those whose time is too far ahead of the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pitstop.kit.counts import counted
from pitstop.model.left_out import LeftOut
from pitstop.spark.base.naming import AHEAD, OBSERVED
from pitstop.spark.internals.observations import Observations

Log = Callable[[str, str, str], None]


def tell_seen(observations: Observations, log: Log) -> list[tuple[str, LeftOut, int]]:
    """Write to the log which rows of the frames computed so far are left out.

    Returns (source or stage, reason, number of rows).
    """
    return [tell_left_out(name, counts, log) for name, counts in observations.seen()]


def tell_left_out(name: str, counts: Mapping[str, Any], log: Log) -> tuple[str, LeftOut, int]:
    """Write to the log about the rows that an observation of either kind has counted, if any.

    Returns (source or stage, reason, number of rows).
    """
    if name.startswith(OBSERVED):
        source = name.removeprefix(OBSERVED)
        return source, LeftOut.UNPARSED, tell_unparsed(source, counts, log)
    return name.removeprefix(AHEAD), LeftOut.AHEAD, tell_ahead(name, counts, log)


def tell_unparsed(source: str, counts: Mapping[str, Any], log: Log) -> int:
    """Write to the log the number of a source's rows that did not parse, if any, and one of them; return the number."""
    rows = int(counts["bad"] or 0)
    if rows:
        log("WARN", "pitstop.source", f"{counted(rows, 'row')} of '{source}' could not be parsed, such as: {counts['sample']!r}")
    return rows


def tell_ahead(name: str, counts: Mapping[str, Any], log: Log) -> int:
    """Write to the log the number of rows that an observation (naming.AHEAD) has counted, if any; return the number."""
    rows = int(counts["rows"] or 0)
    if rows:
        log(
            "WARN",
            "pitstop.engine",
            f"{counted(rows, 'row is', 'rows are')} too far ahead of the clock for '{name.removeprefix(AHEAD)}', "
            f"up to {counts['farthest']}: left out. The option max_ahead, or that of with_timestamps, says how far ahead a "
            "time may be; its dead_letters get such rows.",
        )
    return rows
