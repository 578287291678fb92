"""What becomes of one stage's saved state under a new layout (jet.md §2.3): the rules for all kinds. Each kind adds its own."""

from __future__ import annotations

from pitstop.errors import PipelineError
from pitstop.model.config import StateStore
from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.accumulators import readable
from pitstop.plan.kinds import refused, rules_of
from pitstop.plan.model import Plan


def judge_stage(
    name: str, old: StateLayout | None, new: StateLayout, watermark_ms: int | None, migration: str | None = None
) -> StageVerdict:
    """What becomes of a stage whose state had layout ``old`` (None: there was none); ``migration`` names the user's function."""
    if old is None:
        return StageVerdict(name, Verdict.NEW, "starts empty", "C01")
    if migration is not None and migrates(old, new):
        return _migrated(name, old, new, migration)
    before, after = rules_of(old.kind), rules_of(new.kind)
    if old.kind is not new.kind:
        rule = "C19" if before.windowed and after.windowed else "C20"
        return refused(name, f"was {before.words} and is now {after.words}", rule)
    if old.keys != new.keys:
        return refused(name, f"its key was ({_columns(old.keys)}) and is now ({_columns(new.keys)})", "C25")
    return after.compare(name, old, new, watermark_ms)


def check_state_store(plan: Plan, store: StateStore) -> None:
    """PipelineError unless the state of every stage could be carried from that store to a changed version."""
    found = first_only_on_disk(plan) if store is StateStore.MEMORY else None
    if found is not None:
        name, what = found
        raise PipelineError(
            f"Stage '{name}' has {what}, whose state a changed version could not take over from memory: "
            f"leave out state_store={store}."
        )


def first_only_on_disk(plan: Plan) -> tuple[str, str] | None:
    """A stage whose state could not be carried from memory to a changed version, and what it has; None if there is none."""
    for name, layout in plan.stateful.items():
        rules = rules_of(layout.kind)
        if not rules.feedable or not readable(layout):
            return name, "an aggregate that Spark serializes" if rules.feedable else rules.words
    return None


def migrates(old: StateLayout | None, new: StateLayout) -> bool:
    """True if a migration of the stage is used: there is state, and its form is another."""
    return old is not None and not old.same_state(new)


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
