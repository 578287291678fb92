"""The form in which a checkpoint keeps the state of a stage: it stays while the checkpoint is gone on with."""

from __future__ import annotations

from dataclasses import replace

from pitstop.model.layout import StageKind
from pitstop.plan.kinds.rolling import as_text, is_text
from pitstop.plan.model import Plan


def kept_as_text(plan: Plan) -> frozenset[str]:
    """The rolling aggregates whose state has its older form."""
    return frozenset(name for name, layout in plan.stateful.items() if layout.kind is StageKind.ROLLING and is_text(layout))


def as_kept(plan: Plan, before: Plan) -> Plan:
    """The plan as it runs on a checkpoint that plan ``before`` has written."""
    older = kept_as_text(before)
    stages = [
        replace(stage, layout=as_text(stage.layout)) if stage.name in older and stage.layout is not None else stage
        for stage in plan.stages
    ]
    return replace(plan, stages=tuple(stages))
