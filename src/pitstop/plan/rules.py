"""The compatibility rules of one stage's state (jet.md §2.3): what becomes of it under a new layout."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from pitstop.errors import PipelineError
from pitstop.kit.durations import text
from pitstop.model.config import StateStore
from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.model import Plan

READABLE = frozenset({"sum", "min", "max"})
"""Combinations whose accumulators Spark keeps as they are, so that saved ones can be read."""
WIDER = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
}
"""Types that hold every value of another."""

FEEDABLE = frozenset({StageKind.WINDOW, StageKind.SESSION, StageKind.ROLLING, StageKind.MAPPED})
"""Kinds of stages whose state can be given as rows: by a migration, or by an import."""

_WINDOWED = (StageKind.WINDOW, StageKind.SESSION)
NAMES = {
    StageKind.WINDOW: "a window",
    StageKind.SESSION: "a session window",
    StageKind.ROLLING: "a rolling aggregate",
    StageKind.MAPPED: "state of your own",
    StageKind.DISTINCT: "distinct",
    StageKind.JOIN: "a join",
    StageKind.OPAQUE: "Spark code of your own",
}
START_EMPTY = "give it another name to start it empty"


def judge_stage(
    name: str, old: StateLayout | None, new: StateLayout, watermark_ms: int | None, migration: str | None = None
) -> StageVerdict:
    """What becomes of a stage whose state had layout ``old`` (None: there was none); ``migration`` names the user's function."""
    if old is None:
        return StageVerdict(name, Verdict.NEW, "starts empty", "C01")
    if migration is not None and migrates(old, new):
        return _migrated(name, old, new, migration)
    if old.kind is not new.kind:
        rule = "C19" if {old.kind, new.kind} == set(_WINDOWED) else "C20"
        return _refused(name, f"was {_named(old)} and is now {_named(new)}", rule)
    if old.keys != new.keys:
        return _refused(name, f"its key was ({_columns(old.keys)}) and is now ({_columns(new.keys)})", "C25")
    return _RULES[old.kind](name, old, new, watermark_ms)


def check_state_store(plan: Plan, store: StateStore) -> None:
    """PipelineError unless the state of every stage could be carried from that store to a changed version."""
    for name, layout in plan.stateful.items() if store is not StateStore.ROCKSDB else ():
        if layout.kind not in FEEDABLE or not readable(layout):
            what = _named(layout) if layout.kind not in FEEDABLE else "an aggregate that Spark serializes"
            raise PipelineError(
                f"Stage '{name}' has {what}, whose state a changed version could not take over from memory: "
                f"leave out state_store={store}."
            )


def migrates(old: StateLayout | None, new: StateLayout) -> bool:
    """True if a migration of the stage is used: there is state, and its form is another."""
    return old is not None and not old.same_state(new)


def _migrated(name: str, old: StateLayout, new: StateLayout, migration: str) -> StageVerdict:
    for layout, whose in ((old, "old"), (new, "new")):
        if not readable(layout):
            what = f"its {whose} state holds an aggregate that cannot be read, so '{migration}' cannot migrate it"
            return _refused(name, what, "C25")
    if new.kind not in FEEDABLE:
        return _refused(name, f"is {_named(new)}, whose state '{migration}' cannot make", "C25")
    return StageVerdict(name, Verdict.CONVERTED, f"its state is migrated by '{migration}'")


def _window(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    aggregates = _aggregates(name, old, new)
    size, slide = old.parameters["size_ms"], old.parameters["slide_ms"]
    to_size, to_slide = new.parameters["size_ms"], new.parameters["slide_ms"]
    if aggregates.verdict is Verdict.REFUSED or (size, slide) == (to_size, to_slide):
        return aggregates
    rule = "C26" if (size == slide) != (to_size == to_slide) else "C13" if slide == to_slide else "C14"
    change = f"its window was {old.parameters['text']} and is now {new.parameters['text']}"
    if not readable(old) or not readable(new):
        return _refused(name, f"{change}, and it has an aggregate whose state cannot be read", rule)
    incomplete = _until(watermark_ms, to_size)
    if rule == "C13" and to_size < size:
        detail = f"{change}: older frames are dropped, windows are complete"
    else:
        detail = f"{change}: windows that end {incomplete} may lack or repeat events of the saved frames"
    if aggregates.verdict is Verdict.CONVERTED:
        detail += f"; it {aggregates.detail}"
    return StageVerdict(name, Verdict.CONVERTED, detail, rule)


def _session(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    verdict = _aggregates(name, old, new)
    before, after = old.parameters["timeout_ms"], new.parameters["timeout_ms"]
    if verdict.verdict is Verdict.REFUSED or before == after:
        return verdict
    caveat = f"sessions that are open keep the end of timeout {text(before)}; new ones take {text(after)}"
    return StageVerdict(name, verdict.verdict, f"{verdict.detail}; {caveat}", "C12")


def _rolling(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    return _aggregates(name, old, new)


def _mapped(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    before, after = dict(old.accumulators), dict(new.accumulators)
    for field, kind in before.items():
        if field not in after:
            return _refused(
                name, f"its state had a field '{field}' and has none now", "C30", "keep it, or give the stage another name"
            )
        if not widens(kind, after[field]):
            return _refused(
                name,
                f"field '{field}' of its state was {kind} and is now {after[field]}",
                "C30",
                "keep its type, or give the stage another name",
            )
    if old.accumulators != new.accumulators:
        added = [field for field in after if field not in before]
        parts = [f"new fields {', '.join(added)} are null"] if added else []
        parts += [f"'{field}' widens to {after[field]}" for field, kind in before.items() if after[field] != kind]
        return StageVerdict(name, Verdict.CONVERTED, f"keeps its state; {'; '.join(parts) or 'in another order'}", "C30")
    if old.parameters["ttl_ms"] != new.parameters["ttl_ms"]:
        ttl = new.parameters["ttl_ms"]
        detail = f"takes the time to live {text(ttl)} from each key's last event" if ttl else "keeps its state for ever"
        return StageVerdict(name, Verdict.CONVERTED, detail, "C15")
    return StageVerdict(name, Verdict.RESTORED, "its state goes on", "C03")


def _distinct(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    before, after = old.parameters["within_ms"], new.parameters["within_ms"]
    if (before is None) != (after is None):
        return _refused(name, f"was {old.parameters['text']} and is now {new.parameters['text']}", "C20")
    if before != after:
        return StageVerdict(
            name,
            Verdict.RESTORED,
            f"rows seen before the change are remembered for {text(before)}, new ones for {text(after)}",
            "C15",
        )
    return StageVerdict(name, Verdict.RESTORED, "its state goes on", "C03")


def _join(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    for side, rows in old.accumulators:
        now = dict(new.accumulators)[side]
        if rows != now:
            return _refused(name, f"rows on its {side} were {rows} and are now {now}", "C30")
    if old.parameters["how"] != new.parameters["how"]:
        return _refused(name, f"was an {old.parameters['how']} join and is now {new.parameters['how']}", "C20")
    before, after = old.parameters["within_ms"], new.parameters["within_ms"]
    if before != after:
        detail = f"its bound was {text(before)} and is now {text(after)}: rows that were dropped before do not come back"
        return StageVerdict(name, Verdict.RESTORED, detail, "C15")
    return StageVerdict(name, Verdict.RESTORED, "its state goes on", "C03")


def _opaque(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    if len(old.accumulators) != len(new.accumulators):
        detail = f"had {len(old.accumulators)} stateful operators and has {len(new.accumulators)} now"
        return _refused(name, detail, "C20", "give each operator a stage of its own, or the stage another name")
    for (_, before), (_, after) in zip(old.accumulators, new.accumulators, strict=True):
        if before != after:
            return _refused(name, f"its operator was '{before}' and is now '{after}'", "C20")
    return StageVerdict(name, Verdict.RESTORED, "its state goes on", "C03")


_RULES: dict[StageKind, Callable[[str, StateLayout, StateLayout, int | None], StageVerdict]] = {
    StageKind.WINDOW: _window,
    StageKind.SESSION: _session,
    StageKind.ROLLING: _rolling,
    StageKind.MAPPED: _mapped,
    StageKind.DISTINCT: _distinct,
    StageKind.JOIN: _join,
    StageKind.OPAQUE: _opaque,
}


def _aggregates(name: str, old: StateLayout, new: StateLayout) -> StageVerdict:
    """Aggregates that keep their name keep their state, if it has the same form; others come and go."""
    if old.accumulators == new.accumulators and old.aggregates == new.aggregates:
        return StageVerdict(name, Verdict.RESTORED, "its state goes on", "C03")
    before, after = _by_result(old), _by_result(new)
    for result in before.keys() & after.keys():
        (kind, types), (to_kind, to_types) = before[result], after[result]
        if kind != to_kind or len(types) != len(to_types) or not all(map(widens, types, to_types)):
            was, now = f"{kind} of {', '.join(types)}", f"{to_kind} of {', '.join(to_types)}"
            return _refused(name, f"aggregate '{result}' kept {was} and now keeps {now}", "C20", "give it another name")
    if old.kind in _WINDOWED and not (readable(old) and readable(new)):
        detail = "its aggregates changed beside one whose state cannot be read"
        return _refused(name, detail, "C20", "give the stage another name, or the new aggregates a stage of their own")
    added = [result for result, _ in new.aggregates if result not in before]
    dropped = [result for result, _ in old.aggregates if result not in after]
    wider = [result for result in before.keys() & after.keys() if before[result] != after[result]]
    parts = [f"{', '.join(names)} {what}" for names, what in (
        (added, "counts from now on"), (dropped, "is dropped"), (sorted(wider), "widens")
    ) if names]  # fmt: skip
    detail = f"keeps its state; {'; '.join(parts)}" if parts else "keeps its state, in another order"
    return StageVerdict(name, Verdict.CONVERTED, detail, "C17")


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


def readable(layout: StateLayout) -> bool:
    """True if the stage's saved state can be shown, and given back, as rows."""
    if layout.kind not in _WINDOWED:
        return True
    return all(part in READABLE for _, classes in layout.aggregates for part in classes.split(","))


def _until(watermark_ms: int | None, size_ms: int) -> str:
    if watermark_ms is None:
        return f"less than {text(size_ms)} after the snapshot"
    return f"until {datetime.fromtimestamp((watermark_ms + size_ms) / 1000, UTC):%Y-%m-%dT%H:%M:%S}Z"


def _refused(name: str, what: str, rule: str, remedy: str = START_EMPTY) -> StageVerdict:
    return StageVerdict(name, Verdict.REFUSED, f"{what}: {remedy}", rule)


def _named(layout: StateLayout) -> str:
    return NAMES.get(layout.kind, layout.kind.value)


def _columns(pairs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in pairs)
