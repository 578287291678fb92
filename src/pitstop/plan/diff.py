"""Compare two plans: what becomes of each stage's state (jet.md §2.3). The only judge of an update."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pitstop.errors import UsageError
from pitstop.model.config import ALL_STAGES
from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.report import DROPPED_SOURCE, NEW_SOURCE, Report, StageVerdict, Verdict, Way
from pitstop.plan.folders import moved_folder
from pitstop.plan.model import Plan
from pitstop.plan.rules import judge_stage

__all__ = ["Report", "StageVerdict", "Verdict", "Way", "compare"]


def compare(
    old: dict[str, Any],
    new: dict[str, Any],
    old_partitions: int | None = None,
    renamed: dict[str, str] | None = None,
    watermark_ms: int | None = None,
    imported: Collection[str] = (),
    allow_drop: Collection[str] = (),
) -> Report:
    """Judge a new plan against the plan whose state it is to take over (both as dicts).

    ``renamed``: new name -> old name; a stage of that name takes over the old one's state or offset. ``watermark_ms``
    is that of the saved state; ``imported`` names the stages of it whose state was put there as rows; ``allow_drop`` those that
    may be dropped, or ``*`` for all. UsageError if ``renamed`` or ``allow_drop`` names a stage that is not there.
    """
    before, after = Plan.from_dict(old), Plan.from_dict(new)
    names = dict(renamed or {})
    _check_renamed(names, before, after)
    _check_dropped(allow_drop, before)
    lines = [*_sources(before, after, names), *_stateful(before, after, names, watermark_ms, imported), *_sinks(before, after)]
    rescaled = after.partitions is not None and old_partitions is not None and after.partitions != old_partitions
    kept = all(line.verdict is not Verdict.CONVERTED for line in lines)
    same = before.operators == after.operators and kept and not rescaled and _same_schemas(before, after, names)
    if not same:
        moves = any(line.verdict is Verdict.RESTORED and line.stage in after.stateful for line in lines)
        lines = [_unless_fixed(line, after, moves) for line in lines]
    way = Way.RESUME if same else Way.REBUILD
    return Report(tuple(lines), way, (old_partitions, after.partitions), names, _without_leave(lines, allow_drop))


def _without_leave(lines: list[StageVerdict], allow_drop: Collection[str]) -> tuple[str, ...]:
    """Names of what would be dropped without leave, stages before sources."""
    if ALL_STAGES in allow_drop:
        return ()
    dropped = [line for line in lines if line.verdict is Verdict.DROPPED and line.stage not in allow_drop]
    return tuple(line.stage for line in sorted(dropped, key=lambda line: line.rule == DROPPED_SOURCE))


def _same_schemas(before: Plan, after: Plan, renamed: dict[str, str]) -> bool:
    """False if Spark would find other schemas of state than it has kept. It gets new ones where state is moved."""
    fixed = any(layout.parameters.get("fixed") is not None for layout in after.stateful.values())
    pairs = [(before.stateful.get(renamed.get(name, name)), layout) for name, layout in after.stateful.items()]
    return all(old is None or _same_schema(old, new, fixed) for old, new in pairs)


def _same_schema(old: StateLayout, new: StateLayout, fixed: bool) -> bool:
    """``fixed``: beside what can only be resumed, state of older releases goes on under its own schema."""
    if fixed and (old.never_null is None or old.any_null < new.any_null):
        return True
    return (old.never_null, old.any_null) == (new.never_null, new.any_null)


def _unless_fixed(line: StageVerdict, after: Plan, moves: bool) -> StageVerdict:
    """The verdict on a stage when anything else changes: its state then has to move, which Spark cannot do for some operators.

    ``moves``: state of some stage goes on.
    """
    layout = after.stateful.get(line.stage)
    fixed = layout.parameters.get("fixed") if layout is not None else None
    if fixed is not None and line.verdict is Verdict.NEW and moves:
        detail = f"has {fixed}, which Spark cannot begin beside state that goes on: give it a job of its own"
        return StageVerdict(line.stage, Verdict.REFUSED, detail, "C20")
    if fixed is None or line.verdict is not Verdict.RESTORED:
        return line
    detail = (
        f"has {fixed}, whose state Spark can go on with only while all stateful stages and partitions stay as they are: "
        "leave them, or give it another name to start it empty"
    )
    return StageVerdict(line.stage, Verdict.REFUSED, detail, "C20")


def _check_renamed(renamed: dict[str, str], before: Plan, after: Plan) -> None:
    for new, old in renamed.items():
        if new not in after.stateful and new not in after.sources:
            raise UsageError(f"The new version has no stateful stage or source '{new}' that could be the renamed '{old}'.")
        if old not in before.stateful and old not in before.sources:
            raise UsageError(f"The saved state has no stage or source '{old}' that could be renamed to '{new}'.")
        if old in after.stateful or old in after.sources:
            raise UsageError(f"Stage '{old}' is still in the new version, so '{new}' cannot be what it was renamed to.")
    if len(set(renamed.values())) < len(renamed):
        raise UsageError("Two stages cannot both be the renamed one: each state has one heir.")


def _check_dropped(allow_drop: Collection[str], before: Plan) -> None:
    for name in allow_drop:
        if name != ALL_STAGES and name not in before.stateful and name not in before.sources:
            raise UsageError(f"The saved state has no stage or source '{name}' that could be dropped (allow_drop).")


def _sources(before: Plan, after: Plan, renamed: dict[str, str]) -> list[StageVerdict]:
    lines = []
    for name, stage in after.sources.items():
        old = before.sources.get(renamed.get(name, name))
        if old is None:
            lines.append(StageVerdict(name, Verdict.NEW, "source, reads from its configured start", NEW_SOURCE))
        elif old.description != stage.description:
            detail = f"was a source of kind {old.description} and is now {stage.description}: give it another name"
            lines.append(StageVerdict(name, Verdict.REFUSED, detail, "C03"))
        else:
            moved = moved_folder(old, stage)
            where = f", its files being those of {moved[0]}, moved to {moved[1]}" if moved else ""
            lines.append(StageVerdict(name, Verdict.RESTORED, f"source, goes on from the saved offset{where}", "C03"))
    lines += [
        StageVerdict(name, Verdict.DROPPED, "source, its offset is ignored", DROPPED_SOURCE)
        for name in before.sources
        if name not in after.sources and name not in renamed.values()
    ]
    return lines


def _sinks(before: Plan, after: Plan) -> list[StageVerdict]:
    """A transactional sink knows which epochs it has: a sink of another kind under its name would write the last one again."""
    lines = []
    known = {stage.name: stage for stage in before.stages if stage.transactional}
    for stage in after.stages:
        old = known.get(stage.name)
        if old is not None and stage.kind is StageKind.SINK and old.connector != stage.connector:
            detail = f"was a {old.connector} and is now a {stage.connector}: give it another name"
            lines.append(StageVerdict(stage.name, Verdict.REFUSED, detail, "C24"))
    return lines


def _stateful(
    before: Plan, after: Plan, renamed: dict[str, str], watermark_ms: int | None, imported: Collection[str]
) -> list[StageVerdict]:
    lines = []
    for stage in after.stages:
        if stage.layout is None:
            continue
        name, old = stage.name, renamed.get(stage.name, stage.name)
        verdict = judge_stage(before.stage(old), stage, watermark_ms)
        if old in imported and verdict.verdict is Verdict.RESTORED:
            verdict = StageVerdict(name, Verdict.CONVERTED, "its state was imported and goes in as rows", verdict.rule)
        if old != name and verdict.verdict in (Verdict.RESTORED, Verdict.CONVERTED):
            verdict = StageVerdict(name, verdict.verdict, f"was '{old}', {verdict.detail}", verdict.rule)
        lines.append(verdict)
    for name, layout in before.stateful.items():
        if name not in after.stateful and name not in renamed.values():
            lines.append(_dropped(name, layout, before, after, renamed))
    return lines


def _dropped(name: str, layout: StateLayout, before: Plan, after: Plan, renamed: dict[str, str]) -> StageVerdict:
    twins = [
        new
        for new, other in after.stateful.items()
        if new not in before.stateful and new not in renamed and layout.same_state(other)
    ]
    if twins:
        detail = (
            f"looks renamed to '{twins[0]}', which would start empty: keep the name '{name}', "
            f"or say renamed {twins[0]}={name} to carry its state"
        )
        return StageVerdict(name, Verdict.REFUSED, detail, "C21")
    return StageVerdict(name, Verdict.DROPPED, "is not in the new version, its state is ignored", "C02")
