"""Rows of two streams that wait for a match: other columns, another time bound."""

from __future__ import annotations

from pitstop.kit.durations import words
from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.kinds import Form, KindRules, goes_on, refused


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    for side, rows in old.accumulators:
        now = dict(new.accumulators)[side]
        if rows != now:
            return refused(name, f"rows on its {side} were {rows} and are now {now}", "C30")
    if old.parameters["how"] != new.parameters["how"]:
        return refused(name, f"its join was {old.parameters['how']} and is now {new.parameters['how']}", "C20")
    before, after = old.parameters["within_ms"], new.parameters["within_ms"]
    if before != after:
        detail = f"its bound was {words(before)} and is now {words(after)}: rows that were dropped before do not come back"
        return StageVerdict(name, Verdict.RESTORED, detail, "C15")
    return goes_on(name)


RULES = KindRules("a join", Form.RAW, compare)
