"""Session windows: aggregates that change, another timeout."""

from __future__ import annotations

from pitstop.kit.durations import words
from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.accumulators import compare_aggregates
from pitstop.plan.kinds import Form, KindRules


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    verdict = compare_aggregates(name, old, new)
    before, after = old.parameters["timeout_ms"], new.parameters["timeout_ms"]
    if verdict.verdict is Verdict.REFUSED or before == after:
        return verdict
    caveat = f"sessions that are open keep the end of timeout {words(before)}; new ones take {words(after)}"
    return StageVerdict(name, verdict.verdict, f"{verdict.detail}; {caveat}", "C12")


RULES = KindRules("a session window", Form.SESSIONS, compare)
