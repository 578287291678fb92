"""The tables of a query. Each name in it is a view of a session that belongs to the query alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Mapping as AnyMapping
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.maps.ports import MapStore
from pitstop.model.process_folders import WorkerFolder
from pitstop.model.selecting import OwnTable, Select, StoredStage
from pitstop.pipeline.specs import ParsedSpec, SelectSpec, SourceSpec
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.export import lay_view
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.failures import reason
from pitstop.spark.internals.parsed import RefusedError, rows_of
from pitstop.spark.lowering.source import can_be_bad, good_rows, read_static, with_parsed
from pitstop.spark.state import in_snapshot
from pitstop.sql.compiling import compile_query
from pitstop.sql.connectors import IMAP, connector_of
from pitstop.sql.functions import ALLOWED, WITHOUT_OPTIONS
from pitstop.sql.keyed import has_text_keys, wanted_keys
from pitstop.sql.mappings import Mapping, Named, View, identifier
from pitstop.sql.names import beyond_ctes, is_information, query_of, state_of
from pitstop.sql.queries import INFORMATION, parse_query, refuse_unknown, wrong
from pitstop.sql.rewriting import Rewritten, rewritten
from pitstop.sql.statements import Query
from pitstop.sql.types import quoted

PAGE = 20_000
MOST_LITERALS = 100
_ARGUMENTS: dict[str, int | None] = dict.fromkeys(sorted(ALLOWED)) | WITHOUT_OPTIONS
"""Function that a query may call -> the most arguments that it may be given, None: any number."""


class NotAskedError(Exception):
    """Nobody wants the rows of the query any more."""


class Tables:
    """The tables that the names of one query mean; ``scratch`` is a folder that is removed after it."""

    def __init__(
        self,
        spark: SparkSession,
        select: Select,
        catalogue: AnyMapping[str, Named],
        maps: MapStore,
        settings: SourceSettings,
        scratch: Path,
        is_asked: Callable[[], bool],
    ) -> None:
        """Create it; ``is_asked`` returns True while the rows of the query are still wanted."""
        self._spark, self._known, self._maps, self._settings, self._scratch = spark, catalogue, maps, settings, scratch
        self._asked = is_asked
        self._states: dict[tuple[str, str], StoredStage] = {(each.snapshot, each.stage): each for each in select.states}
        self._own: dict[str, OwnTable] = {each.name: each for each in select.tables}
        self._made: dict[str, str] = {}
        self.literal = True
        """True if all tables are literals in the query's plan."""

    def rewritten(self, query: Query) -> Rewritten:
        """Return the query as Spark takes it, over views that are there now."""
        tree = parse_query(query)
        refuse_unknown(tree, query)
        named = [table for table in beyond_ctes(tree) if isinstance(table, exp.Table)]
        return rewritten(query, [(table, self._view_of(table, tree, query), _title(table)) for table in named])

    def _view_of(self, table: exp.Table, tree: exp.Expr, query: Query) -> str:
        if is_information(table):
            own = self._own.get(table.name.lower())
            if own is None:
                raise wrong(table, query, f"Object '{table.name}' not found in {INFORMATION}")
            return self._view(f"{INFORMATION}.{own.name}", lambda: self._of_own(own))
        if not isinstance(table.this, exp.Identifier):
            stage = state_of(table)
            if stage is None:
                raise wrong(table, query, "FROM takes mappings, views, queries and SNAPSHOT name STAGE name")
            return self._view(f"snapshot {stage}", lambda: self._of_state(self._states[stage]))
        relation = self._known.get(table.name)
        if relation is None:
            raise wrong(table, query, f"Object '{table.name}' not found")
        if isinstance(relation, View):
            return self._view(relation.name, lambda: self._of_view(relation))
        keys = wanted_keys(tree, table) if has_text_keys(relation) else None
        return self._view(f"{relation.name} {keys}", lambda: self._of_mapping(relation, keys))

    def _view(self, meaning: str, make: Callable[[], DataFrame]) -> str:
        if meaning not in self._made:
            before, self.literal = self.literal, False
            frame = make()
            self.literal = self.literal and before
            self._made[meaning] = f"__table_{len(self._made)}"
            frame.createOrReplaceTempView(self._made[meaning])
        return self._made[meaning]

    def _of_view(self, view: View) -> DataFrame:
        try:
            return analyzed(self._spark, self.rewritten(query_of(view)))
        except UsageError as error:
            raise UsageError(f"View '{view.name}': {error.message}") from None

    def _of_mapping(self, mapping: Mapping, keys: list[str] | None) -> DataFrame:
        whole = query_of(View("", f"SELECT * FROM {identifier(mapping.name)}"))
        pipeline, relation = compile_query(whole, self._known)
        frame: DataFrame | None = None
        for node in pipeline.nodes:
            match node.spec:
                case SourceSpec() if connector_of(mapping) is IMAP:
                    frame = self._of_map(mapping.outside, keys)
                case SourceSpec():
                    frame = read_static(self._spark, node, self._settings)
                    if can_be_bad(node.source):
                        frame = good_rows(with_parsed(frame, node.source), node.source)
                case ParsedSpec():
                    pass  # done with their source
                case SelectSpec(columns=columns):
                    assert frame is not None
                    frame = frame.selectExpr(*columns)
        assert frame is not None
        return frame.select(*map(quoted, relation.names()))

    def _of_map(self, name: str, keys: list[str] | None) -> DataFrame:
        """Return the entries of a map; only those of some keys if the query asks for no others."""
        if keys is not None:
            entries = [entry for key in keys if (entry := self._maps.get(name, key)) is not None]
            if 0 < len(entries) <= MOST_LITERALS:
                # A table of literals: Spark answers without starting tasks.
                self.literal = True
                values = [text for entry in entries for text in (entry.key, entry.value)]
                return self._spark.sql(f"VALUES {', '.join(['(?, ?)'] * len(entries))} AS entries (key, value)", args=values)
            batches = [_batch([entry.key for entry in entries], [entry.value for entry in entries])]
        else:
            batches = list(self._pages(name)) or [_batch([], [])]
        return self._spark.createDataFrame(pa.Table.from_batches(batches))

    def _pages(self, name: str) -> Iterator[pa.RecordBatch]:
        after: str | None = None
        while True:
            if not self._asked():
                raise NotAskedError
            page = self._maps.entries(name, after=after, limit=PAGE)
            if page:
                yield _batch([entry.key for entry in page], [entry.value for entry in page])
            if len(page) < PAGE:
                return
            after = page[-1].key

    def _of_state(self, stored: StoredStage) -> DataFrame:
        folder, view = Path(stored.folder), WorkerFolder(self._scratch / f"state-{len(self._made)}").state
        manifest = manifests.read(folder)
        in_snapshot.SnapshotState.open(folder, manifest, stored.stage)
        manifests.verify(folder, manifest, manifest.job_name or manifest.job_id)
        lay_view(folder, manifest, view)
        return in_snapshot.SnapshotState.open(view, manifest, stored.stage).rows(self._spark)

    def _of_own(self, table: OwnTable) -> DataFrame:
        schema = ", ".join(f"`{name}` {kind}" for name, kind in table.columns)
        return self._spark.createDataFrame([tuple(row) for row in table.rows], schema)


def analyzed(spark: SparkSession, text: Rewritten) -> DataFrame:
    """Return the rows of a query; UsageError, with its place where Spark tells one, if Spark refuses it.

    Spark may read a text in another way than our own parser, which has checked it. So Spark's reading is checked, too.
    """
    try:
        return rows_of(spark, text.text, _ARGUMENTS)
    except RefusedError as error:
        raise UsageError(f"{text.query.place.prefix}{error} reaches beyond mappings, and is not allowed") from None
    except PySparkException as error:
        raise refused(text, error) from error


def refused(text: Rewritten, error: PySparkException) -> UsageError:
    """Return Spark's error about a query, with its place where Spark tells one."""
    contexts = [each for each in error.getQueryContext() or [] if each.contextType().name == "SQL" and not each.objectType()]
    place = text.place(contexts[0].startIndex(), contexts[0].stopIndex()) if contexts else text.query.place
    return UsageError(place.prefix + reason(error).rstrip("."))


def _batch(keys: list[str], values: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(keys, pa.string()), pa.array(values, pa.string())], names=["key", "value"])


def _title(table: exp.Table) -> str:
    return table.name if isinstance(table.this, exp.Identifier) else "state"
