"""User-defined state, one row for each key: fields that are added, dropped or widened, another time to live."""

from __future__ import annotations

from pitstop.kit.durations import words
from pitstop.model.layout import StateLayout
from pitstop.model.report import StageVerdict, Verdict
from pitstop.plan.kinds import Form, KindRules, goes_on, refused
from pitstop.plan.types import widens


def compare(name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict:
    before, after = dict(old.accumulators), dict(new.accumulators)
    for field, kind in before.items():
        if field not in after:
            return refused(
                name, f"its state had a field '{field}' and has none now", "C30", "keep it, or give the stage another name"
            )
        if not widens(kind, after[field]):
            return refused(
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
        detail = f"takes the time to live {words(ttl)} from each key's last event" if ttl else "keeps its state forever"
        if not old.parameters["ttl_ms"]:
            detail += ", and drops late rows from now on"
        elif not ttl:
            detail += ", and takes late rows from now on"
        return StageVerdict(name, Verdict.CONVERTED, detail, "C15")
    return goes_on(name)


RULES = KindRules("state of your own", Form.KEYED, compare)
