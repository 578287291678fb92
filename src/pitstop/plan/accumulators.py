"""Accumulators of aggregates under a changed plan: which types hold others, which can be read, which may exchange their state."""

from __future__ import annotations

from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.kinds import goes_on, refused, rules_of

MORE = "sum+"
"""A sum that a version before may not have kept beside the others of its aggregate: it then begins with nothing."""
READABLE = frozenset({"sum", MORE, "min", "max"})
"""Combinations whose accumulators Spark keeps as they are, so that saved ones can be read."""
WIDER = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
}
"""Types that hold every value of another."""


def readable(layout: StateLayout) -> bool:
    """True if the stage's saved state can be shown, and given back, as rows."""
    if not rules_of(layout.kind).windowed:
        return True
    return all(part in READABLE for _, classes in layout.aggregates for part in classes.split(","))


def compare_aggregates(name: str, old: StateLayout, new: StateLayout) -> StageVerdict:
    """Aggregates that keep their name keep their state, if it has the same form; others come and go."""
    if old.accumulators == new.accumulators and old.aggregates == new.aggregates:
        return goes_on(name)
    before, after = _by_result(old), _by_result(new)
    for result in before.keys() & after.keys():
        (kind, types), (to_kind, to_types) = before[result], after[result]
        if not _holds(kind, to_kind) or not all(map(widens, types, to_types)):
            was, now = f"{kind} of {', '.join(types)}", f"{to_kind} of {', '.join(to_types)}"
            return refused(name, f"aggregate '{result}' kept {was} and now keeps {now}", "C20", "give it another name")
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
    """True if an aggregate of the one class may go on as one of the other: of the same, or with more sums behind."""
    before, after = kind.split(","), to_kind.split(",")
    return after[: len(before)] == before and set(after[len(before) :]) <= {MORE}


def widens(old: str, new: str) -> bool:
    """True if every value of the one type is a value of the other (both as Spark writes them)."""
    if old == new or new in WIDER.get(old, ()):
        return True
    if old.startswith("decimal(") and new.startswith("decimal("):
        (precision, scale), (to_precision, to_scale) = _decimal(old), _decimal(new)
        return to_scale >= scale and to_precision - to_scale >= precision - scale
    return False


def _decimal(kind: str) -> tuple[int, int]:
    precision, scale = kind[len("decimal(") : -1].split(",")
    return int(precision), int(scale)


def _by_result(layout: StateLayout) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Result column -> (class of combining, accumulator types)."""
    types = dict(layout.accumulators)
    return {
        result: (kind, tuple(t for name, t in types.items() if name.rsplit("__", 1)[0] == result))
        for result, kind in layout.aggregates
    }
