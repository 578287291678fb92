"""Tumbling and sliding windows: aggregates that change, windows of another size or slide."""

from __future__ import annotations

from pitstop.kit.clock import iso
from pitstop.kit.durations import words
from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.accumulators import compare_aggregates, readable
from pitstop.plan.kinds import Fact, Form, KindRules, refused


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
    incomplete = _until(old, new, watermark_ms)
    if rule == "C13" and to_size < size:
        detail = f"{change}: older frames are dropped, windows are complete"
    else:
        detail = f"{change}: windows that end {incomplete} may lack or repeat events, because {_why_not_whole(old, new)}"
    if aggregates.verdict is Verdict.CONVERTED:
        detail += f"; it {aggregates.detail}"
    return StageVerdict(name, Verdict.CONVERTED, detail, rule)


def unknown(old: StateLayout, new: StateLayout) -> Fact | None:
    """Return ``Fact.LAST_FRAME`` if frames are cut in another way: they matter as far as they reach ahead of the watermark."""
    return Fact.LAST_FRAME if _cut_otherwise(old, new) else None


def _cut_otherwise(old: StateLayout, new: StateLayout) -> bool:
    """Return True if a saved frame may belong to several frames of the new slide, of which it goes whole into the last."""
    return bool(new.parameters["slide_ms"] % old.parameters["slide_ms"])


def _why_not_whole(old: StateLayout, new: StateLayout) -> str:
    if _cut_otherwise(old, new):
        return f"the state has results of {words(old.parameters['slide_ms'])}, and each counts in the last window that it reaches"
    return "events that only closed windows held are gone"


def _until(old: StateLayout, new: StateLayout, watermark_ms: int | None) -> str:
    """Return the end up to which windows may differ from what all their events would make.

    Windows that begin before the watermark may lack frames that have been closed. A frame that is cut in another way goes whole
    into the last new frame that it reaches into. So windows are whole that begin behind that.
    """
    size, slide = new.parameters["size_ms"], new.parameters["slide_ms"]
    last = old.parameters.get(Fact.LAST_FRAME) if _cut_otherwise(old, new) else None
    caveat = ", or later where saved rows are ahead of the watermark," if last is None and _cut_otherwise(old, new) else ""
    if watermark_ms is None:
        return f"less than {words(size)} after the snapshot{caveat}"
    until = watermark_ms + size
    if last is not None:
        until = max(until, -(-last // slide) * slide - slide + size)
    return f"until {iso(-(-until // 1000))}".removesuffix(".000") + f"Z{caveat}"


RULES = KindRules("a window", Form.FRAMES, compare, unknown)
