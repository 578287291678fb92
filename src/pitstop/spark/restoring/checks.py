"""Checks that a new checkpoint's operators are those that the plan expects, before saved state is put under their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.errors import EngineError, IncompatibleError
from pitstop.plan.model import Plan
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.naming import WINDOW_ROLES, parse_role_column
from pitstop.spark.internals.raw_state import store_forms
from pitstop.spark.restoring.feeding import Fed
from pitstop.spark.restoring.rebuild import Rebuild
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
        owner = next((m for m in map(parse_role_column, columns) if m), None)
        if owner != (slot.stage, slot.role):
            raise EngineError(
                f"Operator {operator} of the query keeps the state of {owner}, not of stage '{slot.stage}': "
                "Spark numbers operators differently than expected; please report this."
            )


def check_fed(plan: Plan, fed: Mapping[tuple[str, str], Fed], counts: Sequence[int]) -> None:
    """Raise EngineError unless each operator keeps the rows that went in as its state.

    ``fed``: (stage, role) -> rows; ``counts`` are the rows of the checkpoint's operators, by operator.
    """
    for slot, rows in zip(plan.operators, counts, strict=True):
        part = fed.get((slot.stage, slot.role))
        if part is None:
            continue
        if rows != part.rows if part.exact else rows > part.rows or (rows == 0) != (part.rows == 0):
            raise EngineError(
                f"The saved state of stage '{slot.stage}' has {part.rows:,} rows, and {rows:,} of them have come into the new "
                "version's: nothing was changed; please report this."
            )


def check_moves(spark: SparkSession, saved: Path, new: Path, plan: Plan, steps: Rebuild) -> None:
    """Raise unless every new operator that takes over raw state keeps what the old one did.

    Variables may come and go. EngineError if the operator is of another kind, IncompatibleError if its keys or values are of
    other types.
    """
    before, after = operator_stores(spark, saved), operator_stores(spark, new)
    for operator, old in steps.moved.items():
        (kind, stores), (new_kind, new_stores) = before[old], after[operator]
        if kind != new_kind:
            raise EngineError(
                f"The state of stage '{plan.operators[operator].stage}' was kept by {kind} and is now kept by "
                f"{new_kind}: it cannot be taken over; give the stage another name."
            )
        was, now = _forms(spark, saved, old, stores), _forms(spark, new, operator, new_stores)
        ours = steps.added.get(operator, frozenset()) | steps.dropped.get(operator, frozenset())
        was, now = ({part: form for part, form in forms.items() if not _is_of(part, ours)} for forms in (was, now))
        if was != now:
            odd = next(part for part in sorted(was | now) if was.get(part) != now.get(part))
            raise IncompatibleError(
                f"The state of stage '{plan.operators[operator].stage}' kept {was.get(odd, 'nothing')} in '{odd}' and would "
                f"now keep {now.get(odd, 'nothing')}: keep its columns and variables, or give the stage another name."
            )


def _is_of(part: str, variables: frozenset[str]) -> bool:
    """True if a column family holds one of these variables, or is one that Spark keeps beside it (``$ttl_n``)."""
    family = part.rpartition("/")[2]
    return any(family == name or (family.startswith("$") and family.endswith(f"_{name}")) for name in variables)


def _forms(spark: SparkSession, checkpoint: Path, operator: int, stores: list[str]) -> dict[str, str]:
    """Return ``<store>/<column family>`` of an operator -> the types of its keys and values, without names."""
    forms = {}
    for store in stores:
        files = Checkpoint(checkpoint).schema_files(operator).get(store, [])
        for family, form in store_forms(spark, checkpoint, operator, store, files).items():
            forms["/".join(part for part in (store, family) if part != "default") or "default"] = form
    return forms
