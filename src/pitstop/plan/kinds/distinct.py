"""Rows that have been seen: another time bound."""

from __future__ import annotations

from pitstop.kit.durations import words
from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.kinds import Form, KindRules, goes_on, refused


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    before, after = old.parameters["within_ms"], new.parameters["within_ms"]
    if (before is None) != (after is None):
        return refused(name, f"was {old.parameters['text']} and is now {new.parameters['text']}", "C20")
    if before != after:
        return StageVerdict(
            name,
            Verdict.RESTORED,
            f"rows seen before the change are remembered for {words(before)}, new ones for {words(after)}",
            "C15",
        )
    return goes_on(name)


RULES = KindRules("distinct", Form.RAW, compare, is_plain=True)
