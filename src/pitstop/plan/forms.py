"""The form in which a checkpoint keeps the state of a stage, which stays for as long as the checkpoint is used."""

from __future__ import annotations

from dataclasses import replace

from pitstop.plan.model import Plan


def as_kept(plan: Plan, before: Plan) -> Plan:
    """Return the plan as it runs on a checkpoint that plan ``before``, of the same stages, has written."""
    layouts = before.stateful
    stages = [
        replace(stage, layout=stage.layout.kept_as(layouts[stage.name]))
        if stage.layout is not None and stage.name in layouts
        else stage
        for stage in plan.stages
    ]
    return replace(plan, stages=tuple(stages))
