"""Spark's own stateful operators in a user's code, recognized by their form, and by the variables of a processor."""

from __future__ import annotations

import re

from pitstop.model.layout import StateLayout
from pitstop.model.report import OWN_STATE, StageVerdict, Verdict
from pitstop.plan.kinds import Fact, Form, KindRules, goes_on, refused
from pitstop.plan.variables import begins_empty, differences, unlike, unread, variables_of

_LEFT_OUT = re.compile(r"\.\.\. \d+ more fields(?=>)")
"""A pattern for the text in the place of later columns, where Spark wrote only the first ones of a type with more than 25."""
_DELAY = re.compile(r"(?<=\w)-T\d+ms\b")
"""A pattern for the text behind a column's name that says how far its watermark lags, which is no part of the state."""
_FUNCTION = re.compile(r"^(~?FlatMapGroupsInPandasWithState|~?TransformWithStateIn\w+) [^\s(]+\(")
"""A pattern for an operator and the name of the Python function that it calls."""
_PROCESSOR = re.compile(r"~?TransformWithState")
_TIME_MODE = re.compile(r", (NoTime|ProcessingTime|EventTime),")


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    if len(old.accumulators) != len(new.accumulators):
        detail = f"had {len(old.accumulators)} stateful operators and has {len(new.accumulators)} now"
        return refused(name, detail, "C20", "give each operator a stage of its own, or the stage another name")
    for (_, before), (_, after) in zip(old.accumulators, new.accumulators, strict=True):
        if not _same(before, after):
            return refused(name, _changed(before, after), "C20")
    became = sorted((new.never_null or frozenset()) - old.never_null) if old.never_null is not None else []
    if became:
        column = became[0].partition(": ")[2]
        detail = f"column '{column}' of its operator could be null in what is saved, and could not be any more"
        return refused(name, detail, "C20", "let it be null, or give the stage another name")
    why = unlike(old, new)
    if why is not None:
        return refused(name, why, OWN_STATE, "keep it as it was, or give the new one another name")
    if begins_empty(old, new):
        return StageVerdict(name, Verdict.NEW, "starts empty: it has none of the variables that were saved", OWN_STATE)
    changes = differences(old, new)
    if (reason := unread(new)) is not None:
        changes.append(f"its variables could not be read ({reason}), so they are compared when its state is taken over")
    return (
        StageVerdict(name, Verdict.RESTORED, "; ".join(["its state goes on", *changes]), OWN_STATE) if changes else goes_on(name)
    )


def unknown(old: StateLayout, new: StateLayout) -> Fact | None:
    """Return the fact that is missing in plans of earlier releases, which did not note the variables of processors."""
    before = [role for role, form in old.accumulators if _PROCESSOR.match(form)]
    missing = any(variables_of(old, role) is None and variables_of(new, role) is not None for role in before)
    return Fact.VARIABLES if missing else None


def _same(before: str, after: str) -> bool:
    """Return True if two forms of an operator are equal, as far as an older release has written down the columns of the first."""
    before, after = _bare(before), _bare(after)
    if before == after:
        return True
    parts = _LEFT_OUT.split(before)
    return len(parts) > 1 and re.fullmatch(".+".join(map(re.escape, parts)), after, re.DOTALL) is not None


def _bare(form: str) -> str:
    """Return the form without the parts that may change while the state stays."""
    return _FUNCTION.sub(r"\1 (", _DELAY.sub("", form))


def _changed(before: str, after: str) -> str:
    """Return the change of the operator, in words."""
    modes = [_TIME_MODE.search(form) if _PROCESSOR.match(form) else None for form in (before, after)]
    was, now = (mode.group(1) if mode else None for mode in modes)
    if was is not None and now is not None and was != now:
        return f"its processor had the time mode {was} and now has {now}"
    return f"its operator was '{before}' and is now '{after}'"


RULES = KindRules("Spark code of your own", Form.RAW, compare, unknown, is_plain=True)
