"""Sources: the engine's ways to open them. Offsets are explicit and seekable: two given offsets always give the same rows.

A kind of source is one record, a SourceKind. Each of Pitstop's own kinds has its record as ``KIND`` in the module of its name in
this package; others come from packages that declare them (spark/extensions.py).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource

from pitstop.errors import PipelineError
from pitstop.model.report import SourceFate
from pitstop.pipeline.needs import SOURCE_GROUP
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.source import Source
from pitstop.spark.base.looking import Look
from pitstop.spark.base.seeking import Sought
from pitstop.spark.extensions import find_kind
from pitstop.spark.internals.data_sources import skip_search_for_packages

Open = Callable[[SparkSession, Source, dict[str, str]], DataFrame]
"""``(session, source, told) -> rows``; ``told`` are the facts that every reader of a job may know, as options (see
SourceOptions)."""


def no_objection(source: Source) -> None:
    """Allow it beside sources that do not end."""


def always(source: Source) -> bool:
    """Return True."""
    return True


def no_limit(source: Source) -> bool:
    """Return False: one epoch may read all that is there."""
    return False


def no_folder(source: Source) -> str | None:
    """Return None: Spark notes nothing of it by paths."""
    return None


def no_concern(spark: SparkSession, source: Source) -> str | None:
    """Return None: nothing is amiss."""
    return None


def as_it_is(source: Source, whole: Callable[[str], str]) -> Source:
    """Return the source: it has no paths."""
    return source


def as_spark_has_it(spark: SparkSession, source: Source, offset: str) -> str:
    """Return the offset of Spark's own reader, which is also that of this source."""
    return offset


def nothing_of_sinks(source: Source, example: str) -> bool:
    """Return False: no sink writes what it reads."""
    return False


@dataclass(frozen=True)
class SourceKind:
    """The engine's knowledge of a kind of source."""

    stream: Open
    """Opens it as a stream."""
    batch: Open | None = None
    """Opens its present content, for jobs whose sources all end and for tables of hash joins; None: it cannot."""
    gated: bool = False
    """True if its readers do nothing before they have made SourceOptions of their options, which may hold them back until the
    checkpoint of their query is there. Updates of a job are faster if this is true of all its sources."""
    check_stream: Callable[[Source], str | None] = no_objection
    """Gives the reason why it cannot be read as a stream: a clause that goes on ``Source 'name' (place) ...``; None if it can."""
    data_source: type[DataSource] | None = None
    """The class by which it is read, if that is always the same."""
    has_limit: Callable[[Source], bool] = no_limit
    """True if one epoch reads a limited part of it, however much is there: an epoch's new state then fits into memory."""
    folder: Callable[[Source], str | None] = no_folder
    """The folder of all its files, as a URL, if Spark notes the files that it has read by whole paths."""
    lost: str | None = None
    """The column of its rows with the number of rows lost, unread, before each; None: it loses none."""
    concern: Callable[[SparkSession, Source], str | None] = no_concern
    """Gives what may be amiss with the place it reads, though a stream can begin: a clause that goes on ``Source 'name' (place)
    ...``."""
    reads: Callable[[Source, str], bool] = nothing_of_sinks
    """True if its stream would read what a sink writes, by an example: see SinkKind.example."""
    placed: Callable[[Source, Callable[[str], str]], Source] = as_it_is
    """Gives the source with its paths as ``whole(path)`` says, which knows what a relative path and ``~`` count from."""
    place: Callable[[Source], str | None] = no_folder
    """Names the folder that it reads, in the words of SinkKind.place, where ``folder`` does not: an update tells if it is another
    one."""
    secrets: bool = False
    """True if its readers look up the secrets that its options name, when they begin (pitstop.machine.named_secrets)."""
    look: Callable[[SparkSession, Source], Look] | None = None
    """Connects and tells what is there, for ``check``; None: there is nothing to connect to. It runs in a thread of its own."""
    has_look: Callable[[Source], bool] = always
    """False if there is nothing to connect to for this source, though there is for others of its kind."""
    real_time: bool = False
    """True if its readers give rows as they come, in epochs in real time (option execution)."""
    seek: Callable[[SparkSession, Source, str, str, str | None], Sought] | None = None
    """``(session, source, place, saved offset, planned offset)`` -> the place that a text names, for the option ``seek``;
    NoSuchPlaceError if there is none such. The planned offset is the end of an epoch that was cut off, if there is one. None: it
    goes on only from its saved place."""
    judge: Callable[[SparkSession, Source, str], SourceFate] | None = None
    """``(session, source, saved offset)`` -> what has become of a saved place, such as one in another cluster; it connects, and
    waits for three seconds at most. None: a saved place is always one of what is read now."""
    adopt: Callable[[SparkSession, Source, str], str] | None = None
    """``(session, source, offset)`` -> the offset from which it goes on where Spark's own reader of the same data has got to;
    NoSuchPlaceError if it cannot. None: it cannot go on for any reader but its own."""


def python_source(
    data_source: type[DataSource],
    batch: bool = False,
    gated: bool = False,
    has_limit: bool = False,
    lost: str | None = None,
    more: Callable[[Source], dict[str, str]] = lambda source: {},
    concern: Callable[[SparkSession, Source], str | None] = no_concern,
    reads: Callable[[Source, str], bool] = nothing_of_sinks,
    placed: Callable[[Source, Callable[[str], str]], Source] = as_it_is,
    place: Callable[[Source], str | None] = no_folder,
    secrets: bool = False,
    check_stream: Callable[[Source], str | None] = no_objection,
    look: Callable[[SparkSession, Source], Look] | None = None,
) -> SourceKind:
    """Return the kind that a Python data source reads.

    It gets the source's options, and ``more(source)``, beside the run's facts. ``batch``: the class has a ``reader`` as well as a
    ``streamReader``; ``has_limit``: it never reads more than an epoch's share; ``secrets``: it looks up the secrets that its
    options name.
    """

    def options(source: Source, told: dict[str, str]) -> dict[str, str]:
        return source.options | told | more(source)

    def stream(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
        spark.dataSource.register(data_source)
        return spark.readStream.format(data_source.name()).options(**options(source, told)).load()

    def whole(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
        spark.dataSource.register(data_source)
        return spark.read.format(data_source.name()).options(**options(source, told)).load()

    return SourceKind(
        stream,
        whole if batch else None,
        gated,
        data_source=data_source,
        has_limit=lambda source: has_limit,
        lost=lost,
        concern=concern,
        reads=reads,
        placed=placed,
        place=place,
        secrets=secrets,
        check_stream=check_stream,
        look=look,
    )


def source_kind(node: Node) -> SourceKind:
    """Return the record of a source's kind. PipelineError if no installed package provides it."""
    return find_kind(node, node.source, SOURCE_GROUP, __name__, SourceKind)


def open_stream(spark: SparkSession, node: Node, told: dict[str, str]) -> DataFrame:
    """Return the source of a node as a stream."""
    return source_kind(node).stream(spark, node.source, told)


def open_batch(spark: SparkSession, node: Node, told: dict[str, str]) -> DataFrame:
    """Return all that the source of a node holds now. PipelineError if its kind cannot be read so."""
    opened = source_kind(node).batch
    if opened is None:
        raise PipelineError(f"Source '{node.name}' ({node.location}) can only be read as a stream.")
    return opened(spark, node.source, told)


def load_sources() -> list[type[DataSource]]:
    """Load the modules of our sources, and return their Python data sources."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    kinds = [kind for module in modules if isinstance(kind := getattr(module, "KIND", None), SourceKind)]
    return [kind.data_source for kind in kinds if kind.data_source is not None]


def register(spark: SparkSession) -> None:
    """Make our sources known to a session before a job needs them: a warm spare has then loaded them."""
    skip_search_for_packages(spark)
    for data_source in load_sources():
        spark.dataSource.register(data_source)
