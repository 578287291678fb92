"""The tables of hash joins. Each is read whole, at one moment, and kept as a copy until its next reading has succeeded.

A copy lies beside the state of its job (snapshots.table_copies). So a run that cannot read a table goes on with the last reading,
and an epoch that is done again is joined with the rows of its first attempt.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pitstop.errors import EngineError, PitstopError
from pitstop.kit.clock import iso
from pitstop.kit.counts import counted
from pitstop.model.job import TableAway
from pitstop.model.left_out import LeftOut
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import HashJoinSpec, SourceSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.cuts import tables_of
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.table_copies import TableCopies, TableCopy
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.failures import PASSING, UNREAD_REMEDY, errors_of_stage, explain_run, first_line, misses_files, reason
from pitstop.spark.base.left_out import tell_seen
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.session import cached
from pitstop.spark.internals.observations import Observations
from pitstop.spark.internals.plans import as_declared
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.lowering.table_files import Look, look

LOGGER = "pitstop.engine"
ATTEMPTS = 3
"""The number of attempts in a row to read a table that changes meanwhile, or is away."""
QUIET_SECONDS = 1.0
"""The seconds during which a newly written table must not change: its writer may be between two files."""
JUST_NOW_SECONDS = 10.0
SOON_SECONDS = 0.5
"""The seconds until a run reads again the tables that an epoch was joined with before the run began."""
BEHIND_SECONDS = 60.0
"""The most seconds until a run reads again a table that it could not read when it began."""

Frames = Mapping[str, DataFrame]
"""Hash join stage -> its table."""


@dataclass(frozen=True)
class _Reading:
    frame: DataFrame
    number: int | None
    """The number of its copy; None if it is kept in memory only."""
    read_at: float


class HashJoinTables:
    """The tables of a pipeline, read for a run on one checkpoint."""

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        environment: Environment,
        checkpoint: Path,
        away: Iterable[TableAway] = (),
    ) -> None:
        """Create them; ``away`` are the tables that the run before could not read."""
        self._spark, self._environment = spark, environment
        self._checkpoint, self._copies = Checkpoint(checkpoint), TableCopies(checkpoint)
        self._joins = joins_of(pipeline)
        self._readings: dict[str, _Reading] = {}
        """Readings that no query uses yet."""
        self._read_at: dict[str, float] = {}
        """Hash join stage -> the time of the reading that epochs are joined with."""
        self._away = {each.stage: each for each in away}
        self._schemas: dict[str, StructType] = {}
        """Hash join stage -> the columns of its table, which stay the same on this checkpoint."""
        self.due: float | None = None
        """The seconds within which the tables must be read again, because some of them are out of date."""
        self.epoch_of_before: int | None = None
        """The epoch that may have reached some sinks before the run: it is joined with the tables that it had."""
        self._observations = Observations()
        self._left_out: Counter[tuple[str, LeftOut]] = Counter()
        """(source, why) -> rows of its last reading that did not parse."""

    @property
    def away(self) -> tuple[TableAway, ...]:
        """The tables that cannot be read, in the order of their stages."""
        away = self._away
        return tuple(away[node.name] for node in self._joins if node.name in away)

    def at_start(self) -> Frames:
        """Return all tables for a run that begins, with the last reading of one that cannot be read. Raise why there is none.

        An epoch that may have reached some sinks is joined with the rows with which it was joined before.
        """
        planned = self._checkpoint.planned()
        again = planned > self._checkpoint.committed() and self._checkpoint.writing() in (planned, -1)
        in_use = self._copies.in_use()
        self.epoch_of_before = planned if again else None
        for node in self._joins:
            last = self._copies.last(node.name)
            if last is not None:
                self._schemas[node.name] = _schema_of(last)
            if again and last is not None and last.number == in_use.get(node.name):
                self._readings[node.name] = self._kept(last)
                self.due = SOON_SECONDS if self.due is None else self.due
            else:
                self._readings[node.name] = self._read_or_last(node, last)
        return self._frames()

    def read(self) -> Frames | None:
        """Return all tables as they are now; None if they are as they were.

        Raise the error that keeps one from being read, and leave the copies as they were. The tables go on to :meth:`used` or
        :meth:`discard`.
        """
        self.discard()
        try:
            for node in self._joins:
                self._readings[node.name] = self._read_or_tell(node)
        except Exception:
            self.due = None if self.due is None else BEHIND_SECONDS
            self.discard()
            raise
        self.due, self._away = None, {}
        if all(self._is_as_before(stage, reading) for stage, reading in self._readings.items()):
            self._read_at = {stage: reading.read_at for stage, reading in self._readings.items()}
            for stage in self._readings:
                self._copies.confirm(stage)
            self.discard()
            return None
        return self._frames()

    def _is_as_before(self, stage: str, reading: _Reading) -> bool:
        in_use = self._copies.in_use().get(stage)
        return reading.number is not None and in_use is not None and self._copies.same(stage, in_use, reading.number)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Note that epochs are joined with the last reading while their query is started. Other copies go once it has started."""
        before, numbers = self._copies.in_use(), {stage: reading.number for stage, reading in self._readings.items()}
        self._environment.ownership.check()
        self._copies.use({stage: number for stage, number in numbers.items() if number is not None})
        try:
            yield
        except BaseException:
            self._copies.use(before)
            self.discard()
            raise
        self._read_at = {stage: reading.read_at for stage, reading in self._readings.items()}
        self._readings = {}
        for stage, number in numbers.items():
            self._copies.remove(stage, but=number)

    def discard(self) -> None:
        """Forget the last reading, which no query uses. Copies that are in use stay."""
        in_use = self._copies.in_use()
        for stage, reading in self._readings.items():
            reading.frame.unpersist(blocking=True)
            if reading.number is not None and reading.number != in_use.get(stage):
                self._copies.remove(stage, but=in_use.get(stage))
        self._readings = {}

    def _frames(self) -> Frames:
        return {stage: reading.frame for stage, reading in self._readings.items()}

    def _read_or_tell(self, node: Node) -> _Reading:
        try:
            return self._read(node)
        except Exception as error:
            if node.name in self._read_at:
                self._note_away(node, error, self._read_at[node.name])
            raise

    def _note_away(self, node: Node, error: Exception, read_at: float) -> None:
        before = self._away.get(node.name)
        since = before.since if before is not None else time.time()
        # Whoever looks meanwhile sees all of before, or all of now.
        self._away = self._away | {node.name: TableAway(node.name, since, read_at, reason(error))}

    def _read_or_last(self, node: Node, last: TableCopy | None) -> _Reading:
        try:
            reading = self._read(node)
            self._away = {stage: away for stage, away in self._away.items() if stage != node.name}
            return reading
        except Exception as error:
            if last is None:
                raise _without_copy(error) from error
            self.due = BEHIND_SECONDS
            self._note_away(node, error, last.read_at)
            since = f"is what was read last, at {iso(last.read_at)}, until it can be read again"
            self._log("WARN", f"the table of stage '{node.name}' {since}: {reason(error)}")
            return self._kept(last)

    def _read(self, node: Node) -> _Reading:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._read_once(node, attempt == ATTEMPTS)
            except Exception as error:
                unread = _unread(node, error)
                if attempt == ATTEMPTS or not unread.details.get("passing"):
                    raise unread from error
                time.sleep(QUIET_SECONDS)
        raise AssertionError("unreachable")

    def _read_once(self, node: Node, is_last: bool) -> _Reading:
        begun = time.monotonic()
        roots = _paths_of(node)
        with errors_of_stage(node):
            frame = self._frame(node)
            if frame.isStreaming:
                return _Reading(frame, None, time.time())  # the join says what is wrong with it
            frame.unpersist(blocking=True)  # else Spark would give rows of before to whoever has an equal plan
            before = look(frame.inputFiles(), roots)
            self._observations = Observations()
            frame = self._frame(node)  # listed once more, now that the state of each file is known
            files = frame.inputFiles()
        last = self._copies.last(node.name)
        if not files and last is not None and last.facts["files"]:
            raise _AwayError("it has no files any more.")
        frame = self._with_columns_of_before(node, frame)

        def check() -> None:
            if before.changed_within(JUST_NOW_SECONDS):
                time.sleep(max(0.0, begun + QUIET_SECONDS - time.monotonic()))
            _check_same(before, look(files, roots), is_last)

        reading = self._copy(node, frame, len(files), check)
        self._schemas[node.name] = frame.schema
        rows = reading.frame.count()
        self._count_left_out()
        of = f" of {counted(len(files), 'file')}" if files else ""
        seconds = time.monotonic() - begun
        self._log("INFO", f"read the table of stage '{node.name}': {counted(rows, 'row')}{of} in {seconds:.1f} s")
        return reading

    def _count_left_out(self) -> None:
        """Count rows that did not parse, of each source once. Rows that the last reading left out, too, are counted already."""
        for source, why, rows in tell_seen(self._observations, self._environment.log):
            self._environment.left_out(source, why, max(0, rows - self._left_out[source, why]))
            self._left_out[source, why] = rows

    def _frame(self, node: Node) -> DataFrame:
        assert isinstance(node.spec, HashJoinSpec)
        environment = self._environment
        lowering = Lowering(
            self._spark,
            environment.sources,
            streaming=False,
            max_ahead_ms=environment.max_ahead_ms,
            observe_table=self._observations.observe,
        )
        return lowering.unread_table(node.spec, node)

    def _with_columns_of_before(self, node: Node, frame: DataFrame) -> DataFrame:
        """Return the table with the columns that its version goes on with. Others would change the results of a running job."""
        expected = self._schemas.get(node.name)
        if expected is None:
            return frame
        types, expected_types = _types(frame.schema), _types(expected)
        others = [
            f"'{name}' is {f'{types[name]} and was {kind}' if name in types else 'not there any more'}"
            for name, kind in expected_types.items()
            if types.get(name) != kind
        ]
        if others:
            raise _AwayError(f"its column {', '.join(others)}. Put it back, or update the job to a version that reads it so.")
        added = [name for name in types if name not in expected_types]
        if added:
            more = f"has {', '.join(added)} besides, which the next version of the job will read"
            self._log("INFO", f"the table of stage '{node.name}' {more}")
        return frame.select([quoted(name) for name in expected.names]) if frame.columns != expected.names else frame

    def _copy(self, node: Node, frame: DataFrame, files: int, check: Callable[[], None]) -> _Reading:
        """Return a copy of the rows, which appears whole or not at all; in memory if its format has no place for their types.

        ``check`` raises if the rows are not all of one moment.
        """
        self._environment.ownership.check()
        place = self._copies.begin(node.name)
        try:
            try:
                frame.write.mode("overwrite").parquet(place.url)
            except AnalysisException as error:
                self._log(
                    "INFO", f"the table of stage '{node.name}' is kept in memory, and for no later run: {first_line(error)}"
                )
                rows = frame.localCheckpoint(eager=True)
                check()
                return _Reading(rows, None, time.time())
            check()
            return self._kept(self._copies.publish(place, {"files": files, "schema": frame.schema.jsonValue()}))
        except BaseException:
            self._copies.discard(place)
            raise

    def _kept(self, copy: TableCopy) -> _Reading:
        return _Reading(cached(_rows_of(self._spark, copy)), copy.number, copy.read_at)

    def _log(self, level: str, text: str) -> None:
        self._environment.log(level, LOGGER, text)


class _ChangedError(Exception):
    """The rows of a reading are not all of one moment: those of the next reading may be."""


class _AwayError(Exception):
    """The table is not there, or not in the form that it had, and may be again."""


def joins_of(pipeline: Pipeline) -> list[Node]:
    """Return the hash joins of the stream; those within a table are read with it."""
    within = tables_of(pipeline.nodes)
    return [node for node in pipeline.nodes if isinstance(node.spec, HashJoinSpec) and id(node) not in within]


def copies_of(spark: SparkSession, pipeline: Pipeline, checkpoint: Path) -> Frames:
    """Return the tables with the columns that they have on this checkpoint, of which there are copies."""
    copies = {node.name: TableCopies(checkpoint).last(node.name) for node in joins_of(pipeline)}
    return {stage: _rows_of(spark, copy) for stage, copy in copies.items() if copy is not None}


def has_copies(pipeline: Pipeline, checkpoint: Path) -> bool:
    """Return True if there is a hash join, and of each table a copy with which a run on this checkpoint can go on."""
    joins, copies = joins_of(pipeline), TableCopies(checkpoint)
    return bool(joins) and all(copies.last(node.name) is not None for node in joins)


def _check_same(before: Look, after: Look, is_last: bool) -> None:
    """Raise _ChangedError unless a table was the same before and after it was read.

    ``is_last`` leaves files that were added for the next reading, because somebody may add some all the time.
    """
    if before.files != after.files:
        raise _ChangedError("its files changed while they were read.")
    if before.under_way or after.under_way:
        raise _ChangedError("its files are being written.")
    if before.folders != after.folders and not is_last:
        raise _ChangedError("files came into its folder while it was read.")


def _unread(node: Node, error: Exception) -> PitstopError:
    """Return the error that says why a table could not be read, and if another attempt may succeed."""
    place = f"The table of stage '{node.name}' ({node.location}) cannot be read: "
    if isinstance(error, _ChangedError | _AwayError) or misses_files(error):
        return EngineError(f"{place}{reason(error)}", **PASSING)
    judged = explain_run(error)
    details = judged.details if isinstance(judged, PitstopError) else {}
    return EngineError(f"{place}{reason(error)}", **details)


def _without_copy(error: Exception) -> Exception:
    """Return the error about a table that has no copy to go on with."""
    if not isinstance(error, EngineError) or not error.details.get("passing"):
        return error
    return EngineError(f"{error.message} {UNREAD_REMEDY}", **error.details)


def _paths_of(node: Node) -> list[str]:
    """Return the paths, or patterns, by which the sources of a table read files."""
    sources = [other for parent in node.inputs[1:] for other in parent.upstream() if isinstance(other.spec, SourceSpec)]
    return [str(path) for source in sources if (path := dict(source.source.options).get("path")) is not None]


def _rows_of(spark: SparkSession, copy: TableCopy) -> DataFrame:
    schema = _schema_of(copy)
    return as_declared(spark.read.schema(schema).parquet(copy.url), schema)


def _schema_of(copy: TableCopy) -> StructType:
    return StructType.fromJson(copy.facts["schema"])


def _types(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}
