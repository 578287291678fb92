"""Sinks as a test sees them: each row that an epoch gives a sink is kept for the test, and written where that does no harm."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from pitstop.errors import NotFoundError
from pitstop.model.config import ProcessingGuarantee
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SinkSpec
from pitstop.pipeline.stages import Pipeline
from pitstop.spark.base.environment import Environment
from pitstop.spark.base.row_order import ORDER
from pitstop.spark.running.stepping import rows_for_two
from pitstop.spark.sinks import compute_only, rehearse_sink, sink_kind, write_sink

WRITTEN = frozenset({"custom", "delta", "files", "logger", "map"})
"""The kinds of sinks that are written: into the test's folder and maps, to the screen, or by the user's own code.

Others belong to systems beside the test. An epoch does all that it would do for them, up to the writing."""


class CapturedRows:
    """The rows that the sinks of a job got, by sink and epoch."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._alone = folder, False
        self._epochs: dict[str, dict[Any, list[dict[str, Any]]]] = {}

    def in_folder(self, pipeline: Pipeline) -> Pipeline:
        """Return the pipeline with the paths of its sinks below the test's folder."""
        self._alone = sum(isinstance(node.spec, SinkSpec) for node in pipeline.nodes) == 1
        specs = {node.name: self._placed(node) for node in pipeline.nodes if isinstance(node.spec, SinkSpec)}
        return pipeline.with_specs(specs)

    def _placed(self, node: Node) -> SinkSpec:
        assert isinstance(node.spec, SinkSpec)
        return dataclasses.replace(node.spec, sink=sink_kind(node).placed(node.sink, self.place_of))

    def place_of(self, path: str) -> str:
        """Return the path in the test's folder that stands for a path of the job."""
        return str(self._folder / path.partition("://")[2].lstrip("/") if "://" in path else self._folder / path.lstrip("/~"))

    def write(self, node: Node, rows: DataFrame, epoch: int, environment: Environment) -> int | None:
        """Take one epoch's rows for a sink (running.epochs.WriteSink). An epoch that comes again replaces itself."""
        with rows_for_two(rows) if self._alone else nullcontext(rows) as rows_kept:
            environment.begins()
            table = rows_kept.drop(ORDER).toArrow()
            self._keep(node.name, epoch, environment, plain_rows(table))
            if node.sink.kind in WRITTEN:
                return write_sink(node, rows_kept, epoch, environment)
            if sink_kind(node).rehearse is not compute_only:
                rehearse_sink(node, rows_kept, epoch, environment)
            return int(table.num_rows)

    def of(self, sink: str, names: list[str]) -> list[dict[str, Any]]:
        """Return the rows of a sink, epoch after epoch. NotFoundError if the job, whose sinks are ``names``, has no such sink."""
        if sink not in self._epochs and sink not in names:
            raise NotFoundError(f"The job has no sink '{sink}'. It has: {', '.join(names)}.")
        return [row for rows in self._epochs.get(sink, {}).values() for row in rows]

    def _keep(self, sink: str, epoch: int, environment: Environment, rows: list[dict[str, Any]]) -> None:
        epochs = self._epochs.setdefault(sink, {})
        names = [*environment.known_as, (environment.lineage, epoch)]
        earlier = next((name for name in names if name in epochs), None)
        if environment.guarantee is ProcessingGuarantee.EXACTLY_ONCE or earlier is None:
            epochs[earlier or names[-1]] = rows
        else:
            epochs[(*earlier, len(epochs))] = rows  # this guarantee lets an epoch come twice


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts of plain values."""
    return [{name: _plain(row[name], table.schema.field(name).type) for name in table.column_names} for row in table.to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Return a value as people write it: maps as dicts, times without a zone, which are in UTC."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    if pa.types.is_map(kind):
        return {_plain(key, kind.key_type): _plain(item, kind.item_type) for key, item in value}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    return value
