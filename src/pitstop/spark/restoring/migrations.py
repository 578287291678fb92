"""Migrations: the user's functions from a stage's old state to its new one. Run at a restore, and tried before an update."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import IncompatibleError, PitstopError
from pitstop.model.layout import StateLayout
from pitstop.pipeline.migration import Migration
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.diff import compare
from pitstop.plan.model import Plan
from pitstop.plan.rules import migrates
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import copy_checkpoint
from pitstop.spark.base.failures import first_line
from pitstop.spark.state.in_snapshot import SnapshotState
from pitstop.spark.state.rows import taken


def migrated(spark: SparkSession, migration: Migration, state: SnapshotState, new: StateLayout) -> dict[str, DataFrame]:
    """Return role -> rows of the new state, as a restore feeds them.

    IncompatibleError if the function fails or gives another form.
    """
    stage, what = migration.stage, f"Migration '{migration.name}' of stage '{migration.stage}'"
    try:
        rows = migration(state.rows(spark))
        if not isinstance(rows, DataFrame):
            raise IncompatibleError(f"{what} returned {type(rows).__name__}, not a DataFrame.")
        return taken(rows, new, stage, what)
    except IncompatibleError:
        raise
    except PitstopError as error:
        raise IncompatibleError(error.message) from error
    except Exception as error:
        raise IncompatibleError(f"{what} failed: {type(error).__name__}: {first_line(error)}") from error


def try_migrations(
    spark: SparkSession, pipeline: Pipeline, plan: Plan, against: Path | None, renamed: dict[str, str], scratch: Path
) -> dict[str, str]:
    """Run the pipeline's migrations on the real state: of the snapshot, or of the checkpoint in use, in folder ``against``.

    Returns stage -> what they did, in words, of the migrations that a start from there would use; nothing if ``against`` is None.
    IncompatibleError names the one that fails. ``scratch`` is a folder that does not exist.
    """
    if not pipeline.migrations or against is None:
        return {}
    folder, manifest = against, None
    if not (against / manifests.MANIFEST).exists():
        folder, manifest = scratch, copy_checkpoint(Checkpoint(against), scratch, against.name)
    manifest = manifest or manifests.read(folder)
    if compare(manifest.plan, plan.to_dict(), manifest.partitions, renamed).refused:
        return {}  # told by whoever asked for the comparison
    sentences = {}
    before = Plan.from_dict(manifest.plan)
    for stage, migration in pipeline.migrations.items():
        was, after = renamed.get(stage, stage), plan.stage(stage)
        if after is not None and after.layout is not None and migrates(before.stage(was), after):
            state = SnapshotState.open(folder, manifest, was)
            count = sum(rows.count() for rows in migrated(spark, migration, state, after.layout).values())
            sentences[stage] = f"{state.rows(spark).count():,} rows of its state become {count:,}"
    return sentences
