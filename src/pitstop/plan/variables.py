"""The named variables of a user-defined processor (transformWithState), and Spark's treatment of changed ones.

Spark finds a variable by its name, and its content by the place and type of each field. It converts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pitstop.kit.durations import words
from pitstop.model.layout import StateLayout
from pitstop.plan.types import fields_of, nameless

VARIABLES = "variables"
"""The parameter of a layout with its variables: role of the operator -> its variables. Plans of older releases have none."""
UNREAD = "unread"
"""The parameter with the reason why the variables of an operator are not known: role -> a clause."""


@dataclass(frozen=True)
class Variable:
    """One variable of a processor."""

    name: str
    kind: str
    """``value``, ``list`` or ``map``."""
    value: str
    """The Spark type of its content, as text."""
    key: str | None = None
    """The Spark type of a map's keys."""
    expires: bool = False
    """True if it has a time to live."""
    ttl_ms: int | None = None
    """The time to live in milliseconds; None if it has none, or if it is not known."""

    @property
    def words(self) -> str:
        """A description of the variable, for messages: ``a map of k int to v int``."""
        columns = _columns(self.value)
        held = f"a map of {_columns(self.key or '')} to {columns}" if self.kind == "map" else f"a {self.kind} of {columns}"
        return f"{held} with a time to live" if self.expires else held

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def variables_of(layout: StateLayout, role: str) -> dict[str, Variable] | None:
    """Return name -> variable of one operator; None if they are not known."""
    noted = layout.parameters.get(VARIABLES, {}).get(role)
    return None if noted is None else {item["name"]: Variable(**item) for item in noted}


def dropped_variables(old: StateLayout, new: StateLayout) -> tuple[str, ...]:
    """Return the names of the variables whose state has no heir in the new version."""
    return _only_in(old, new)


def added_variables(old: StateLayout, new: StateLayout) -> tuple[str, ...]:
    """Return the names of the variables that begin empty beside saved state."""
    return _only_in(new, old)


def begins_empty(old: StateLayout, new: StateLayout) -> bool:
    """Return True if there are saved variables, and the new version has none of them: nothing of the stage's state goes on."""
    pairs = _pairs(old, new)
    return (
        len(pairs) == len(new.accumulators)
        and any(before for _, before, _ in pairs)
        and not any(before.keys() & after.keys() for _, before, after in pairs)
    )


def unread(layout: StateLayout) -> str | None:
    """Return the reason why the variables of the stage are not known, as a clause; None if they are, or if it has none."""
    return next(iter(layout.parameters.get(UNREAD, {}).values()), None)


def unlike(old: StateLayout, new: StateLayout) -> str | None:
    """Return the reason why the state of a variable cannot be taken over; None if all of it can.

    The reason is a clause on the stage's name.
    """
    for role, before, after in _pairs(old, new):
        for name in before.keys() & after.keys():
            why = _unlike(before[name], after[name])
            if why is not None:
                where = "" if len(old.accumulators) == 1 else f" of its operator {role}"
                return f"variable '{name}'{where} {why}"
    return None


def differences(old: StateLayout, new: StateLayout) -> list[str]:
    """Return, in words, the changes of variables that go on all the same."""
    changes = []
    for _, before, after in _pairs(old, new):
        for name in sorted(before.keys() & after.keys()):
            changes += _changes(name, before[name], after[name])
    return changes


def _unlike(old: Variable, new: Variable) -> str | None:
    changed = f"was {old.words} and is now {new.words}"
    if (old.kind, old.expires) != (new.kind, new.expires):
        return changed
    for was, now in ((old.key or "", new.key or ""), (old.value, new.value)):
        if nameless(was) != nameless(now) or _shuffled(was, now):
            return changed
    return None


def _shuffled(old: str, new: str) -> bool:
    """Return True if a field has gone to another place, where Spark would take the value of another one for it."""
    was, now = [name for name, _ in fields_of(old)], [name for name, _ in fields_of(new)]
    return any(name in now and now.index(name) != place for place, name in enumerate(was))


def _changes(name: str, old: Variable, new: Variable) -> list[str]:
    changes = []
    for was, now in zip(fields_of(old.value), fields_of(new.value), strict=True):
        if was[0] != now[0]:
            changes.append(f"field '{was[0]}' of variable '{name}' is now called '{now[0]}'")
    if old.expires and old.ttl_ms is not None and new.ttl_ms is not None and old.ttl_ms != new.ttl_ms:
        changes.append(
            f"variable '{name}' lives for {words(new.ttl_ms)} from its next change on, until then for {words(old.ttl_ms)}"
        )
    return changes


def _only_in(one: StateLayout, other: StateLayout) -> tuple[str, ...]:
    names = (mine.keys() - theirs.keys() for _, mine, theirs in _pairs(one, other))
    return tuple(sorted(name for some in names for name in some))


def _pairs(old: StateLayout, new: StateLayout) -> list[tuple[str, dict[str, Variable], dict[str, Variable]]]:
    """Return (role, variables before, variables after) of the operators whose variables are known in both versions."""
    pairs = ((role, variables_of(old, role), variables_of(new, role)) for role, _ in new.accumulators)
    return [(role, before, after) for role, before, after in pairs if before is not None and after is not None]


def named(names: Iterable[str]) -> str:
    """Return the variables, in words, with a verb behind: ``variable 'n' is``."""
    listed = [f"'{name}'" for name in names]
    return f"variable {listed[0]} is" if len(listed) == 1 else f"variables {', '.join(listed)} are"


def _columns(kind: str) -> str:
    return ", ".join(f"{name} {of}" for name, of in fields_of(kind)) or kind
