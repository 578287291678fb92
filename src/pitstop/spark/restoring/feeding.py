"""Saved state as rows for a new checkpoint's first epoch, in the form that the new plan wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from pitstop.model.layout import StateLayout
from pitstop.plan.kinds import Form, rules_of
from pitstop.plan.rules import migrates
from pitstop.spark.base.naming import WINDOW_ROLES, role_column
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.restoring.migrations import Migrating
from pitstop.spark.restoring.reframe import Frames, reframed
from pitstop.spark.restoring.saved_snapshot import SavedSnapshot
from pitstop.spark.state.in_snapshot import SnapshotState
from pitstop.spark.state.saved import converted, is_text


@dataclass(frozen=True)
class Fed:
    """Rows of one operator's state that go in beside the empty sources."""

    stream: DataFrame
    rows: int
    exact: bool
    """True if each of them is a row of the new state; else several may become one."""


def fed_streams(
    job: CompiledJob, saved: SavedSnapshot, stages: Sequence[str], renamed: Mapping[str, str], scratch: Path
) -> dict[tuple[str, str], Fed]:
    """Return (stage, role) -> the stage's saved state, converted, written below ``scratch`` and opened as a stream."""
    streams: dict[tuple[str, str], Fed] = {}
    for stage in stages:
        was = renamed.get(stage, stage)
        migrating = _migrating(job, saved, stage, was)
        new_state = migrating.rows() if migrating is not None else _new_state(job, saved, stage, was)
        for role, rows in new_state.items():
            with migrating.errors() if migrating is not None else nullcontext():
                streams[(stage, role)] = fed(rows, scratch / f"restore_{len(streams)}", _one_each(job, saved, stage, was))
    return streams


def fed(rows: DataFrame, folder: Path, exact: bool) -> Fed:
    """Return rows of an operator's state as a stream, written in ``folder``; ``exact``: none of them are combined."""
    rows.write.parquet(str(folder))
    stream = rows.sparkSession.readStream.schema(rows.schema).parquet(str(folder))
    return Fed(stream, _rows_in(folder), exact)


def has_two_zeros(layout: StateLayout) -> bool:
    """Return True if a key may be 0.0 or -0.0, which become one."""
    return any("float" in kind or "double" in kind for _, kind in layout.keys)


def _rows_in(folder: Path) -> int:
    import pyarrow.parquet

    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


def _one_each(job: CompiledJob, saved: SavedSnapshot, stage: str, was: str) -> bool:
    """Return True if no two of the fed rows are combined: by frames of another slide, or by a key with both 0.0 and -0.0."""
    new, old, own = job.plan.stateful[stage], saved.plan.stateful[was], was in saved.manifest.imported
    if own or stage in job.pipeline.migrations or has_two_zeros(new):
        return False
    form = rules_of(new.kind).form
    return form is Form.KEYED or (form is Form.FRAMES and _frames(old) == _frames(new))


def _migrating(job: CompiledJob, saved: SavedSnapshot, stage: str, was: str) -> Migrating | None:
    """Return the migration that turns the saved state of a stage into its new one; None if a rule does."""
    migration, after = job.pipeline.migrations.get(stage), job.plan.stage(stage)
    if migration is None or after is None or not migrates(saved.plan.stage(was), after):
        return None
    return Migrating(job.spark, migration, SnapshotState.open(saved.folder, saved.manifest, was), job.plan.stateful[stage])


def _new_state(job: CompiledJob, saved: SavedSnapshot, stage: str, was: str) -> dict[str, DataFrame]:
    """Return role -> a stage's saved rows in the form of its new layout; ``was`` is its name in the snapshot."""
    state = SnapshotState.open(saved.folder, saved.manifest, was)
    old, new = state.saved.layout, job.plan.stateful[stage]
    rows = {}
    # A text that stays what it is need not be read, and what older releases have written in it is none the less kept.
    same_text = is_text(old) and (old.form, old.accumulators) == (new.form, new.accumulators)
    for role, own in state.fed(job.spark, same_text).items():
        windowed = role in WINDOW_ROLES
        span, new_span = role_column(was, role), role_column(stage, role)
        rows[role] = converted(own, old, new, span if windowed else None, new_span if windowed else None)
    if rules_of(new.kind).form is not Form.FRAMES or _frames(old) == _frames(new):
        return rows
    spans = (role_column(stage, "frames"), role_column(stage, "windows"))
    frames, windows, watermark = rows["frames"], rows.get("windows"), saved.last_watermark_ms
    return reframed(job.spark, frames, windows, _frames(old), _frames(new), watermark, spans)


def _frames(layout: StateLayout) -> Frames:
    return Frames(layout.parameters["size_ms"], layout.parameters["slide_ms"])
