"""Tells of rows that are left out because their time is too far ahead of the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pitstop.spark.base.naming import AHEAD
from pitstop.spark.internals.observations import Observations

Log = Callable[[str, str, str], None]


def tell_seen(observations: Observations, log: Log) -> dict[str, int]:
    """Tell the log which rows of the frames that were computed by now are too far ahead; stage -> how many they are."""
    return {name.removeprefix(AHEAD): tell_ahead(name, seen, log) for name, seen in observations.seen()}


def tell_ahead(name: str, seen: Mapping[str, Any], log: Log) -> int:
    """Tell the log how many rows an observation (naming.AHEAD) has counted, if any; returns how many."""
    rows = int(seen["rows"] or 0)
    if rows:
        log(
            "WARN",
            "pitstop.engine",
            f"{rows} rows are too far ahead of the clock for '{name.removeprefix(AHEAD)}', up to {seen['farthest']}: left out. "
            "The option max_ahead, or that of with_timestamps, says how far ahead a time may be; its dead_letters get such rows.",
        )
    return rows
