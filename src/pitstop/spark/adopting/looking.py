"""The state of one operator of a checkpoint of Spark, read as rows. The checkpoint is only read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.adoption.forms import in_words
from pitstop.adoption.reading import OldEpoch, last_committed
from pitstop.doctor.examining import examine
from pitstop.doctor.facts import Checkpoint, Operator, OperatorKind, spark_name_of
from pitstop.doctor.files import Tree, opened
from pitstop.doctor.findings import Severity
from pitstop.errors import NotFoundError, SnapshotError, UsageError
from pitstop.model.task import StateRows
from pitstop.spark.adopting.old_checkpoint import OldCheckpoint, has_identifiers
from pitstop.spark.internals.settings import CHECKPOINT_FORMAT
from pitstop.spark.state.querying import TABLE, rows_of_sql
from pitstop.spark.state.saved import in_one_table, store_frames


@dataclass(frozen=True)
class OperatorState:
    """The state of an operator as of the last committed epoch."""

    tree: Tree
    operator: Operator
    epoch: OldEpoch

    @classmethod
    def open(cls, address: str, number: int | None) -> OperatorState:
        """Return the state of an operator of the checkpoint at an address; ``number`` None: of the only one.

        Raises an error with one sentence if there is no such operator, or its state cannot be read.
        """
        tree = opened(address)
        report = examine(tree)
        operator = _operator(report, number)
        _refuse_damage(report, operator)
        if report.logs.committed is None:
            raise SnapshotError(f"The query of checkpoint {address} has committed no epoch yet, so it has no state.")
        return cls(tree, operator, last_committed(tree, report))

    def query(self, spark: SparkSession, scratch: Path, sql: str, limit: int) -> StateRows:
        """Return the rows of Spark SQL on the table ``state``, at most ``limit``, by links in the folder ``scratch``.

        UsageError if the SQL is wrong.
        """
        number = self.operator.number
        name = self.operator.spark_name or spark_name_of(self.operator.kind)
        try:
            view = OldCheckpoint(self.tree, self.epoch).lay(scratch, {number: self.operator}, {number: name})
        except OSError as error:
            raise SnapshotError(
                f"The state of {self._what} cannot be read ({error}): if the query runs, look again, or stop it first."
            ) from None
        spark.conf.set(CHECKPOINT_FORMAT, "2" if has_identifiers(view, self.epoch.number) else "1")
        frames = store_frames(spark, view.path, self.epoch.number, number)
        if not frames:
            raise UsageError(f"{self._what.capitalize()} has no variables, only timers: there is no state of it to look at.")
        rows = frames[""].drop("partition_id") if frames.keys() == {""} else in_one_table(frames)
        return rows_of_sql(spark, rows, {TABLE}, self._what, sql, limit)

    @property
    def _what(self) -> str:
        return f"operator {self.operator.number}"


def _operator(report: Checkpoint, number: int | None) -> Operator:
    listed = ", ".join(f"{operator.number} ({in_words(operator)})" for operator in report.operators)
    if not report.operators:
        raise NotFoundError(f"Checkpoint {report.address} has no operator with state.")
    if number is None and len(report.operators) > 1:
        raise UsageError(f"Checkpoint {report.address} has several operators with state: choose one by --operator: {listed}.")
    operator = next((each for each in report.operators if number in (None, each.number)), None)
    if operator is None:
        raise NotFoundError(f"Checkpoint {report.address} has no operator {number} with state. It has: {listed}.")
    return operator


def _refuse_damage(report: Checkpoint, operator: Operator) -> None:
    """Raise if the state of the operator is damaged. Damage to other parts of a checkpoint does not matter."""
    damage = next(
        (each for each in report.findings if each.severity is Severity.DAMAGE and each.operator == operator.number), None
    )
    if damage is not None:
        raise SnapshotError(
            f"The state of operator {operator.number} is damaged: {damage.sentence} pitstop doctor says what to do."
        )
    if operator.kind is OperatorKind.UNKNOWN or not operator.families:
        raise SnapshotError(
            f"Operator {operator.number} has no schema that can be read, so its state cannot be read: restore the file from a "
            "copy (pitstop doctor names it)."
        )
