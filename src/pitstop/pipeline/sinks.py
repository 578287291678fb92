"""Sinks: where rows go. Each is a value; the engine writes it, all sinks of a job in one epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pitstop.errors import UsageError


@dataclass(frozen=True)
class Sink:
    """A sink before it has a name."""

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    writer: Any = None
    """For ``map``: the merge or update function; for ``custom``: the SinkWriter."""

    def describe(self) -> str:
        return self.kind


class EpochInfo(Protocol):
    """What a writer is told about the epoch it writes."""

    job: str
    stage: str
    lineage: str
    epoch: int
    guarantee: str


class SinkWriter(Protocol):
    """A sink of one's own. ``write`` gets all rows of one epoch, and must be done when it returns.

    An epoch that was cut off by a failure is written again, with the same rows and the same
    ``(info.lineage, info.epoch)``: store that pair together with the rows, and skip what is already
    there, and the sink is exactly-once.
    """

    def write(self, rows: Any, info: EpochInfo) -> None:
        """``rows``: a Spark DataFrame."""
        ...


def map(
    name: str,
    key: str,
    value: Any = None,
    mode: str = "upsert",
    merge: Callable[[Any, Any], Any] | None = None,
    update: Callable[[Any, dict[str, Any]], Any] | None = None,
) -> Sink:
    """Rows into a map. ``key`` names the key column; its text is the key of the entry.

    ``value``: a column name or expression; default: a JSON object of all columns. A null value removes the
    entry. ``mode="delete"`` removes every key it gets. With ``merge(old, new) -> value`` or ``update(old, row)
    -> value`` (values as Python objects, ``old`` None if absent, a result of None removes) an entry is
    changed by a function. Exactly-once: rows and epoch are committed in one transaction.
    """
    if mode not in ("upsert", "delete"):
        raise UsageError(f"The map sink's mode is 'upsert' or 'delete', not {mode!r}.")
    if merge is not None and update is not None:
        raise UsageError("A map sink has a merge or an update function, not both.")
    chosen = "merge" if merge is not None else "update" if update is not None else mode
    return Sink("map", {"map": name, "key": key, "value": value, "mode": chosen}, writer=merge or update)


def logger(template: str | None = None) -> Sink:
    """Each row as a log line ``[<job>/<stage>#<partition>] <text>``.

    ``template`` names columns in braces, ``"speed {vin} {avg}"``; default: the row as JSON. At least once.
    """
    return Sink("logger", {"template": template})


def files(path: str, format: str = "parquet", partition_by: tuple[str, ...] | list[str] = ()) -> Sink:
    """Files in a folder: ``parquet``, ``json`` or ``csv``. Exactly-once: a file appears only with its epoch."""
    if format not in ("parquet", "json", "csv"):
        raise UsageError(f"files writes parquet, json or csv, not {format!r}.")
    return Sink("files", {"path": str(path), "format": format, "partition_by": tuple(partition_by)})


def noop() -> Sink:
    """Takes every row and writes none."""
    return Sink("noop")


def custom(writer: SinkWriter) -> Sink:
    """A sink of one's own, see :class:`SinkWriter`."""
    return Sink("custom", writer=writer)
