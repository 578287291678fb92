"""Checks that a new checkpoint's operators are those that the plan expects, before saved state is put under their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.errors import EngineError, IncompatibleError
from pitstop.plan.model import Plan
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.naming import WINDOW_ROLES, parse_role_column
from pitstop.spark.internals.raw_state import store_forms
from pitstop.spark.state.saved import field_names, operator_frame, operator_names, operator_stores


def check_operators(spark: SparkSession, checkpoint: Path, epoch: int, plan: Plan) -> None:
    """Raise EngineError unless each operator of the checkpoint keeps the state of the stage that the plan has at its number.

    Only the state of windows names its stage, by its column. Of other operators :func:`check_moves` compares the kind.
    """
    names = operator_names(spark, checkpoint)
    if len(names) != len(plan.operators):
        raise EngineError(f"The query has {len(names)} stateful operators, its plan {len(plan.operators)}: please report this.")
    for operator, slot in enumerate(plan.operators):
        if slot.role not in WINDOW_ROLES:
            continue
        schema = operator_frame(spark, checkpoint, epoch, operator).schema
        columns = [*field_names(schema["key"].dataType), *field_names(schema["value"].dataType)]
        found = next((m for m in map(parse_role_column, columns) if m), None)
        if found != (slot.stage, slot.role):
            raise EngineError(
                f"Operator {operator} of the query keeps the state of {found}, not of stage '{slot.stage}': "
                "Spark numbers operators differently than expected; please report this."
            )


def check_moves(spark: SparkSession, saved: Path, new: Path, plan: Plan, moves: Mapping[int, int]) -> None:
    """Raise unless every new operator that takes over raw state keeps what the old one did.

    EngineError if it is of another kind, IncompatibleError if its keys or values are of other types.
    """
    before, after = operator_stores(spark, saved), operator_stores(spark, new)
    for operator, old in moves.items():
        (kind, stores), (new_kind, new_stores) = before[old], after[operator]
        if kind != new_kind:
            raise EngineError(
                f"The state of stage '{plan.operators[operator].stage}' was kept by {kind} and is now kept by "
                f"{new_kind}: it cannot be taken over; give the stage another name."
            )
        was, now = _forms(spark, saved, old, stores), _forms(spark, new, operator, new_stores)
        if was != now:
            odd = next(part for part in sorted(was | now) if was.get(part) != now.get(part))
            raise IncompatibleError(
                f"The state of stage '{plan.operators[operator].stage}' kept {was.get(odd, 'nothing')} in '{odd}' and would "
                f"now keep {now.get(odd, 'nothing')}: keep its columns and variables, or give the stage another name."
            )


def _forms(spark: SparkSession, checkpoint: Path, operator: int, stores: list[str]) -> dict[str, str]:
    """``<store>/<column family>`` of an operator -> the types of its keys and values, without names."""
    found = {}
    for store in stores:
        files = Checkpoint(checkpoint).schema_files(operator).get(store, [])
        for family, form in store_forms(spark, checkpoint, operator, store, files).items():
            found["/".join(part for part in (store, family) if part != "default") or "default"] = form
    return found
