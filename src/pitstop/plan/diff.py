"""The comparison of two plans: it decides what becomes of each stage's state. The only judge of an update."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from pitstop.errors import UsageError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.option_values import ALL_STAGES
from pitstop.model.report import (
    DROPPED_SOURCE,
    NEW_SOURCE,
    OWN_STATE,
    SOUGHT_SOURCE,
    Report,
    SourceFate,
    StageVerdict,
    Verdict,
    Way,
)
from pitstop.plan.folders import moved_folder
from pitstop.plan.kinds import Fact, rules_of
from pitstop.plan.model import Plan, PlanStage
from pitstop.plan.rules import judge_stage
from pitstop.plan.variables import added_variables, dropped_variables, named, unread

__all__ = ["Report", "StageVerdict", "Verdict", "Way", "compare"]


def compare(
    old: dict[str, Any],
    new: dict[str, Any],
    old_partitions: int | None = None,
    renamed: dict[str, str] | None = None,
    watermark_ms: int | None = None,
    imported: Collection[str] = (),
    allow_drop: Collection[str] = (),
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    fates: Mapping[str, SourceFate] | None = None,
) -> Report:
    """Judge a new plan against the plan whose state it is to take over (both as dicts).

    ``renamed``: new name -> old name; a stage of that name takes over the old one's state or offset. ``watermark_ms`` is the
    watermark of the saved state. ``imported`` names the stages whose state was put there as rows. ``allow_drop`` names those that
    may be dropped, or is ``*`` for all. ``facts`` were read from the state itself (:func:`unknown`); ``fates`` are those of the
    saved places of sources, by their new names. UsageError if ``renamed`` or ``allow_drop`` names a stage that is not there.
    """
    before, after = with_facts(Plan.from_dict(old), facts or {}), Plan.from_dict(new)
    names = dict(renamed or {})
    _check_renamed(names, before, after)
    _check_dropped(allow_drop, before, names)
    lines = [
        *_sources(before, after, names, fates or {}),
        *_stateful(before, after, names, watermark_ms, imported),
        *_sinks(before, after),
    ]
    rescaled = after.partitions is not None and old_partitions is not None and after.partitions != old_partitions
    state_stays = all(line.verdict is not Verdict.CONVERTED for line in lines) and not _rewritten(before, after, names)
    same = before.operators == after.operators and state_stays and not rescaled and _same_schemas(before, after, names)
    if not same:
        moves = any(line.verdict is Verdict.RESTORED and line.stage in after.stateful for line in lines)
        lines = [_unless_fixed(line, after, moves) for line in lines]
    way = Way.RESUME if same else Way.REBUILD
    return Report(tuple(lines), way, (old_partitions, after.partitions), names, _without_leave(lines, allow_drop))


def _without_leave(lines: list[StageVerdict], allow_drop: Collection[str]) -> tuple[str, ...]:
    """Return the names of what would be dropped without leave, stages before sources."""
    if ALL_STAGES in allow_drop:
        return ()
    dropped = [line for line in lines if line.verdict is Verdict.DROPPED and line.stage not in allow_drop]
    return tuple(line.stage for line in sorted(dropped, key=lambda line: line.rule in (DROPPED_SOURCE, SOUGHT_SOURCE)))


def unknown(old: dict[str, Any], new: dict[str, Any], renamed: dict[str, str]) -> dict[str, Fact]:
    """Return saved stage -> the fact to read from its state before it can be compared, because its plan does not tell it."""
    before, after = Plan.from_dict(old), Plan.from_dict(new)
    pairs = {renamed.get(name, name): layout for name, layout in after.stateful.items()}
    facts = {name: rules_of(pairs[name].kind).unknown(layout, pairs[name]) for name, layout in before.stateful.items()
             if name in pairs and pairs[name].kind is layout.kind}  # fmt: skip
    return {name: fact for name, fact in facts.items() if fact is not None}


def with_facts(plan: Plan, facts: Mapping[str, Mapping[str, Any]]) -> Plan:
    """Return the plan with the facts that were read from the saved state of its stages, as parameters of their layouts."""
    stages = [
        replace(stage, layout=replace(stage.layout, parameters={**stage.layout.parameters, **facts[stage.name]}))
        if stage.layout is not None and stage.name in facts
        else stage
        for stage in plan.stages
    ]
    return replace(plan, stages=tuple(stages))


def _rewritten(before: Plan, after: Plan, renamed: dict[str, str]) -> bool:
    """Return True if state that goes on cannot stay in its files as it is.

    Spark keeps the state of a variable that is no longer declared, and would give it to the next one of that name. Variables that
    cannot be read show in a new checkpoint. Stages that swap names do so by moving.
    """
    pairs = [(before.stateful[renamed.get(name, name)], layout) for name, layout in after.stateful.items()
             if renamed.get(name, name) in before.stateful]  # fmt: skip
    variables = any(dropped_variables(old, new) or unread(new) is not None for old, new in pairs)
    return variables or any(name in after.stateful for name in renamed)


def _same_schemas(before: Plan, after: Plan, renamed: dict[str, str]) -> bool:
    """Return False if Spark would find other schemas of state than it has kept. It gets new ones where state is moved."""
    fixed = any(layout.parameters.get("fixed") is not None for layout in after.stateful.values())
    pairs = [(before.stateful.get(renamed.get(name, name)), layout) for name, layout in after.stateful.items()]
    return all(old is None or _same_schema(old, new, fixed) for old, new in pairs)


def _same_schema(old: StateLayout, new: StateLayout, fixed: bool) -> bool:
    """Return True if Spark would find the schema that it has kept.

    ``fixed``: beside state that can only be resumed, state of older releases goes on under its own schema.
    """
    if fixed and (old.never_null is None or old.any_null < new.any_null):
        return True
    return (old.never_null, old.any_null) == (new.never_null, new.any_null)


def _unless_fixed(line: StageVerdict, after: Plan, moves: bool) -> StageVerdict:
    """Return the verdict on a stage when anything else changes: its state then has to move, which some operators do not allow.

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
        if (old in after.stateful or old in after.sources) and old not in renamed:
            raise UsageError(f"Stage '{old}' is still in the new version, so '{new}' cannot be what it was renamed to.")
    if len(set(renamed.values())) < len(renamed):
        raise UsageError("Two stages cannot both be the renamed one: each state has one heir.")


def _check_dropped(allow_drop: Collection[str], before: Plan, renamed: Mapping[str, str]) -> None:
    for name in allow_drop:
        if name != ALL_STAGES and name not in before.stateful and name not in before.sources and name not in renamed:
            raise UsageError(f"The saved state has no stage or source '{name}' that could be dropped (allow_drop).")


def _sources(before: Plan, after: Plan, renamed: dict[str, str], fates: Mapping[str, SourceFate]) -> list[StageVerdict]:
    lines = []
    for name, stage in after.sources.items():
        old = before.sources.get(renamed.get(name, name))
        if old is None:
            detail = f"source, reads from its configured start{_added_to(name, before, after)}"
            lines.append(StageVerdict(name, Verdict.NEW, detail, NEW_SOURCE))
        elif old.description != stage.description:
            detail = f"was a source of kind {old.description} and is now {stage.description}: give it another name"
            lines.append(StageVerdict(name, Verdict.REFUSED, detail, "C03"))
        else:
            lines.append(_kept_source(old, stage, before, after, fates.get(name, SourceFate())))
    heirs = {renamed.get(name, name) for name in after.sources}
    lines += [_dropped_source(old, before, after, renamed) for name, old in before.sources.items() if name not in heirs]
    return lines


def _kept_source(old: PlanStage, new: PlanStage, before: Plan, after: Plan, fate: SourceFate) -> StageVerdict:
    """Return the verdict on a source of one kind in both plans."""
    if fate.refused:
        return StageVerdict(new.name, Verdict.REFUSED, fate.detail, "C03")
    if fate.sought:
        again = _added_to(new.name, before, after) if fate.again else ""
        return StageVerdict(new.name, Verdict.DROPPED, f"source, {fate.detail}{again}", SOUGHT_SOURCE)
    if after.read and new.name not in after.read:
        return StageVerdict(new.name, Verdict.RESTORED, "source of a table, read whole again", "C03")
    moved = moved_folder(old, new)
    where = f", its files being those of {moved[0]}, moved to {moved[1]}" if moved else _other_place(old, new)
    detail = f"source, goes on from the saved offset{where}{', ' if fate.detail else ''}{fate.detail}"
    return StageVerdict(new.name, Verdict.RESTORED, detail, "C03")


def _other_place(old: PlanStage, new: PlanStage) -> str:
    if old.place is None or new.place is None or old.place == new.place:
        return ""
    return f", in {new.place} and no longer in {old.place}: unread data there is read from the beginning"


def _dropped_source(old: PlanStage, before: Plan, after: Plan, renamed: dict[str, str]) -> StageVerdict:
    twins = [
        name
        for name, new in after.sources.items()
        if name not in before.sources and name not in renamed and {old.name} <= before.read and _same_source(old, new)
    ]
    if twins:
        return _looks_renamed(
            old.name, twins[0], "read all from its configured start again", "its place", old.name in after.sources
        )
    return StageVerdict(old.name, Verdict.DROPPED, "source, its offset is ignored", DROPPED_SOURCE)


def _same_source(old: PlanStage, new: PlanStage) -> bool:
    """Return True if both read the same. Facts of a source that an older release has not noted do not count."""
    return old.settings is not None and (old.description, old.settings) == (new.description, new.settings)


def _added_to(source: str, before: Plan, after: Plan) -> str:
    """Return, in words, the saved state that the rows of a new source reach."""
    if source not in after.read:
        return ""
    reached = {source}
    for stage in after.stages:  # in the order in which they were defined: inputs first
        if reached.intersection(stage.inputs):
            reached.add(stage.name)
    stages = [name for name in after.stateful if name in reached and name in before.stateful]
    if not stages:
        return ""
    names = ", ".join(f"'{name}'" for name in stages)
    what = f"stage {names} has" if len(stages) == 1 else f"stages {names} have"
    return f"; {what} saved state already: what that holds of these rows is counted twice"


def _sinks(before: Plan, after: Plan) -> list[StageVerdict]:
    """Judge the sinks.

    A transactional sink knows which epochs it has. A sink of another kind under its name would write the last one again.
    """
    lines = []
    transactional = {stage.name: stage for stage in before.stages if stage.transactional}
    places = {stage.name: stage.place for stage in before.stages if stage.kind is StageKind.SINK}
    for stage in after.stages:
        old = transactional.get(stage.name)
        if old is not None and stage.kind is StageKind.SINK and old.connector != stage.connector:
            detail = f"was a {old.connector} and is now a {stage.connector}: give it another name"
            lines.append(StageVerdict(stage.name, Verdict.REFUSED, detail, "C24"))
        elif stage.kind is StageKind.SINK and None not in (stage.place, place := places.get(stage.name)) and stage.place != place:
            detail = f"sink, writes into {stage.place} from now on, and no longer into {place}"
            lines.append(StageVerdict(stage.name, Verdict.RESTORED, detail, "C24"))
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
        lines += [verdict, *_variables(verdict, before.stateful.get(old), stage.layout)]
    heirs = {renamed.get(name, name) for name in after.stateful}
    lines += [_dropped(name, layout, before, after, renamed) for name, layout in before.stateful.items() if name not in heirs]
    return lines


def _variables(verdict: StageVerdict, old: StateLayout | None, new: StateLayout) -> list[StageVerdict]:
    """Return separate lines for variables that begin empty, or whose state goes, though the stage is the same."""
    if old is None or verdict.verdict not in (Verdict.RESTORED, Verdict.NEW):
        return []
    lines, added, dropped = [], added_variables(old, new), dropped_variables(old, new)
    if added and verdict.verdict is Verdict.RESTORED:
        detail = f"{named(added)} not in what is saved, and {'begins' if len(added) == 1 else 'begin'} empty"
        lines.append(StageVerdict(verdict.stage, Verdict.NEW, detail, OWN_STATE))
    if dropped:
        detail = f"{named(dropped)} not in the new version: what is saved there is ignored"
        lines.append(StageVerdict(verdict.stage, Verdict.DROPPED, detail, OWN_STATE))
    return lines


def _dropped(name: str, layout: StateLayout, before: Plan, after: Plan, renamed: dict[str, str]) -> StageVerdict:
    twins = [
        new
        for new, other in after.stateful.items()
        if new not in before.stateful and new not in renamed and layout.same_state(other)
    ]
    if twins:
        return _looks_renamed(name, twins[0], "start empty", "its state", reused=name in after.stateful)
    if name in after.stateful:
        return StageVerdict(name, Verdict.DROPPED, f"has taken over the state of '{renamed[name]}': its own is ignored", "C02")
    return StageVerdict(name, Verdict.DROPPED, "is not in the new version, its state is ignored", "C02")


def _looks_renamed(old: str, new: str, would: str, what: str, reused: bool) -> StageVerdict:
    """Return the verdict on what seems to have another name now. ``reused``: something else has the old name now."""
    keep = f"keep the name '{old}', or " if not reused else ""
    detail = f"looks renamed to '{new}', which would {would}: {keep}say renamed {new}={old} to carry {what}"
    return StageVerdict(old, Verdict.REFUSED, detail, "C21")
