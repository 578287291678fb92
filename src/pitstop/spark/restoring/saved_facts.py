"""Facts of saved state that the plan of its job does not tell, read from the state itself before the plans are compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.diff import unknown
from pitstop.plan.kinds import Fact
from pitstop.plan.model import Plan
from pitstop.plan.variables import Variable
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import copy_checkpoint
from pitstop.spark.base.naming import quoted, role_column
from pitstop.spark.internals.operators import has_variables, typed_variables, variable_columns
from pitstop.spark.state.in_snapshot import SnapshotState
from pitstop.spark.state.saved import SavedStage, operator_frame, operator_names, operator_properties

FRAMES = "frames"
_NEVER = -(2**63)
_HELD = "value"
"""The field of a variable with a time to live that holds its content; its end stands beside it."""


def read_facts(
    spark: SparkSession, folder: Path, manifest: SnapshotManifest, plan: Plan, renamed: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return saved stage -> the parameters of its layout that the comparison with ``plan`` needs.

    They are those that the snapshot's plan does not tell.
    """
    facts = unknown(manifest.plan, plan.to_dict(), dict(renamed))
    readers = {Fact.VARIABLES: _variables, Fact.LAST_FRAME: _last_frame}
    states = {stage: SnapshotState.open(folder, manifest, stage).saved for stage in facts if stage not in manifest.imported}
    return {stage: {fact.value: readers[fact](spark, states[stage])} for stage, fact in facts.items() if stage in states}


def facts_at(
    spark: SparkSession, against: Path | None, plan: Plan, renamed: Mapping[str, str], scratch: Path
) -> dict[str, dict[str, Any]]:
    """Return the facts of :func:`read_facts` for the snapshot, or the checkpoint in use, in folder ``against``.

    Nothing if ``against`` is None. ``scratch`` is a folder that does not exist.
    """
    if against is None:
        return {}
    if (against / manifests.MANIFEST).exists():
        return read_facts(spark, against, manifests.read(against), plan, renamed)
    checkpoint = Checkpoint(against)
    if not unknown(checkpoint.facts()["plan"], plan.to_dict(), dict(renamed)):
        return {}
    return read_facts(spark, scratch, copy_checkpoint(checkpoint, scratch, against.name), plan, renamed)


def _variables(spark: SparkSession, saved: SavedStage) -> dict[str, list[dict[str, Any]]]:
    """Return role -> the variables of its processor, for roles that have one."""
    names, variables = operator_names(spark, saved.checkpoint), {}
    for role, number in saved.operators.items():
        if has_variables(names[number]):
            declared = typed_variables(operator_properties(spark, saved.checkpoint, number))
            variables[role] = [_variable(spark, saved, number, *each).to_dict() for each in declared]
    return variables


def _variable(spark: SparkSession, saved: SavedStage, operator: int, name: str, kind: str, expires: bool) -> Variable:
    shown = operator_frame(spark, saved.checkpoint, saved.epoch, operator, stateVarName=name).schema
    key, value = variable_columns(kind)
    held = _within(shown[value].dataType) if expires else shown[value].dataType
    return Variable(name, kind, held.simpleString(), None if key is None else shown[key].dataType.simpleString(), expires)


def _within(kind: DataType) -> DataType:
    return kind[_HELD].dataType if isinstance(kind, StructType) else kind


def _last_frame(spark: SparkSession, saved: SavedStage) -> int:
    """Return the end of the last window frame that has rows; a time long ago if none has any."""
    ends = F.unix_millis(F.col(f"{quoted(role_column(saved.stage, FRAMES))}.end"))
    last = saved.rows(spark, FRAMES).agg(F.max(ends)).first()
    return int(last[0]) if last is not None and last[0] is not None else _NEVER
