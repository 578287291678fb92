"""Migrations: the user's functions from a stage's old state to its new one. Run at a restore, and tried before an update."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pitstop.errors import IncompatibleError
from pitstop.model.layout import StateLayout
from pitstop.pipeline.migration import Migration
from pitstop.pipeline.stages import Pipeline
from pitstop.plan.diff import compare
from pitstop.plan.model import Plan
from pitstop.plan.rules import migrates
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import copy_checkpoint
from pitstop.spark.restoring.failed_migrations import migration_errors, run_through
from pitstop.spark.state.in_snapshot import SnapshotState
from pitstop.spark.state.rows import taken


@dataclass(frozen=True)
class Migrating:
    """A migration on its way: from the state of its stage in a snapshot to the layout ``new``."""

    spark: SparkSession
    migration: Migration
    state: SnapshotState
    new: StateLayout

    @property
    def what(self) -> str:
        """The migration in messages."""
        return f"Migration '{self.migration.name}' of stage '{self.migration.stage}'"

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what the migration raises, now or as Spark computes its rows, into IncompatibleError with key and cause."""
        layout = self.state.saved.layout
        keys = [name for name, _ in layout.keys] or ["key"]  # of state that is Spark's alone

        def attempt(old: DataFrame) -> None:
            for rows in self._of(old).values():
                run_through(rows)

        with migration_errors(self.what, lambda: self.state.rows(self.spark), keys, attempt):
            yield

    def rows(self) -> dict[str, DataFrame]:
        """Return role -> rows of the new state, as a restore feeds them. IncompatibleError if they have another form."""
        with self.errors():
            return self._of(self.state.rows(self.spark))

    def count(self) -> int:
        """Compute all rows of the new state, and return their number."""
        with self.errors():
            return sum(map(run_through, self._of(self.state.rows(self.spark)).values()))

    def _of(self, old: DataFrame) -> dict[str, DataFrame]:
        rows = self.migration(old)
        if not isinstance(rows, DataFrame):
            raise IncompatibleError(f"{self.what} returned {type(rows).__name__}, not a DataFrame.")
        return taken(rows, self.new, self.migration.stage, self.what)


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
            count = Migrating(spark, migration, state, after.layout).count()
            sentences[stage] = f"{state.rows(spark).count():,} rows of its state become {count:,}"
    return sentences
