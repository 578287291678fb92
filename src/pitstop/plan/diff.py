"""Compare two plans: what becomes of each stage's state (jet.md §2.3). The only judge of an update."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pitstop.model.layout import StateLayout
from pitstop.plan.model import Plan, PlanStage


class Verdict(StrEnum):
    """What becomes of a stage."""

    RESTORED = "restored"
    NEW = "new"
    DROPPED = "dropped"
    CONVERTED = "converted"
    REFUSED = "refused"


class Way(StrEnum):
    """How state is restored (design: three ways)."""

    RESUME = "resume"
    """Same stateful structure: the checkpoint is copied and resumed."""
    REBUILD = "rebuild"
    """Another structure: a new checkpoint is laid down and each stage's state brought into it."""


@dataclass(frozen=True)
class StageVerdict:
    stage: str
    verdict: Verdict
    detail: str
    rule: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"stage": self.stage, "verdict": self.verdict.value, "detail": self.detail, "rule": self.rule}


@dataclass(frozen=True)
class Report:
    """One line a stage with state (sources keep offsets, so they count), and how it will be restored."""

    lines: tuple[StageVerdict, ...]
    way: Way
    partitions: tuple[int | None, int | None] = (None, None)
    """Shuffle partitions before and after; None: not said."""

    @property
    def refused(self) -> bool:
        return any(line.verdict is Verdict.REFUSED for line in self.lines)

    @property
    def refusals(self) -> tuple[StageVerdict, ...]:
        return tuple(line for line in self.lines if line.verdict is Verdict.REFUSED)

    def of(self, verdict: Verdict) -> tuple[str, ...]:
        """Names of the stages with this verdict."""
        return tuple(line.stage for line in self.lines if line.verdict is verdict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "refused": self.refused,
            "way": self.way.value,
            "lines": [line.to_dict() for line in self.lines],
            "partitions": list(self.partitions),
        }

    def text(self) -> str:
        """The report as a person reads it, a line a stage."""
        width = max((len(line.stage) for line in self.lines), default=0)
        rows = [
            f"{line.stage:<{width}}  {line.verdict.value:<9}  {line.detail}" + (f" [{line.rule}]" if line.rule else "")
            for line in self.lines
        ]
        return "\n".join(rows) if rows else "Nothing to restore: neither version keeps state."


def compare(
    old: dict[str, Any], new: dict[str, Any], old_partitions: int | None = None, renamed: dict[str, str] | None = None
) -> Report:
    """Judge a new plan against the plan whose state it is to take over (both as dicts)."""
    before, after = Plan.from_dict(old), Plan.from_dict(new)
    lines = [*_sources(before, after), *_stateful(before, after)]
    rescaled = after.partitions is not None and old_partitions is not None and after.partitions != old_partitions
    same = before.structure() == after.structure() and not rescaled
    return Report(tuple(lines), Way.RESUME if same else Way.REBUILD, (old_partitions, after.partitions))


def _sources(before: Plan, after: Plan) -> list[StageVerdict]:
    lines = []
    for name, stage in after.sources.items():
        old = before.sources.get(name)
        if old is None:
            lines.append(StageVerdict(name, Verdict.NEW, "source, reads from its configured start", "C04"))
        elif old.description != stage.description:
            detail = f"was a source of kind {old.description} and is now {stage.description}: give it another name"
            lines.append(StageVerdict(name, Verdict.REFUSED, detail, "C03"))
        else:
            lines.append(StageVerdict(name, Verdict.RESTORED, "source, goes on from the saved offset", "C03"))
    lines += [
        StageVerdict(name, Verdict.DROPPED, "source, its offset is ignored", "C05")
        for name in before.sources
        if name not in after.sources
    ]
    return lines


def _stateful(before: Plan, after: Plan) -> list[StageVerdict]:
    lines = [_stage(name, before.stateful.get(name), after) for name in after.stateful]
    for name, layout in before.stateful.items():
        if name not in after.stateful:
            lines.append(_dropped(name, layout, before, after))
    return lines


def _stage(name: str, old: StateLayout | None, after: Plan) -> StageVerdict:
    new = after.stateful[name]
    if old is None:
        return StageVerdict(name, Verdict.NEW, "starts empty", "C01")
    if old.kind is not new.kind:
        detail = f"was {old.kind.value} and is now {new.kind.value}: give it another name to start it empty"
        return StageVerdict(name, Verdict.REFUSED, detail, "C19")
    if _types(old.keys) != _types(new.keys) or [k for k, _ in old.keys] != [k for k, _ in new.keys]:
        detail = f"its key was ({_columns(old.keys)}) and is now ({_columns(new.keys)}): give it another name"
        return StageVerdict(name, Verdict.REFUSED, detail, "C25")
    if old.parameters != new.parameters:
        detail = f"its window was {old.parameters['text']} and is now {new.parameters['text']}: give it another name"
        return StageVerdict(name, Verdict.REFUSED, detail, "C13/C14")
    if old.accumulators != new.accumulators or old.aggregates != new.aggregates:
        return _changed_aggregates(name, old, new)
    return StageVerdict(name, Verdict.RESTORED, "its state goes on", "C03")


def _changed_aggregates(name: str, old: StateLayout, new: StateLayout) -> StageVerdict:
    """Aggregates that keep their name keep their state, if it has the same form; others come and go."""
    before, after = _by_result(old), _by_result(new)
    for result in before.keys() & after.keys():
        if before[result] != after[result]:
            detail = f"aggregate '{result}' kept {before[result][1]} and now keeps {after[result][1]}: give it another name"
            return StageVerdict(name, Verdict.REFUSED, detail, "C20")
    if any(part == "custom" for _, classes in old.aggregates for part in classes.split(",")):
        detail = "its aggregates changed beside one of your own, whose state cannot be read: give the stage another name"
        return StageVerdict(name, Verdict.REFUSED, detail, "C20")
    added = [result for result, _ in new.aggregates if result not in before]
    dropped = [result for result, _ in old.aggregates if result not in after]
    parts = [f"{', '.join(added)} counts from now on" for _ in added[:1]] + [
        f"{', '.join(dropped)} is dropped" for _ in dropped[:1]
    ]
    detail = f"keeps its state; {'; '.join(parts)}" if parts else "keeps its state, in another order"
    return StageVerdict(name, Verdict.CONVERTED, detail, "C17")


def _by_result(layout: StateLayout) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Result column -> (class of combining, accumulator types)."""
    types = dict(layout.accumulators)
    return {
        result: (kind, tuple(t for name, t in types.items() if name.rsplit("__", 1)[0] == result))
        for result, kind in layout.aggregates
    }


def _dropped(name: str, layout: StateLayout, before: Plan, after: Plan) -> StageVerdict:
    twins = [new for new, other in after.stateful.items() if new not in before.stateful and other == layout]
    if twins:
        detail = f"looks renamed to '{twins[0]}', which would start empty: keep the name '{name}' to keep its state"
        return StageVerdict(name, Verdict.REFUSED, detail, "C21")
    return StageVerdict(name, Verdict.DROPPED, "is not in the new version, its state is ignored", "C02")


def _types(pairs: tuple[tuple[str, str], ...]) -> list[str]:
    return [kind for _, kind in pairs]


def _columns(pairs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in pairs)


def describe(plan: Plan) -> str:
    """The plan as text, a line a stage: name, what it does, what it reads."""
    rows: list[PlanStage] = list(plan.stages)
    width = max((len(stage.name) for stage in rows), default=0)
    return "\n".join(
        f"{stage.name:<{width}}  {stage.description}" + (f" <- {', '.join(stage.inputs)}" if stage.inputs else "")
        for stage in rows
    )
