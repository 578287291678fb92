"""Spark's own stateful operators in a user's code, which are known by their form."""

from __future__ import annotations

import re

from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict
from pitstop.plan.kinds import Form, KindRules, goes_on, refused

_LEFT_OUT = re.compile(r"\.\.\. \d+ more fields(?=>)")
"""Where Spark wrote of a type with more than 25 columns only the first ones."""


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    if len(old.accumulators) != len(new.accumulators):
        detail = f"had {len(old.accumulators)} stateful operators and has {len(new.accumulators)} now"
        return refused(name, detail, "C20", "give each operator a stage of its own, or the stage another name")
    for (_, before), (_, after) in zip(old.accumulators, new.accumulators, strict=True):
        if not _same(before, after):
            return refused(name, f"its operator was '{before}' and is now '{after}'", "C20")
    became = sorted((new.never_null or frozenset()) - old.never_null) if old.never_null is not None else []
    if became:
        column = became[0].partition(": ")[2]
        detail = f"column '{column}' of its operator could be null in what is saved, and could not be any more"
        return refused(name, detail, "C20", "let it be null, or give the stage another name")
    return goes_on(name)


def _same(before: str, after: str) -> bool:
    """True if two forms of an operator are equal, as far as an older release has written down the columns of the first."""
    if before == after:
        return True
    told = _LEFT_OUT.split(before)
    return len(told) > 1 and re.fullmatch(".+".join(map(re.escape, told)), after, re.DOTALL) is not None


RULES = KindRules("Spark code of your own", Form.RAW, compare)
