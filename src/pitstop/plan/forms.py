"""The form in which a checkpoint keeps the state of a stage: it stays while the checkpoint is gone on with."""

from __future__ import annotations

from dataclasses import replace

from pitstop.plan.model import Plan


def forms_of(plan: Plan) -> dict[str, str | None]:
    """Stage -> the form of its state."""
    return {name: layout.form for name, layout in plan.stateful.items()}


def as_kept(plan: Plan, before: Plan) -> Plan:
    """The plan as it runs on a checkpoint that plan ``before``, of the same stages, has written."""
    kept = forms_of(before)
    stages = [
        replace(stage, layout=stage.layout.in_form(kept[stage.name]))
        if stage.layout is not None and stage.name in kept
        else stage
        for stage in plan.stages
    ]
    return replace(plan, stages=tuple(stages))
