"""Rolling aggregates, which come and go."""

from __future__ import annotations

from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict
from pitstop.plan.accumulators import compare_aggregates
from pitstop.plan.kinds import Form, KindRules


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    return compare_aggregates(name, old, new)


RULES = KindRules("a rolling aggregate", Form.KEYED, compare)
