"""Spark's own stateful operators in a user's code, which are known by their form."""

from __future__ import annotations

from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict
from pitstop.plan.kinds import Form, KindRules, goes_on, refused


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    if len(old.accumulators) != len(new.accumulators):
        detail = f"had {len(old.accumulators)} stateful operators and has {len(new.accumulators)} now"
        return refused(name, detail, "C20", "give each operator a stage of its own, or the stage another name")
    for (_, before), (_, after) in zip(old.accumulators, new.accumulators, strict=True):
        if before != after:
            return refused(name, f"its operator was '{before}' and is now '{after}'", "C20")
    return goes_on(name)


RULES = KindRules("Spark code of your own", Form.RAW, compare)
