"""Sinks as values: the targets of rows. The engine writes all sinks of a job in one epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

from pitstop.pipeline.iceberg_tables import PartitionField
from pitstop.pipeline.kafka_security import KafkaSecurity
from pitstop.pipeline.kafka_values import AvroForm
from pitstop.pipeline.object_stores import S3Store


class EpochInfo(Protocol):
    """The facts about an epoch that its writer gets."""

    @property
    def job(self) -> str:
        """The job's name."""

    @property
    def stage(self) -> str:
        """The sink's name."""

    @property
    def lineage(self) -> str:
        """The name of the unbroken chain of epochs that this one belongs to."""

    @property
    def epoch(self) -> int:
        """The number of the epoch in its lineage."""

    @property
    def guarantee(self) -> str:
        """The job's guarantee: ``exactly_once``, ``at_least_once`` or ``none``."""


class SinkWriter(Protocol):
    """A user-defined sink. ``write`` gets all rows of one epoch, and must have written them when it returns.

    An epoch that was cut off by a failure is written again, with the same rows and the same
    ``(info.lineage, info.epoch)``: store that pair together with the rows, and skip what is already
    there, and the sink is exactly-once.
    """

    def write(self, rows: Any, info: EpochInfo) -> None:
        """Write the rows of one epoch. ``rows``: a Spark DataFrame."""
        ...


@dataclass(frozen=True)
class RowOrder:
    """The order by which a sink can tell the newer of two of its rows."""

    columns: tuple[str, ...] = ()
    """``window_end`` for results of windows, with ``is_early`` if there are early ones; else the event time. Empty: rows have no
    time."""
    stage: str | None = None
    """The last stage before the sink whose rows have these columns, as far as names tell; None: perhaps its own rows do."""
    shuffled: bool = False
    """True behind a stage with state: a second run of an epoch may have its rows in another order."""


@dataclass(frozen=True)
class Sink:
    """The target of rows. A kind of sink is a frozen subclass with its user's settings; see docs/extending.md."""

    kind: ClassVar[str]
    """The name of the SinkKind by which the engine writes it."""

    def fed(self, order: RowOrder) -> Self:
        """Return this sink with the order of the rows that feed it."""
        return self

    @property
    def key_of_entries(self) -> Any:
        """The name or expression by which its entries are told apart; None: it has no entries."""
        return None

    @property
    def takes_order(self) -> RowOrder:
        """The part of its rows' order that reaches it, even if stages before it drop columns."""
        return RowOrder()

    @property
    def expressions(self) -> tuple[Any, ...]:
        """The expressions that it computes of the columns of its rows, besides their order."""
        return ()

    def describe(self) -> str:
        """Return the sink in a few words, for plans."""
        return self.kind


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
    order_by: tuple[Any, ...] | None = None
    """Names or expressions whose highest value marks the newest row; empty: the last row is newest; None: by the rows' time."""
    comes: RowOrder = RowOrder()

    def fed(self, order: RowOrder) -> Self:
        return replace(self, comes=order)

    @property
    def key_of_entries(self) -> Any:
        return self.key

    @property
    def takes_order(self) -> RowOrder:
        return self.comes if self.order_by is None else RowOrder()

    @property
    def expressions(self) -> tuple[Any, ...]:
        return (self.key,) if self.value is None else (self.key, self.value)

    def describe(self) -> str:
        by = self.takes_order.columns[:1] if self.order_by is None else self.order_by
        if not by:
            return self.kind
        return f"{self.kind}, {'newest' if self.function is None else 'in order'} by {', '.join(str(each) for each in by)}"


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
    """Options of Spark's writer."""


@dataclass(frozen=True)
class KafkaSink(Sink):
    """Messages of a topic."""

    kind: ClassVar[str] = "kafka"
    servers: str
    topic: str
    key: Any
    """Name or expression of the key column; None: messages have none."""
    value: Any
    """Name or expression of the value; None: an object of all columns."""
    headers: tuple[tuple[str, Any], ...] = ()
    """Name of a header -> name or expression of its column."""
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of Kafka's producer, in the words of librdkafka."""
    security: KafkaSecurity | None = None
    """The way in which the producer signs in; None: none, or as the settings say."""
    avro: AvroForm | None = None
    """The way in which values of Avro are written; None: they are JSON, texts or bytes."""

    @property
    def expressions(self) -> tuple[Any, ...]:
        columns = (self.key, self.value, *(column for _, column in self.headers))
        return tuple(column for column in columns if column is not None)


@dataclass(frozen=True)
class PostgresSink(Sink):
    """Rows of a table of PostgreSQL."""

    kind: ClassVar[str] = "postgres"
    url: str = field(repr=False)
    """The address of the database. It may hold a password."""
    table: str
    """The name of the table, with its schema if it has one."""
    key: tuple[str, ...] = ()
    """The columns of the key; empty: rows are inserted."""
    order_by: str | None = None
    """The column whose highest value marks the newest row of a key; None: the row that comes last."""
    delete_when: Any = None
    """The condition on which a row removes the one of its key; None: none does."""
    leave_out: tuple[str, ...] = ()
    """The columns that the condition needs, and the table does not have."""

    @property
    def expressions(self) -> tuple[Any, ...]:
        return () if self.delete_when is None else (self.delete_when,)


@dataclass(frozen=True)
class Compaction:
    """The rule by which a sink merges the small files of its table."""

    target_bytes: int
    """The size that files are to have. Larger ones stay as they are."""
    epochs: int
    """The number of epochs between two compactions."""

    def is_due(self, epoch: int) -> bool:
        """Return True if the table is to be compacted after the epoch of this number."""
        return (epoch + 1) % self.epochs == 0


@dataclass(frozen=True)
class DeltaSink(Sink):
    """Rows of a Delta table."""

    kind: ClassVar[str] = "delta"
    path: str
    """The folder of the table, perhaps in S3."""
    partition_by: tuple[str, ...] = ()
    """The columns by which the table is partitioned; empty: as the table that is there has it."""
    merges_schema: bool = False
    """True if columns that the table does not have are added to it."""
    store: S3Store | None = None
    """The way to the store of S3; None: there is none, or the machine's own."""
    compaction: Compaction | None = None
    """The compaction of the table's files; None: that is left to others."""


@dataclass(frozen=True)
class IcebergSink(Sink):
    """Rows of an Iceberg table."""

    kind: ClassVar[str] = "iceberg"
    table: str
    """The name of the table, with its namespace."""
    catalog: tuple[tuple[str, str], ...]
    """The properties of its catalog."""
    partition_by: tuple[PartitionField, ...] = ()
    """The fields by which the table is partitioned; empty: as the table that is there has it."""
    merges_schema: bool = False
    """True if columns that the table does not have are added to it."""


@dataclass(frozen=True)
class SparkSink(Sink):
    """A target of Spark's own writers."""

    kind: ClassVar[str] = "spark"
    format: str
    mode: str
    """``append`` or ``overwrite``."""
    options: tuple[tuple[str, str], ...]
    """The options of the writer."""
    jars: tuple[str, ...]

    def describe(self) -> str:
        return f"{self.kind}, {self.format}"


@dataclass(frozen=True)
class NoopSink(Sink):
    """No target: the rows are dropped."""

    kind: ClassVar[str] = "noop"


@dataclass(frozen=True)
class CustomSink(Sink):
    """The target of a user-defined writer."""

    kind: ClassVar[str] = "custom"
    writer: SinkWriter
