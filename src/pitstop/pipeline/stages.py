"""Pipelines and stages: the fluent face of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from pitstop.errors import PipelineError
from pitstop.kit.durations import UNLIMITED, Duration, milliseconds
from pitstop.pipeline.chains import check_chains, check_early_results, streams
from pitstop.pipeline.expecting import SINKS, SOURCES, expect, expect_function
from pitstop.pipeline.join_verbs import JoinVerbs
from pitstop.pipeline.keyed import KeyedStage
from pitstop.pipeline.migration import Migration, OffsetMigration
from pitstop.pipeline.nodes import Graph, Node, Rows
from pitstop.pipeline.row_order import row_order
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.sinks import logger
from pitstop.pipeline.source import Source
from pitstop.pipeline.specs import (
    DeadLettersSpec,
    FarAheadSpec,
    IngestionTimestampsSpec,
    MergeSpec,
    NotAheadSpec,
    OwnCodeSpec,
    ParsedSpec,
    SinkSpec,
    SourceSpec,
    Spec,
    TimestampsSpec,
)

OF_THE_JOB = "as the job's option max_ahead says"
"""Stands for a bound that the user has not given."""


class Pipeline:
    """A graph of named stages. Reading starts it, writing ends it; nothing runs until it is submitted."""

    def __init__(self, location: Callable[[], str] | None = None) -> None:
        """``location``: gives the place of the present definition in a text of another language; None: a line of Python."""
        self._graph = Graph(location)
        self._migrations: dict[str, Migration] = {}
        self._offset_migrations: dict[str, OffsetMigration] = {}

    def __repr__(self) -> str:
        return f"<Pipeline: {', '.join(node.name for node in self.nodes) or 'empty'}>"

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All stages, inputs before their readers. Parts of a split that nobody reads are none, beside one that is read."""
        return tuple(self._graph.used_nodes())

    @property
    def migrations(self) -> dict[str, Migration]:
        """Stage -> the user's function that turns its saved state into its present form."""
        return dict(self._migrations)

    def migrate(self, migration: Migration) -> None:
        """Use a function marked with ``@ps.migrate`` that is not in the job's own module. PipelineError if a stage has two."""
        other = self._migrations.get(migration.stage)
        if other is not None and other != migration:
            raise PipelineError(f"Stage '{migration.stage}' has two migrations, '{other.name}' and '{migration.name}': keep one.")
        self._migrations[migration.stage] = migration

    @property
    def offset_migrations(self) -> dict[str, OffsetMigration]:
        """Source -> the user's function that tells where it goes on in the place of a source of plain Spark."""
        return dict(self._offset_migrations)

    def migrate_offset(self, migration: OffsetMigration) -> None:
        """Use a function marked with ``@ps.migrate_offset`` that is not in the job's own module.

        PipelineError if a source has two.
        """
        other = self._offset_migrations.get(migration.source)
        if other is not None and other != migration:
            raise PipelineError(
                f"Source '{migration.source}' has two functions for its offset, '{other.name}' and '{migration.name}': keep one."
            )
        self._offset_migrations[migration.source] = migration

    def with_specs(self, changed: Mapping[str, Spec]) -> Pipeline:
        """Return the same pipeline with other specs for the stages of these names."""
        other = Pipeline()
        other._graph, other._migrations = self._graph.with_specs(changed), self.migrations
        other._offset_migrations = self.offset_migrations
        return other

    def read_from(self, source: Source, name: str, dead_letters: Sink | None = None) -> Stage:
        """Begin with a source. Its name keeps its offset in snapshots.

        Rows that cannot be parsed never stop the job: they are counted, sampled in the log, and go to
        ``dead_letters`` if given (columns ``stage string, text string, time timestamp, error string, place string``; ``place``
        is the file, and for ``csv_tail`` the byte in it, null for sources without files; its stage is ``<name>-dead-letters``).
        ``error`` names the columns of JSON and CSV that cannot be read: ``amount: 'lots' is no double.``
        """
        expect(source, Source, f"Source '{name}' is read from a source", SOURCES)
        if source.parse is None and not source.tells_bad and dead_letters is not None:
            raise PipelineError(_no_letters(source, name))
        # The rows of files have the source's own name, as in releases in which these had no letters.
        if source.parse is None and dead_letters is None:
            return Stage(self._graph, self._graph.add(SourceSpec(source), name))
        node = self._graph.add(SourceSpec(source, with_bad=True), name)
        if dead_letters is not None:
            bad = self._graph.add(DeadLettersSpec(), f"{name}-unparsed", (node,))
            Stage(self._graph, bad).write_to(dead_letters, name=f"{name}-dead-letters")
        return Stage(self._graph, self._graph.add(ParsedSpec(), f"{name}-rows", (node,)))

    def write_to(self, sink: Sink, *stages: Stage, name: str) -> None:
        """End several stages in one sink; their columns must agree."""
        if not stages:
            raise PipelineError(f"Sink '{name}' gets no stage to write.")
        expect(stages[0], Stage, f"Sink '{name}' gets the rows of stages", "the stages that read_from and other verbs return")
        start = stages[0] if len(stages) == 1 else stages[0].merge(*stages[1:])
        start.write_to(sink, name)

    def check(self) -> None:
        """Raise PipelineError unless every stage leads to a sink and there is at least one."""
        sinks = [node for node in self.nodes if isinstance(node.spec, SinkSpec)]
        if not self.nodes:
            raise PipelineError("The pipeline is empty: begin with read_from and end with write_to.")
        if not sinks:
            raise PipelineError("The pipeline has no sink: end at least one stage with write_to.")
        reached = {id(node) for sink in sinks for node in sink.upstream()}
        self._check_migrations()
        if any(streams(node) for node in self.nodes):
            check_chains(self.nodes)
            check_early_results(self.nodes)
        for node in self.nodes:
            if id(node) not in reached:
                raise PipelineError(
                    f"Stage '{node.name}' ({node.location}) leads to no sink: end it with write_to, or remove it."
                )

    def _check_migrations(self) -> None:
        names = {node.name for node in self.nodes}
        for stage, migration in self._migrations.items():
            if stage not in names:
                raise PipelineError(f"Migration '{migration.name}' is for stage '{stage}', which the pipeline does not have.")
        sources = {node.name for node in self.nodes if isinstance(node.spec, SourceSpec)}
        for source, offset_migration in self._offset_migrations.items():
            if source not in sources:
                raise PipelineError(
                    f"Function '{offset_migration.name}' is for the offset of source '{source}', which the pipeline does not "
                    "have."
                )


class Stage(JoinVerbs):
    """Rows on their way. Every method gives a new stage; a stage may be read by several others.

    A column is given by name, as a SQL expression, or as a Spark Column. A key is given by name, as ``expression AS name``, or as
    a Column with a name; it then is a column of the rows.
    """

    def _then(self, spec: Spec, name: str | None, *others: Rows) -> Self:
        stage = super()._then(spec, name, *others)
        if streams(stage._node):
            check_chains((stage._node,))
        return stage

    def merge(self, *stages: Stage, name: str | None = None) -> Stage:
        """Merge this stage's rows with those of others, by column name; the columns must agree."""
        return self._then(MergeSpec(), name, *stages)

    def peek(self, name: str = "peek", template: str | None = None) -> Stage:
        """Log each row as the logger sink does, under this name, and go on with the same rows."""
        self.write_to(logger(template), self._graph.free_name(name))
        return self

    def with_timestamps(
        self,
        column: Any,
        allowed_lag: Duration = 0,
        idle_timeout: Duration = 0,
        name: str | None = None,
        max_ahead: Duration | None = OF_THE_JOB,
        dead_letters: Sink | None = None,
    ) -> Stage:
        """Take event time from a timestamp column; the watermark follows the highest by ``allowed_lag``.

        Of several stages with timestamps the slowest holds the watermark back, unless it has had no rows for its
        ``idle_timeout``; 0: it always counts. Rows that come after that may be late. Behind a stage with state that has an
        event time only the column is given: the watermark goes on from there.

        One row with a time far in the future would make all that follow late. So rows whose time is more than ``max_ahead`` ahead
        of the clock are left out: they are counted, told in the log, and go to ``dead_letters`` if given (columns ``stage
        string, text string, time timestamp, error string``, ``text`` is the row as JSON; its stage is
        ``<this stage>-far-ahead``). Without it the job's option ``max_ahead`` holds, which is a day if nobody says otherwise;
        None, or ``unlimited``: times may be as far ahead as they are. The option holds for streams: of sources that all end no
        row can be late, and rows are left out only if ``max_ahead`` or ``dead_letters`` is given here.
        """
        lag_ms = milliseconds(allowed_lag, "allowed lag")
        usual, unlimited = max_ahead is OF_THE_JOB, max_ahead is None or max_ahead == UNLIMITED
        if dead_letters is not None and unlimited:
            raise PipelineError(f"Stage '{self.name}' leaves no rows out for their time: give with_timestamps a max_ahead.")
        timed, (column,) = self._with_computed(column, "The event time")
        rows, title = timed, self._graph.former_name(self.name)
        if dead_letters is not None or not (usual or unlimited):
            most_ms = None if usual or max_ahead is None else milliseconds(max_ahead, "time ahead of the clock")
            rows = timed._then(NotAheadSpec(column, most_ms), self._graph.free_name(f"{title}-in-time"))
            if dead_letters is not None:
                ahead = timed._then(FarAheadSpec(column, most_ms), self._graph.free_name(f"{title}-ahead"))
                ahead.write_to(dead_letters, f"{title}-far-ahead")
        by_option = usual and dead_letters is None
        return rows._then(TimestampsSpec(column, lag_ms, _idle(idle_timeout), by_option), name)

    def with_ingestion_timestamps(
        self, column: str = "ingestion_time", idle_timeout: Duration = 0, name: str | None = None
    ) -> Stage:
        """Stamp rows with the time of their epoch, in a new column. A replay stamps them anew.

        What ends by event time then ends by the clock, also while no rows come.

        ``idle_timeout`` as in :meth:`with_timestamps`.
        """
        return self._then(IngestionTimestampsSpec(column, _idle(idle_timeout)), name)

    def group_by(self, *columns: Any) -> KeyedStage[Stage]:
        """Group rows by these columns, for an aggregate or user-defined state; no columns: all rows are one group.

        A column is a name, ``"upper(vin) AS vin"``, or a Spark Column with a name. What is computed becomes a column of the rows.
        """
        rows, names = self._with_computed(columns, "A key")
        return KeyedStage(rows, names)

    def stateful(self, name: str, function: Callable[..., Any], *others: Stage) -> Stage:
        """Apply any Structured Streaming code, stateful operators included: ``function(DataFrame, *others) -> DataFrame``.

        Aggregations need a watermark (``with_timestamps``), for every job writes in append mode. ``name`` is the key of
        this state in snapshots; it is restored as long as the operators in it keep their form.
        """
        expect_function(function, f"Stage '{name}' is a function of DataFrames", "def name(rows): ... and give name")
        return self._then(OwnCodeSpec(function), name, *others)

    def write_to(self, sink: Sink, name: str) -> None:
        """End in a sink."""
        expect(sink, Sink, f"Stage '{name}' writes to a sink", SINKS)
        self._graph.add(SinkSpec(sink.fed(row_order(self._node, sink.key_of_entries))), name, (self._node,))


def _no_letters(source: Source, name: str) -> str:
    if source.kind == "files" and source.options.get("format") in ("csv", "json"):
        why = (
            "leaves rows that do not parse to Spark, for it has the option mode or columnNameOfCorruptRecord, or _corrupt_record"
        )
        return f"Source '{name}' {why}: leave that out, and they can be dead letters."
    return f"Source '{name}' delivers no text to parse, so it has no dead letters."


def _idle(timeout: Duration) -> int:
    return milliseconds(timeout, "idle timeout")
