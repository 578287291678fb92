"""State moved as it is to another operator's id: by linking its files, or, into another number of partitions, by its raw rows.

Files hold nothing of the operator they belong to, so they are linked, however much state there is. They are numbered by the epoch
that wrote them, so all state that belongs to the new checkpoint is raised to that number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.files import LOCAL_FILES
from pitstop.spark.base.naming import quoted
from pitstop.spark.internals.raw_state import FAMILY, raw_state, rewrite_state, store_forms
from pitstop.spark.internals.settings import ROCKSDB

_NOTES = ("_metadata", "_stateSchema")
"""Folders in which Spark describes an operator; all other files of it are its state."""


@dataclass(frozen=True)
class Moves:
    """State to be moved from the checkpoint ``saved``, as of ``epoch``, into the new one ``building``, which has done epoch 0."""

    spark: SparkSession
    saved: Path
    epoch: int
    building: Path
    operators: Mapping[int, int]
    """New operator id -> saved operator id."""
    provider: str
    """Class of the state store that wrote both."""
    narrowed: frozenset[int] = frozenset()
    """New operators that keep only some column families of their saved state."""

    def by_files(self) -> int:
        """Link the files: both checkpoints have the same number of partitions.

        Returns the epoch as of which all state of the new checkpoint then is.
        """
        if self.epoch > 0 and self._has_own():
            self._raise_own()
        for operator, old in self.operators.items():
            for path in list(_state_files(self._folder(self.building, operator))):
                path.unlink()
            source = self._folder(self.saved, old)
            for path in _state_files(source):
                LOCAL_FILES.copy(path, self._folder(self.building, operator) / path.relative_to(source))
        return self.epoch

    def by_rows(self, partitions: int) -> int:
        """Write the raw rows anew, spread over this many partitions; only RocksDB can.

        Returns the epoch as of which all state of the new checkpoint then is.
        """
        checkpoint = Checkpoint(self.building)
        checkpoint.write_offsets(1, checkpoint.offsets(0))

        def moved(operator: int, store: str, own: DataFrame) -> DataFrame:
            if operator not in self.operators:
                return own
            state = raw_state(self.spark, self.saved, self.epoch, self.operators[operator], store)
            if operator in self.narrowed:
                files = Checkpoint(self.building).schema_files(operator).get(store, [])
                state = state.where(F.col(FAMILY).isin(*store_forms(self.spark, self.building, operator, store, files)))
            # The columns of a renamed stage's key bear its old name.
            state = state.select(*[F.col(field.name).cast(field.dataType) for field in own.schema.fields])
            return state.repartition(partitions, *_partition_key(state))

        rewrite_state(self.spark, self.building, 0, 1, moved)
        return 1

    def _raise_own(self) -> None:
        """Raise the state that epoch 0 has left in the new checkpoint to the saved epoch: linked files bear its number."""
        if self.provider == ROCKSDB:
            checkpoint = Checkpoint(self.building)
            checkpoint.write_offsets(self.epoch, checkpoint.offsets(0))
            rewrite_state(self.spark, self.building, 0, self.epoch, lambda _operator, _store, own: own)
            return
        # Epoch 0 started empty, so its one delta is a whole snapshot: rename it to that of the saved epoch.
        for path in list(self.building.glob("state/*/*/**/1.delta")):
            for file, name in ((path, "{}.snapshot"), (path.with_name(".1.delta.crc"), ".{}.snapshot.crc")):
                if file.exists():
                    file.rename(file.with_name(name.format(self.epoch + 1)))

    def _has_own(self) -> bool:
        return any(int(folder.name) not in self.operators for folder in (self.building / "state").iterdir())

    @staticmethod
    def _folder(checkpoint: Path, operator: int) -> Path:
        return checkpoint / "state" / str(operator)


def _state_files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not set(_NOTES) & set(path.relative_to(folder).parts):
            yield path


def _partition_key(state: DataFrame) -> list[str]:
    """Return the columns by which Spark distributes an operator's state."""
    key = state.schema["partition_key"].dataType
    assert isinstance(key, StructType)
    return [f"partition_key.{quoted(name)}" for name in key.fieldNames()]
