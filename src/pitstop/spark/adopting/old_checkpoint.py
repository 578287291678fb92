"""A checkpoint of any release of Spark, in a form in which this one reads its state: links and notes in a folder of our own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.adoption.reading import OldEpoch
from pitstop.doctor.facts import Operator, OperatorKind
from pitstop.doctor.files import Tree
from pitstop.kit.lines import lines_of
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.spark.internals.settings import CHECKPOINT_FORMAT

_NOTES, _SCHEMAS = "_metadata", "_stateSchema"


@dataclass(frozen=True)
class OldCheckpoint:
    """The files of a checkpoint as of its last committed epoch. Nothing of them is changed, nor linked to by a name of theirs."""

    tree: Tree
    epoch: OldEpoch

    def lay(self, folder: Path, operators: Mapping[int, Operator], names: Mapping[int, str]) -> Checkpoint:
        """Make ``folder`` a view in which Spark 4.3 finds the state of these operators, by number.

        ``names``: Spark's own names of operators, which Spark 3.5 does not note.
        """
        view = Checkpoint(folder)
        view.write_offsets(self.epoch.number, OffsetLog(self.epoch.metadata, tuple(each.offset for each in self.epoch.sources)))
        self._take(folder, f"commits/{self.epoch.number}")
        self._take(folder, "metadata")
        for number, operator in operators.items():
            self._take_below(folder, f"state/{number}")
            if operator.spark_name is None:
                _write_note(folder, operator, names[number])
        view.relocate(folder)
        return view

    def copy_source_log(self, number: int, folder: Path) -> None:
        """Copy what Spark notes of a source."""
        below = self.epoch.sources[number].folder
        for name in self.tree.names(below):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(self.tree.read(f"{below}/{name}"))

    def _take_below(self, folder: Path, below: str) -> None:
        for path, names in self.tree.folders.items():
            if path == below or path.startswith(f"{below}/"):
                for name in names:
                    self._take(folder, f"{path}/{name}")

    def _take(self, folder: Path, name: str) -> None:
        """Put a file into the view: notes as copies, which may be changed there, state of this machine by symbolic links."""
        target = folder / name
        if not name.startswith("state/") and self.tree.facts(name) is None:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        local = self.tree.local_path(name)
        if local is not None and name.startswith("state/") and _NOTES not in target.parts and _SCHEMAS not in target.parts:
            target.symlink_to(local)
        else:
            target.write_bytes(self.tree.read(name))


def has_identifiers(view: Checkpoint, epoch: int) -> bool:
    """Return True if the state of a view is named by ids, in Spark's format 2 of checkpoints."""
    with view.files.open(view.path / "commits" / str(epoch)) as file:
        lines = lines_of(file.read().decode())
    return len(lines) > 1 and bool(json.loads(lines[1]).get("stateUniqueIds"))


@contextmanager
def reading(spark: SparkSession, view: Checkpoint, epoch: int) -> Iterator[None]:
    """Let state that is named by ids be read meanwhile: that is a setting, which may not be in force where state is written."""
    before = str(spark.conf.get(CHECKPOINT_FORMAT, "1"))
    if has_identifiers(view, epoch):
        spark.conf.set(CHECKPOINT_FORMAT, "2")
    try:
        yield
    finally:
        spark.conf.set(CHECKPOINT_FORMAT, before)


def _write_note(folder: Path, operator: Operator, name: str) -> None:
    """Write the note about an operator that Spark 3.5 does not write, and without which Spark 4.3 misreads sessions."""
    prefix = len(operator.families[0].keys) - 1 if operator.kind is OperatorKind.SESSION else 0
    stores = [
        {"storeName": store, "numColsPrefixKey": prefix, "numPartitions": operator.expected_partitions}
        for store in operator.stores
    ]
    note = {"operatorInfo": {"operatorId": operator.number, "operatorName": name}, "stateStoreInfo": stores}
    path = folder / "state" / str(operator.number) / _NOTES / "metadata"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"v1\n{json.dumps(note, separators=(',', ':'))}")
