"""Rolling aggregates, which come and go; and the older form of their state."""

from __future__ import annotations

from dataclasses import replace

from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.accumulators import compare_aggregates
from pitstop.plan.kinds import Form, KindRules

COLUMNS = "columns"
"""The form of state that is a row of accumulators. State without a form is of an older release: one JSON text a key."""


def is_text(layout: StateLayout) -> bool:
    """True if the state has its older form, which another operator of Spark's keeps."""
    return layout.parameters.get("form") != COLUMNS


def as_text(layout: StateLayout) -> StateLayout:
    """The layout of the same stage in its older form."""
    return replace(layout, parameters={name: value for name, value in layout.parameters.items() if name != "form"})


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    verdict = compare_aggregates(name, old, new)
    if verdict.verdict is Verdict.RESTORED and is_text(old) != is_text(new):
        return StageVerdict(name, Verdict.CONVERTED, "keeps its state, which is written anew in a faster form", "C03")
    return verdict


RULES = KindRules("a rolling aggregate", Form.KEYED, compare)
