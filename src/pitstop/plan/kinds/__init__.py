"""The facts about each kind of state: one record for each kind, ``RULES`` in the module of the kind's stored name.

Only these records, and the code that lowers a kind, tell one kind from another; all else asks the record.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Protocol

from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.report import StageVerdict, Verdict

START_EMPTY = "give it another name to start it empty"


class Form(Enum):
    """The form in which Spark keeps the state, which decides how its rows are read and given back."""

    KEYED = "one row a key: named fields, and the time of the key's last event"
    FRAMES = "one row of accumulators a key and frame; where windows slide, also one a key and window"
    SESSIONS = "one row of accumulators a key and session"
    RAW = "as Spark's own operator likes it: shown as it is, and never given back"


class Fact(StrEnum):
    """A fact about a job's saved state that its plan does not tell: it is read from the state, as a parameter of its layout."""

    VARIABLES = "variables"
    """The variables of a user's processor (plan/variables.py)."""
    LAST_FRAME = "last_frame_ms"
    """The end of the last window frame that has rows, in ms since the epoch."""


class Compare(Protocol):
    """A rule for a stage's state when its layout changes from ``old`` to ``new``.

    Both are of the same kind and have the same keys. ``watermark_ms`` is that of the saved state, None if not known.
    """

    def __call__(self, name: str, old: StateLayout, new: StateLayout, watermark_ms: int | None) -> StageVerdict: ...


class Unknown(Protocol):
    """A rule that names the fact of the saved state to read before its layout can be compared with ``new``; None if all is told.

    Both are of the same kind.
    """

    def __call__(self, old: StateLayout, new: StateLayout) -> Fact | None: ...


def nothing_unknown(old: StateLayout, new: StateLayout) -> Fact | None:
    """Return None: the plan tells all."""
    return None


@dataclass(frozen=True)
class KindRules:
    """The facts about a kind of state, beside the way it is lowered."""

    words: str
    """The name of a stage of the kind, for messages: ``a window``."""
    form: Form
    compare: Compare
    unknown: Unknown = nothing_unknown
    is_plain: bool = False
    """True if it keeps what Spark's own operator keeps in a query of plain Spark, which then goes on as it is."""

    @property
    def windowed(self) -> bool:
        """True if the state is kept by windows of event time."""
        return self.form in (Form.FRAMES, Form.SESSIONS)

    @property
    def feedable(self) -> bool:
        """True if the state can be given as rows: by a conversion, a migration or an import."""
        return self.form is not Form.RAW


def rules_of(kind: StageKind) -> KindRules:
    """Return the record of a kind that keeps state."""
    rules: KindRules = importlib.import_module(f"{__name__}.{kind.value}").RULES
    return rules


def goes_on(name: str) -> StageVerdict:
    """Return the verdict on state that is taken over as it is."""
    return StageVerdict(name, Verdict.RESTORED, "its state goes on", "C03")


def refused(name: str, what: str, rule: str, remedy: str = START_EMPTY) -> StageVerdict:
    """Return the verdict on state that cannot be taken over: ``what`` is wrong, and what to do."""
    return StageVerdict(name, Verdict.REFUSED, f"{what}: {remedy}", rule)
