"""State that goes on as it is under the id of another operator: its files, or, for other partitions, its raw rows.

Files hold nothing of the operator they belong to, so they are linked, however much state there is. They are numbered by the
epoch that wrote them, so all that the new checkpoint has of its own is raised to that number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.files import LOCAL_FILES
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.session import ROCKSDB
from pitstop.spark.internals import raw_state, rewrite_state

_NOTES = ("_metadata", "_stateSchema")
"""Folders that tell what an operator is; all other files are its state."""


@dataclass(frozen=True)
class Moves:
    """Which of the state in ``saved`` as of ``epoch`` goes where in ``building``, which has done epoch 0."""

    spark: SparkSession
    saved: Path
    epoch: int
    building: Path
    operators: dict[int, int]
    """New operator id -> old operator id."""
    provider: str

    def by_files(self) -> int:
        """Both have as many partitions; returns the epoch as of which all state then is."""
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
        """Into so many partitions; of RocksDB only. Returns the epoch as of which all state then is."""
        checkpoint = Checkpoint(self.building)
        checkpoint.write_offsets(1, checkpoint.offsets(0))

        def moved(operator: int, store: str, own: DataFrame) -> DataFrame:
            if operator not in self.operators:
                return own
            state = raw_state(self.spark, self.saved, self.epoch, self.operators[operator], store)
            # The columns of a renamed stage's key bear its old name.
            state = state.select(*[F.col(field.name).cast(field.dataType) for field in own.schema.fields])
            return state.repartition(partitions, *_partition_key(state))

        rewrite_state(self.spark, self.building, 0, 1, moved)
        return 1

    def _raise_own(self) -> None:
        """Bring the new checkpoint's state from epoch 0 to the saved epoch."""
        if self.provider == ROCKSDB:
            checkpoint = Checkpoint(self.building)
            checkpoint.write_offsets(self.epoch, checkpoint.offsets(0))
            rewrite_state(self.spark, self.building, 0, self.epoch, lambda _operator, _store, own: own)
            return
        # What epoch 0 has put into nothing is all there is.
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
    """The columns by which Spark distributes an operator's state."""
    key = state.schema["partition_key"].dataType
    assert isinstance(key, StructType)
    return [f"partition_key.{quoted(name)}" for name in key.fieldNames()]
