"""Tumbling and sliding windows: aggregates that change, windows of another size or slide."""

from __future__ import annotations

from pitstop.kit.clock import iso
from pitstop.kit.durations import text
from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.accumulators import compare_aggregates, readable
from pitstop.plan.kinds import Form, KindRules, refused


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    aggregates = compare_aggregates(name, old, new)
    size, slide = old.parameters["size_ms"], old.parameters["slide_ms"]
    to_size, to_slide = new.parameters["size_ms"], new.parameters["slide_ms"]
    if aggregates.verdict is Verdict.REFUSED or (size, slide) == (to_size, to_slide):
        return aggregates
    rule = "C26" if (size == slide) != (to_size == to_slide) else "C13" if slide == to_slide else "C14"
    change = f"its window was {old.parameters['text']} and is now {new.parameters['text']}"
    if not readable(old) or not readable(new):
        return refused(name, f"{change}, and it has an aggregate whose state cannot be read", rule)
    incomplete = _until(watermark_ms, to_size)
    if rule == "C13" and to_size < size:
        detail = f"{change}: older frames are dropped, windows are complete"
    else:
        detail = f"{change}: windows that end {incomplete} may lack or repeat events of the saved frames"
    if aggregates.verdict is Verdict.CONVERTED:
        detail += f"; it {aggregates.detail}"
    return StageVerdict(name, Verdict.CONVERTED, detail, rule)


def _until(watermark_ms: int | None, size_ms: int) -> str:
    if watermark_ms is None:
        return f"less than {text(size_ms)} after the snapshot"
    return f"until {iso((watermark_ms + size_ms) // 1000)}".removesuffix(".000") + "Z"


RULES = KindRules("a window", Form.FRAMES, compare)
