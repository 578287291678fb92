"""The rules for one stage's saved state under a new layout, for all kinds. Each kind adds its own."""

from __future__ import annotations

import dataclasses

from pitstop.errors import PipelineError
from pitstop.model.config import StateStore
from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.accumulators import readable, takes_other
from pitstop.plan.kinds import refused, rules_of
from pitstop.plan.model import Plan, PlanStage

_WINDOW = ("size_ms", "slide_ms")
"""The parameters that change the rows of saved state. A time to live or a timeout does not."""


def judge_stage(before: PlanStage | None, after: PlanStage, watermark_ms: int | None) -> StageVerdict:
    """Return the verdict on the saved state of stage ``before`` (None: there was none) in the stage that is to take it over."""
    name, old, new = after.name, before.layout if before is not None else None, after.layout
    assert new is not None, f"stage '{name}' keeps no state"
    if before is None or old is None:
        return StageVerdict(name, Verdict.NEW, "starts empty", "C01")
    if after.migration is not None and migrates(before, after):
        return _migrated(name, old, new, after.migration)
    verdict = _judged(name, old, new, watermark_ms)
    if after.migration is not None and _another_form(old, new):
        used = f"'{after.migration}' was there when its state was saved and is not used again: a new migration needs a new name"
        return dataclasses.replace(verdict, detail=f"{verdict.detail}; {used}")
    return verdict


def _judged(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    before, after = rules_of(old.kind), rules_of(new.kind)
    if old.kind is not new.kind:
        rule = "C19" if before.windowed and after.windowed else "C20"
        return refused(name, f"was {before.words} and is now {after.words}", rule)
    if old.keys != new.keys:
        return refused(name, f"its key was ({_columns(old.keys)}) and is now ({_columns(new.keys)})", "C25")
    return after.compare(name, old, new, watermark_ms)


def check_state_store(plan: Plan, store: StateStore) -> None:
    """Raise PipelineError unless the state of every stage could be carried from that store to a changed version."""
    exception = first_only_on_disk(plan) if store is StateStore.MEMORY else None
    if exception is not None:
        name, what = exception
        raise PipelineError(
            f"Stage '{name}' has {what}, whose state a changed version could not take over from memory: "
            f"leave out state_store={store}."
        )


def first_only_on_disk(plan: Plan) -> tuple[str, str] | None:
    """Return a stage whose state could not be carried from memory to a changed version, and what it has; None if all could."""
    for name, layout in plan.stateful.items():
        rules = rules_of(layout.kind)
        if not rules.feedable or not readable(layout):
            return name, "an aggregate that Spark serializes" if rules.feedable else rules.words
    return None


def migrates(before: PlanStage | None, after: PlanStage) -> bool:
    """Return True if the migration of a stage is used: there is state, and its form is another.

    ``before`` is the stage that had it. The result of a migration must not go through it once more. If that version already had a
    migration of the same name, it is used only for what no rule can convert. Then it has been written anew, or its result does
    not fit.
    """
    if before is None or before.layout is None or after.layout is None or not _another_form(before.layout, after.layout):
        return False
    if before.migration != after.migration:
        return True
    return _judged(after.name, before.layout, after.layout, None).verdict is Verdict.REFUSED


def _another_form(old: StateLayout, new: StateLayout) -> bool:
    forms = [
        (layout.kind, layout.keys, layout.accumulators, layout.aggregates, *map(layout.parameters.get, _WINDOW))
        for layout in (old, new)
    ]
    results = (result for result, _ in new.aggregates)
    return forms[0] != forms[1] or any(takes_other(result, old, new) for result in results)


def _migrated(name: str, old: StateLayout, new: StateLayout, migration: str) -> StageVerdict:
    for layout, whose in ((old, "old"), (new, "new")):
        if not readable(layout):
            what = f"its {whose} state holds an aggregate that cannot be read, so '{migration}' cannot migrate it"
            return refused(name, what, "C25")
    rules = rules_of(new.kind)
    if not rules.feedable:
        return refused(name, f"is {rules.words}, whose state '{migration}' cannot make", "C25")
    return StageVerdict(name, Verdict.CONVERTED, f"its state is migrated by '{migration}'")


def _columns(pairs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in pairs)
