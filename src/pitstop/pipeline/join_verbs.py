"""The verbs of a stage that join its rows: with another stream, with a table in memory, with a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from pitstop.errors import PipelineError, UsageError
from pitstop.kit.durations import Duration, milliseconds
from pitstop.pipeline.expecting import expect, expect_function
from pitstop.pipeline.key_columns import exactly
from pitstop.pipeline.keyed import keep_late
from pitstop.pipeline.nodes import Rows
from pitstop.pipeline.row_verbs import RowVerbs
from pitstop.pipeline.schemas import ddl
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.sources import map_entries
from pitstop.pipeline.specs import HashJoinSpec, JoinSpec, SourceSpec

_KEY, _VALUE = "__key_of_map", "__value_of_map"
"""Columns of a map's entries while rows are joined with them."""
_A_TABLE = "p.read_from(...) or lambda spark: spark.read..."


class JoinVerbs(RowVerbs):
    """Rows with the verbs that join them."""

    def join(
        self,
        name: str,
        other: JoinVerbs,
        on: Any,
        within: Duration,
        how: str = "inner",
        late: Sink | None = None,
    ) -> Self:
        """Join rows of this stage with those of another that have equal ``on`` columns and event times at most ``within`` apart.

        ``on`` is one column or several, as of :meth:`group_by`, which are computed on both sides.
        ``how``: ``inner``; ``left`` to keep rows of this stage without a match, once none can come any more; ``full`` to keep
        those of both; ``semi`` to keep the rows of this stage that have a match, each once.
        Columns out: those of this stage, then the other's without ``on``; other equal names are refused. Of ``semi`` only those
        of this stage. The event time is this stage's; of ``full`` there is none until ``with_timestamps`` names a column, such
        as ``coalesce(ordered, paid) AS time``. ``name`` is the key of this state in snapshots.

        Rows of both sides that are left out because they are late, or have no event time or no key, are counted, and go to
        ``late`` if given, as of ``group_by(...).window``. ``left`` leaves no row of this stage out but late ones; ``full``
        leaves no row of either stage out but late ones.
        """
        if how not in ("inner", "left", "full", "semi"):
            raise UsageError(f"Stage '{name}': a join of two streams is inner, left, full or semi, not {how!r}.")
        expect(other, JoinVerbs, f"Stage '{name}' joins with a stage", "one that read_from or another verb returns")
        rows, keys = self._with_computed(on, "A key")
        others, _ = other._with_computed(on, "A key")
        times = (_needed_time(name, rows), _needed_time(name, others))
        spec = JoinSpec(keys, milliseconds(within, "time between two rows"), how, times)
        stage = rows._then(spec, name, others)
        keep_late(late, name, spec, rows, others)
        return stage

    def hash_join(
        self,
        side: JoinVerbs | Callable[[Any], Any],
        on: Any,
        how: str = "left",
        refresh: Duration | None = None,
        name: str | None = None,
    ) -> Self:
        """Enrich each row from a table that is kept in memory: a stage of batch sources, or a function SparkSession -> DataFrame.

        ``on`` is as of :meth:`join`; the table of a function has columns of these names.
        ``how``: ``left`` keeps rows without a match, ``inner`` drops them. The table is read whole at the
        start, and anew every ``refresh`` if given; what was read last stays until that has succeeded. It is no state: a
        snapshot does not hold it.
        """
        if how not in ("inner", "left"):
            raise UsageError(f"A hash join is inner or left, not {how!r}.")
        rows, keys = self._with_computed(on, "A key")
        refresh_ms = None if refresh is None else milliseconds(refresh, "refresh time")
        if isinstance(side, JoinVerbs):
            table, _ = side._with_computed(on, "A key")
            return rows._then(HashJoinSpec(keys, how, refresh_ms, None), name, table)
        expect_function(side, f"Stage '{self.name}' is joined with a stage or a function of SparkSession", _A_TABLE)
        return rows._then(HashJoinSpec(keys, how, refresh_ms, side), name)

    def with_map(
        self,
        map_name: str,
        on: Any,
        schema: Any = None,
        into: str | None = None,
        how: str = "left",
        refresh: Duration = "1 minute",
        name: str | None = None,
    ) -> Self:
        """Enrich each row from the entry of a map whose key is the text of ``on``, a column of the rows.

        ``schema`` (DDL, a StructType or a dataclass) are the fields of the map's values, which become columns; with ``into`` they
        are in one column of that name, a struct. Without ``schema`` the value comes as JSON text in the column ``into``, which
        has the map's name by default. The map is read whole at the start, and anew every ``refresh``; it is no state. ``how`` as
        in :meth:`hash_join`.
        """
        fields = None if schema is None else ddl(schema)
        rows, keys = self._with_computed(on, "The key")
        if len(keys) != 1:
            raise UsageError(f"A map has one key: give with_map('{map_name}') one column, not {len(keys)}.")
        node = self._graph.add(SourceSpec(map_entries(map_name)), self._graph.free_name(f"map {map_name}"))
        entries = type(self)(self._graph, node)
        value = "value" if fields is None else f"from_json(value, {_sql_text(fields)})"
        column = into or (map_name if fields is None else _VALUE)
        values = self._graph.free_name(f"values of {map_name}")
        table = entries.select(f"key AS {exactly(_KEY)}", f"{value} AS {exactly(column)}", name=values)
        if column == _VALUE:
            table = table.select(_KEY, f"{_VALUE}.*", name=self._graph.free_name(f"fields of {map_name}"))
        keyed = rows.with_columns(None, **{_KEY: f"CAST({exactly(keys[0])} AS STRING)"})
        joined = keyed.hash_join(table, on=_KEY, how=how, refresh=refresh, name=name or self._graph.free_name(f"with {map_name}"))
        return joined.drop(_KEY)


def _sql_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _needed_time(name: str, stage: Rows) -> str:
    time = stage.timestamp_column()
    if time is None:
        raise PipelineError(f"Stage '{name}' needs the event time of '{stage.name}': call with_timestamps before it.")
    return time
