"""The plan for moving a snapshot's state to a plan of another structure, decided before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pitstop.errors import IncompatibleError
from pitstop.model.layout import StateLayout
from pitstop.model.report import Report, Verdict
from pitstop.model.snapshot import SnapshotManifest
from pitstop.plan.diff import with_facts
from pitstop.plan.kinds import rules_of
from pitstop.plan.model import Plan
from pitstop.plan.variables import added_variables, dropped_variables
from pitstop.spark.internals.settings import ROCKSDB


@dataclass(frozen=True)
class Rebuild:
    """The way in which a new checkpoint gets the state of a snapshot."""

    moved: Mapping[int, int]
    """New operator id -> saved operator id, for state that goes on as it is."""
    fed: tuple[str, ...]
    """Stages whose saved state is read, converted, and fed as rows; sorted."""
    by_files: bool
    """True if moved state keeps its number of partitions and all of it goes on: its files are linked. Else its rows are written
    anew."""
    added: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """New operator id -> variables of a user's processor that begin empty beside its moved state."""
    dropped: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """New operator id -> variables in its saved state that do not go on."""


def plan_rebuild(
    report: Report,
    manifest: SnapshotManifest,
    plan: Plan,
    provider: str,
    partitions: int,
    feed_all: bool = False,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Rebuild:
    """Choose, for each stage that keeps its state, to move the state as it is or to feed it as rows.

    ``provider`` is the class of the state store in use. ``feed_all`` feeds all state, including what could be moved. ``facts``
    were read from the saved state (saved_facts.py). IncompatibleError if state would have to be fed to a stage that takes none.
    """
    restored, converted = set(report.of(Verdict.RESTORED)), set(report.of(Verdict.CONVERTED))
    same_partitions = partitions == manifest.partitions
    movable = manifest.provider == provider and (provider == ROCKSDB or same_partitions)
    moved = restored if movable and not feed_all else set()
    fed = ((restored | converted) - moved) & plan.stateful.keys()
    _check_feedable(plan, fed)
    moves, before = _moves(manifest, plan, moved, report.renamed), with_facts(Plan.from_dict(manifest.plan), facts or {}).stateful

    def of_variables(names: Callable[[StateLayout, StateLayout], tuple[str, ...]]) -> dict[int, frozenset[str]]:
        stages = {number: plan.operators[number].stage for number in moves}
        pairs = ((number, before[report.renamed.get(stage, stage)], plan.stateful[stage]) for number, stage in stages.items())
        return {number: frozenset(variables) for number, old, new in pairs if (variables := names(old, new))}

    added, dropped = of_variables(added_variables), of_variables(dropped_variables)
    return Rebuild(moves, tuple(sorted(fed)), same_partitions and not dropped, added, dropped)


def _moves(manifest: SnapshotManifest, plan: Plan, stages: set[str], renamed: Mapping[str, str]) -> dict[int, int]:
    """Return new operator id -> saved operator id for these stages.

    All copies of an operator hold the same: the first is taken.
    """
    saved: dict[tuple[str, str], int] = {}
    for number, slot in enumerate(Plan.from_dict(manifest.plan).operators):
        saved.setdefault((slot.stage, slot.role), number)
    moves = {}
    for number, slot in enumerate(plan.operators):
        was = (renamed.get(slot.stage, slot.stage), slot.role)
        if slot.stage in stages and was in saved:
            moves[number] = saved[was]
    return moves


def _check_feedable(plan: Plan, stages: set[str]) -> None:
    """Raise IncompatibleError if state that must be fed as rows is of a kind whose operators take none."""
    for stage in sorted(stages):
        if not rules_of(plan.stateful[stage].kind).feedable:
            # In memory there is no such state (plan.rules.check_state_store).
            raise IncompatibleError(
                f"The state of stage '{stage}' was kept in RocksDB, and in another plan goes on only there: leave out the option "
                "state_store, leave all stateful stages and partitions as they are, or give it another name to start it empty."
            )
