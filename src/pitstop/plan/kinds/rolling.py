"""Rolling aggregates, which come and go; and the older form of their state."""

from __future__ import annotations

from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.accumulators import compare_aggregates
from pitstop.plan.kinds import Form, KindRules

COLUMNS = "columns"
"""The form of state that is a row of accumulators. State of older releases has no form: it is one JSON text for each key."""


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    verdict = compare_aggregates(name, old, new)
    if verdict.verdict is Verdict.RESTORED and old.form != new.form:
        return StageVerdict(name, Verdict.CONVERTED, "keeps its state, which is rewritten in a faster form", "C03")
    return verdict


RULES = KindRules("a rolling aggregate", Form.KEYED, compare)
