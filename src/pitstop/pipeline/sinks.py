"""Sinks: where rows go. Each is a value; the engine writes it, all sinks of a job in one epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from pitstop.errors import UsageError


class EpochInfo(Protocol):
    """What a writer is told about the epoch it writes."""

    @property
    def job(self) -> str:
        """The job's name."""

    @property
    def stage(self) -> str:
        """The sink's name."""

    @property
    def lineage(self) -> str:
        """Names the unbroken chain of epochs that this one belongs to."""

    @property
    def epoch(self) -> int:
        """Its number in the lineage."""

    @property
    def guarantee(self) -> str:
        """``exactly_once``, ``at_least_once`` or ``none``."""


class SinkWriter(Protocol):
    """A sink of one's own. ``write`` gets all rows of one epoch, and must be done when it returns.

    An epoch that was cut off by a failure is written again, with the same rows and the same
    ``(info.lineage, info.epoch)``: store that pair together with the rows, and skip what is already
    there, and the sink is exactly-once.
    """

    def write(self, rows: Any, info: EpochInfo) -> None:
        """``rows``: a Spark DataFrame."""
        ...


@dataclass(frozen=True)
class Sink:
    """Where rows are to go. A kind of sink is a frozen subclass with what its user says; see docs/extending.md."""

    kind: ClassVar[str]
    """Names the SinkKind by which the engine writes it."""


@dataclass(frozen=True)
class MapSink(Sink):
    """Entries of a map."""

    kind: ClassVar[str] = "map"
    map: str
    """Name of the map."""
    key: Any
    """Name or expression of the key column."""
    value: Any
    """Name or expression of the value; None: an object of all columns."""
    mode: str
    """``upsert``, ``delete``, ``merge`` or ``update``."""
    function: Callable[[Any, Any], Any] | None = None
    """For ``merge`` and ``update``: old and new value, or old value and row, to the value to keep."""


@dataclass(frozen=True)
class LoggerSink(Sink):
    """Lines of the job's log."""

    kind: ClassVar[str] = "logger"
    template: str | None
    """Text with columns in braces; None: the row as JSON."""


@dataclass(frozen=True)
class FilesSink(Sink):
    """Files in a folder."""

    kind: ClassVar[str] = "files"
    path: str
    format: str
    """``parquet``, ``json`` or ``csv``."""
    partition_by: tuple[str, ...]
    """Columns that become folders."""
    options: tuple[tuple[str, str], ...] = ()
    """Of Spark's writer."""


@dataclass(frozen=True)
class NoopSink(Sink):
    """Nowhere."""

    kind: ClassVar[str] = "noop"


@dataclass(frozen=True)
class CustomSink(Sink):
    """Wherever the user's own writer puts them."""

    kind: ClassVar[str] = "custom"
    writer: SinkWriter


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
    return MapSink(name, key, value, chosen, merge or update)


def logger(template: str | None = None) -> Sink:
    """Each row as a log line ``[<job>/<stage>#<partition>] <text>``.

    ``template`` names columns in braces, ``"speed {vin} {avg}"``; default: the row as JSON. At least once.
    """
    return LoggerSink(template)


def files(path: str, format: str = "parquet", partition_by: tuple[str, ...] | list[str] = (), **options: Any) -> Sink:
    """Files in a folder: ``parquet``, ``json`` or ``csv``. Exactly-once: a file appears only with its epoch.

    ``options`` are those of Spark's writer of that format, such as ``header=True`` or ``timestampFormat``.
    """
    if format not in ("parquet", "json", "csv"):
        raise UsageError(f"files writes parquet, json or csv, not {format!r}.")
    return FilesSink(str(path), format, tuple(partition_by), tuple((name, _option(value)) for name, value in options.items()))


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def noop() -> Sink:
    """Takes every row and writes none."""
    return NoopSink()


def custom(writer: SinkWriter) -> Sink:
    """A sink of one's own, see :class:`SinkWriter`."""
    return CustomSink(writer)
