"""Accumulators of aggregates under a changed plan: those that can be read, and those that may exchange their state."""

from __future__ import annotations

from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.kinds import goes_on, refused, rules_of
from pitstop.plan.types import widens

MORE = "sum+"
"""A sum that an earlier version may not have kept beside the others of its aggregate: it then begins with nothing."""
READABLE = frozenset({"sum", MORE, "min", "max"})
"""Combinations whose accumulators Spark keeps as they are, so that saved ones can be read."""

TAKEN = "taken"
"""The parameter of a layout with what each aggregate takes in of a row (result column -> as the user says it, as it is lifted).
Plans of older releases have none."""
COMBINED = "combined"
"""The parameter of a layout with the way in which accumulators are combined whose class does not say so (accumulator -> SQL)."""
LIMITS = "limits"
"""The parameter of a layout with the most values that accumulators keep (accumulator -> number)."""


def readable(layout: StateLayout) -> bool:
    """True if the stage's saved state can be shown, and given back, as rows."""
    if not rules_of(layout.kind).windowed:
        return True
    return all(part in READABLE for _, classes in layout.aggregates for part in classes.split(","))


def compare_aggregates(name: str, old: StateLayout, new: StateLayout) -> StageVerdict:
    """Judge each aggregate: one that keeps its name keeps its state, if it has the same form; others come and go."""
    before, after = _by_result(old), _by_result(new)
    for result in sorted(before.keys() & after.keys()):
        (kind, types), (to_kind, to_types) = before[result], after[result]
        if not _holds(kind, to_kind) or not all(map(widens, types, to_types)):
            was, now = f"{kind} of {', '.join(types)}", f"{to_kind} of {', '.join(to_types)}"
            return refused(name, f"aggregate '{result}' kept {was} and now keeps {now}", "C20", "give it another name")
        if (inputs := takes_other(result, old, new)) is not None:
            detail = f"aggregate '{result}' took in {inputs[0]} and now takes in {inputs[1]}, and its state would mix both"
            return refused(name, detail, "C20", "give it another name, or, if both mean the same, give the input its old name")
        if (difference := _combines_otherwise(result, old, new)) is not None:
            return refused(name, f"aggregate '{result}' {difference}", "C20", "give the stage another name")
    if old.accumulators == new.accumulators and old.aggregates == new.aggregates:
        return goes_on(name)
    if rules_of(old.kind).windowed and not (readable(old) and readable(new)):
        detail = "its aggregates changed beside one whose state cannot be read"
        return refused(name, detail, "C20", "give the stage another name, or the new aggregates a stage of their own")
    added = [result for result, _ in new.aggregates if result not in before]
    dropped = [result for result, _ in old.aggregates if result not in after]
    wider = [result for result in before.keys() & after.keys() if before[result] != after[result]]
    parts = [f"{', '.join(names)} {what}" for names, what in (
        (added, "counts from now on"), (dropped, "is dropped"), (sorted(wider), "widens")
    ) if names]  # fmt: skip
    detail = f"keeps its state; {'; '.join(parts)}" if parts else "keeps its state, in another order"
    return StageVerdict(name, Verdict.CONVERTED, detail, "C17")


def _holds(kind: str, to_kind: str) -> bool:
    """Return True if an aggregate of one class may go on as one of the other: the same class, or one with more sums behind."""
    before, after = kind.split(","), to_kind.split(",")
    return after[: len(before)] == before and set(after[len(before) :]) <= {MORE}


def takes_other(result: str, old: StateLayout, new: StateLayout) -> tuple[str, str] | None:
    """Return what an aggregate took in of each row, and what it takes in now, if both are known and differ."""
    was, now = (layout.parameters.get(TAKEN, {}).get(result) for layout in (old, new))
    if was is None or now is None or any(a == b for a, b in zip(was, now, strict=True)):
        return None
    return was[0], now[0]


def _combines_otherwise(result: str, old: StateLayout, new: StateLayout) -> str | None:
    """Return how an aggregate's combining has changed, if its state would be of both ways, or lack what it must have."""
    for accumulator in (name for name, _ in new.accumulators if name.rsplit("__", 1)[0] == result):
        was, now = (layout.parameters.get(COMBINED, {}).get(accumulator) for layout in (old, new))
        if was is not None and now is not None and was != now:
            return f"was combined by {was} and now is by {now}, and its state would mix both"
        most, more = (layout.parameters.get(LIMITS, {}).get(accumulator) for layout in (old, new))
        if most is not None and more is not None and more > most:
            return f"kept {most} rows of each key and now keeps {more}: those that it has left out are not in its state"
    return None


def _by_result(layout: StateLayout) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return result column -> (class of combining, accumulator types)."""
    types = dict(layout.accumulators)
    return {
        result: (kind, tuple(t for name, t in types.items() if name.rsplit("__", 1)[0] == result))
        for result, kind in layout.aggregates
    }
