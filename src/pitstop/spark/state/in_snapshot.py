"""The state of one stage in a snapshot: read for a restore, and queried, exported and imported by people."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.errors import NotFoundError, UsageError
from pitstop.model.data_folder import DataFolder
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.model.task import StateRows
from pitstop.plan.model import Plan
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.imported import imported_folder, with_imported
from pitstop.spark.base.failures import reason
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.type_texts import type_of
from pitstop.spark.internals.jvm import JavaError
from pitstop.spark.state.querying import TABLE, rows_of_sql
from pitstop.spark.state.rows import columns_of, rows_of, taken
from pitstop.spark.state.saved import SavedStage


@dataclasses.dataclass(frozen=True)
class SnapshotState:
    """One stage's state in the snapshot in ``folder``."""

    folder: Path
    manifest: SnapshotManifest
    saved: SavedStage

    @classmethod
    def open(cls, folder: Path, manifest: SnapshotManifest, stage: str) -> SnapshotState:
        """Open the state of a stage. NotFoundError if the snapshot has no such stage with state."""
        plan = Plan.from_dict(manifest.plan)
        if stage not in plan.stateful:
            stages = ", ".join(plan.stateful) or "none"
            raise NotFoundError(f"Snapshot '{manifest.name}' has no stage '{stage}' with state. It has: {stages}.")
        operators: dict[str, int] = {}
        for number, slot in enumerate(plan.operators):
            if slot.stage == stage:
                operators.setdefault(slot.role, number)
        saved = SavedStage(folder / manifests.FILES, manifest.epoch, stage, plan.stateful[stage], operators)
        return cls(folder, manifest, saved)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the stage's rows as people see them (rows.py)."""
        if self.saved.stage in self.manifest.imported:
            return spark.read.parquet(str(imported_folder(self.folder, self.saved.stage)))
        return rows_of(spark, self.saved)

    def fed(self, spark: SparkSession, as_text: bool = False) -> dict[str, DataFrame]:
        """Return role -> the stage's rows in the form in which a restore feeds them.

        ``as_text`` is as in :meth:`SavedStage.rows`.
        """
        if self.saved.stage in self.manifest.imported:
            return taken(self.rows(spark), self.saved.layout, self.saved.stage, "The imported state")
        return {role: self.saved.rows(spark, role, as_text) for role in self.saved.operators}


def query(spark: SparkSession, state: SnapshotState, sql: str, limit: int) -> StateRows:
    """Return the rows of Spark SQL, at most ``limit``. UsageError if the SQL is wrong.

    The table is ``state``; the stage's own name works too.
    """
    stage = state.saved.stage
    return rows_of_sql(spark, state.rows(spark), {TABLE, stage}, f"stage '{stage}'", sql, limit)


def export(spark: SparkSession, state: SnapshotState, out: Path) -> int:
    """Write a stage's rows as one parquet file; return their number."""
    import pyarrow.parquet

    table = state.rows(spark).toArrow()
    pyarrow.parquet.write_table(table, out)
    return int(table.num_rows)


def put(spark: SparkSession, state: SnapshotState, file: Path, data: DataFolder, name: str) -> SnapshotRecord:
    """Make snapshot ``name`` of this one with a stage's rows from a parquet file. UsageError if they do not fit the stage."""
    stage, layout = state.saved.stage, state.saved.layout
    try:
        imported = spark.read.parquet(str(file))
    except (PySparkException, JavaError) as error:
        raise UsageError(f"The file for stage '{stage}' cannot be read as parquet: {reason(error)}") from error
    try:
        taken(imported, layout, stage, "The file")
    except (PySparkException, JavaError) as error:
        raise _not_imported(stage, error) from error
    columns = [(column, kind) for column, kind in columns_of(layout).items() if column in imported.columns]
    rows = imported.select(*[F.col(quoted(column)).cast(type_of(kind)).alias(column) for column, kind in columns])

    def written(folder: Path) -> int:
        try:
            return _written(rows, folder)
        except (PySparkException, JavaError) as error:
            raise _not_imported(stage, error) from error

    return with_imported(state.folder, state.manifest, data, name, stage, written)


def _not_imported(stage: str, error: Exception) -> UsageError:
    return UsageError(f"The file for stage '{stage}' cannot be imported: {reason(error)}")


def _written(rows: DataFrame, folder: Path) -> int:
    rows.write.parquet(str(folder))
    return int(rows.count())
