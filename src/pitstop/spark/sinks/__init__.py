"""Sinks: the engine's ways to put the rows of an epoch into the outside world.

A kind of sink is one record, a SinkKind. Each of Pitstop's own kinds has its record as ``KIND`` in the module of its name in this
package; others come from packages that declare them (spark/extensions.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from pitstop.errors import PipelineError, UsageError
from pitstop.machine.named_secrets import errors_without_secrets
from pitstop.pipeline.needs import SINK_GROUP
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.sink import Sink
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.failures import errors_of_sink, errors_of_stage
from pitstop.spark.extensions import find_kind

FIRST, STORE, LAST = 0, 1, 2
"""Ranks: sinks that may fail by a user's code; sinks whose rows can be put again; sinks whose rows stay as they are."""

S = TypeVar("S", bound=Sink)


@dataclass(frozen=True)
class EpochContext:
    """The epoch that a sink writes. An epoch that was cut off is written again, with the same lineage and epoch."""

    job: str
    """The job's name."""
    stage: str
    """The sink's name."""
    lineage: str
    """The name of the unbroken chain of epochs that this one belongs to."""
    epoch: int
    guarantee: str
    """``exactly_once``, ``at_least_once`` or ``none``."""
    run: Environment
    """The run: its log, a folder for scratch files, its store of maps, and its ``ownership`` of the job."""
    digest: str | None = None
    """The name of what the epoch reads: where it begins and ends in each source. An epoch that is written again has the same one.

    If a sink has another digest for the lineage and number, it has another epoch: the saved state was put back from an older
    copy. None: the job is a batch, or the epoch was begun by a release that knew no digests.
    """


def compute_only(sink: Any, rows: DataFrame, context: EpochContext) -> None:
    """Compute every row and write none."""
    take_all(rows)


def take_all(rows: DataFrame) -> None:
    """Compute every row, and with it the state."""
    rows.write.format("noop").mode("overwrite").save()


def no_objection(sink: Any, rows: DataFrame) -> None:
    """Accept any columns."""


def as_it_is(sink: Any, whole: Callable[[str], str]) -> Any:
    """Return the sink: it has no paths."""
    return sink


def of_its_own(sink: Any) -> None:
    """Name no place: others may write there, too."""


def always_adds(sink: Any) -> bool:
    """Let rows that are written again come beside those that are there."""
    return True


def unreadable(sink: Any, name: str) -> None:
    """Give no example: no source reads what it writes."""


@dataclass(frozen=True)
class AtOnce(Generic[S]):
    """The way in which a kind of sink takes the rows of jobs in real time: as they come, and some again after a failure."""

    refuses: Callable[[S], str | None]
    """Gives the reason why this sink cannot: a clause that goes on ``Sink 'name' (place) ...``; None if it can."""
    rows: Callable[[S, DataFrame], DataFrame]
    """Gives what is to be written of rows, as columns of texts."""
    write: Callable[[S, pa.Table, EpochContext], int]
    """Writes such rows, in their order, unless the run has lost its job; returns their number. A row that is written again
    changes nothing that is newer."""
    mark: Callable[[S, EpochContext], None]
    """Notes that all rows of an epoch are written, unless the run has lost its job."""


@dataclass(frozen=True)
class SinkKind(Generic[S]):
    """The engine's knowledge of a kind of sink. ``S`` is the class of its descriptors."""

    write: Callable[[S, DataFrame, EpochContext], int | None]
    """Writes all rows of one epoch, and returns once they are there: their number, or None if it does not know."""
    check: Callable[[S, DataFrame], str | None] = no_objection
    """Gives the reason why the sink cannot take the columns of these rows: a clause that goes on ``Sink 'name' (place): ...``;
    None if it can. It must not compute the rows."""
    rehearse: Callable[[S, DataFrame, EpochContext], object] = compute_only
    """Does what ``write`` does, up to the writing: a standby rehearses with it while the old version still writes."""
    rank: int = FIRST
    """The order of writing: sinks of a lower rank come first in an epoch. An epoch that fails in one has put nothing into later
    ones."""
    reads_once: bool = False
    """True if ``write`` computes all rows in one action, or none if it has the epoch already. The rows of other sinks are kept
    for the epoch, so that they may be read in part, not at all, or again and again at no further cost."""
    transactional: bool = False
    """True if the sink knows which epochs it has: a version with another kind of sink of this name would not know of them."""
    handles_epochs: bool = False
    """True if ``write`` looks for the epoch by all names in ``context.run.known_as``, and calls ``context.run.begins()`` right
    before the sink has anything of it. An epoch that fails while its rows are made is then planned anew by the next version. So
    is an epoch of a sink that never calls it, whatever the sink has of it. If this is False, the context tells the name by which
    the sink was first given the epoch, and the sink may have some of it as ``write`` begins."""
    place: Callable[[S], str | None] = of_its_own
    """Names the place where it writes, in the same words for every sink that writes there (``the map 'm'``). Two active jobs do
    not write into one place, unless their users say so. None: nobody else can, it does no harm, or it is not known."""
    adds: Callable[[S], bool] = always_adds
    """Tells whether rows that another job has written come a second time where it names a ``place``. False: a row takes the place
    of the row of its key, so a job that begins anew over the same input ends with the same rows."""
    example: Callable[[S, str], str | None] = unreadable
    """Names an example of what it writes under the name of its stage, in the words that SourceKind.reads knows: the path of a
    file, or the place. None: no kind of source reads it, or it is not known."""
    placed: Callable[[S, Callable[[str], str]], S] = as_it_is
    """Gives the sink with its paths as ``whole(path)`` says, which knows what a relative path and ``~`` count from."""
    secrets: tuple[str, ...] = ()
    """The fields whose secrets it looks up when it writes (pitstop.machine.named_secrets). No other field may name one."""
    at_once: AtOnce[S] | None = None
    """Writes rows as they come, in jobs in real time; None: it writes whole epochs alone."""
    look: Callable[[S, tuple[tuple[str, str], ...]], str] | None = None
    """Connects and tells what is there for rows of these columns (name, Spark type), for ``check``: a clause that goes on ``Sink
    'name' (place) ...``; None: there is nothing to connect to. It runs in a thread of its own, and changes nothing."""


def sink_kind(node: Node) -> SinkKind[Any]:
    """Return the record of a sink's kind. PipelineError if no installed package provides it."""
    return find_kind(node, node.sink, SINK_GROUP, __name__, SinkKind)


def check_sink(node: Node, rows: DataFrame) -> None:
    """Raise PipelineError unless the sink can take the columns of these rows."""
    kind = sink_kind(node)
    with errors_of_stage(node, rows):
        wrong = kind.check(node.sink, rows)
    if wrong is not None:
        raise PipelineError(f"Sink '{node.name}' ({node.location}): {wrong}")


def write_sink(node: Node, rows: DataFrame, epoch: int, environment: Environment) -> int | None:
    """Write one epoch's rows into the sink of a node; return their number, None if the sink does not know.

    An epoch that is written again changes nothing that it need not.
    """
    kind, context = sink_kind(node), _context(node, epoch, environment)
    if not kind.handles_epochs:
        for lineage, number in environment.known_as[:1]:
            context = dataclasses.replace(context, lineage=lineage, epoch=number)
        environment.begins()
    with errors_without_secrets(), errors_of_sink(node):
        try:
            return kind.write(node.sink, rows, context)
        except UsageError as error:
            # A secret that is gone by now, say. Another attempt would find the same.
            if not kind.secrets or type(error) is not UsageError:
                raise
            raise UsageError(f"Sink '{node.name}' ({node.location}): {error.message}", **error.details) from error


def write_at_once(node: Node, rows: pa.Table, epoch: int, environment: Environment) -> int:
    """Write rows of an epoch in real time into the sink of a node as they come; return their number."""
    with errors_without_secrets(), errors_of_sink(node):
        return at_once(node).write(node.sink, rows, _context(node, epoch, environment))


def mark_epoch(node: Node, epoch: int, environment: Environment) -> None:
    """Note in the sink of a node that all rows of an epoch in real time are written."""
    with errors_without_secrets(), errors_of_sink(node):
        at_once(node).mark(node.sink, _context(node, epoch, environment))


def at_once(node: Node) -> AtOnce[Any]:
    """Return the way in which a sink takes rows in real time; PipelineError if it takes whole epochs alone."""
    way = sink_kind(node).at_once
    if way is None:
        raise PipelineError(f"Sink '{node.name}' ({node.location}) writes whole epochs alone.")
    return way


def rehearse_sink(node: Node, rows: DataFrame, epoch: int, environment: Environment) -> None:
    """Do with one epoch's rows what the sink of a node would do, up to the writing."""
    sink_kind(node).rehearse(node.sink, rows, _context(node, epoch, environment))


def _context(node: Node, epoch: int, environment: Environment) -> EpochContext:
    guarantee = environment.guarantee.value
    return EpochContext(environment.job_name, node.name, environment.lineage, epoch, guarantee, environment, environment.digest)
