"""The effects of an update: a verdict for each stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pitstop.kit.wire import described


class Verdict(StrEnum):
    """The fate of a stage."""

    RESTORED = "restored"
    NEW = "new"
    DROPPED = "dropped"
    CONVERTED = "converted"
    REFUSED = "refused"


class Way(StrEnum):
    """A way to restore state (design: three ways)."""

    RESUME = "resume"
    """For the same stateful structure: the checkpoint is copied and resumed."""
    REBUILD = "rebuild"
    """For another structure: a new checkpoint is laid down and each stage's state brought into it."""


DROPPED_SOURCE, NEW_SOURCE = "C05", "C04"
"""The rules of a source that is dropped with its place, and of one that is read from its configured start."""
SOUGHT_SOURCE = "C32"
"""The rule of a source that is put to another place than its saved one (option seek)."""
OWN_STATE = "C31"
"""The rule of the variables in which a user's own code keeps state."""


@described
@dataclass(frozen=True)
class StageVerdict:
    """The fate of one stage."""

    stage: str
    """Name of the stage."""
    verdict: Verdict
    """The fate of its state."""
    detail: str
    """Why, or how: a clause that goes on the stage's name."""
    rule: str | None = None
    """Number of the rule that has decided, such as ``C17``."""

    def to_dict(self) -> dict[str, Any]:
        return {"stage": self.stage, "verdict": self.verdict.value, "detail": self.detail, "rule": self.rule}


@dataclass(frozen=True)
class SourceFate:
    """The fate of a source's saved place, as the source's kind has found it at the servers that the source reads from."""

    detail: str = ""
    """A clause that goes on the line of the source; empty: there is nothing to tell."""
    refused: bool = False
    """True if the saved place means nothing there."""
    sought: bool = False
    """True if the source goes on at another place, because the option ``seek`` says so."""
    again: bool = False
    """True if it then reads rows again."""


@described
@dataclass(frozen=True)
class Report:
    """A verdict for each stage with state, or with an offset, and how the state is restored."""

    lines: tuple[StageVerdict, ...]
    """A line for each of these stages."""
    way: Way
    """The way in which the state is restored."""
    partitions: tuple[int | None, int | None] = (None, None)
    """Shuffle partitions before and after; None: not said."""
    renamed: dict[str, str] = field(default_factory=dict)
    """New name -> old name, of the stages whose state goes on under another name."""
    needs_allow_drop: tuple[str, ...] = ()
    """Stages and sources that would be dropped without leave: the option ``allow_drop`` names none of them."""

    @property
    def refused(self) -> bool:
        return any(line.verdict is Verdict.REFUSED for line in self.lines)

    @property
    def refusals(self) -> tuple[StageVerdict, ...]:
        return tuple(line for line in self.lines if line.verdict is Verdict.REFUSED)

    @property
    def reasons(self) -> str:
        """The reasons of all refusals, each with its rule."""
        return "; ".join(f"stage '{line.stage}' {line.detail} [{line.rule}]" for line in self.refusals)

    @property
    def drops(self) -> str:
        """The stages and sources that would be dropped without leave, in words."""
        lines = [line for line in self.lines if line.stage in self.needs_allow_drop and line.verdict is Verdict.DROPPED]
        sources = [f"'{line.stage}'" for line in lines if line.rule in (DROPPED_SOURCE, SOUGHT_SOURCE)]
        variables = [f"'{line.stage}'" for line in lines if line.rule == OWN_STATE]
        stages = [f"'{line.stage}'" for line in lines if line.rule not in (DROPPED_SOURCE, SOUGHT_SOURCE, OWN_STATE)]
        kinds = (("variables in stage", variables), ("stage", stages), ("source", sources))
        return " and ".join(f"{kind}{'s' if len(names) > 1 else ''} {', '.join(names)}" for kind, names in kinds if names)

    @property
    def takes_over_nothing(self) -> bool:
        """True if there was something to take over, and none of it is."""
        dropped = [line for line in self.lines if line.verdict is Verdict.DROPPED]
        sought = any(line.rule == SOUGHT_SOURCE for line in dropped)
        return bool(dropped) and not sought and not self.of(Verdict.RESTORED) and not self.of(Verdict.CONVERTED)

    @property
    def leave_to_drop(self) -> str:
        """The option that lets them be dropped after all, in words, and the one that may be meant instead."""
        renamable = any(line.verdict is Verdict.NEW and line.rule != OWN_STATE for line in self.lines)
        renamed = "; for a stage that only has another name, give --renamed NEW=OLD" if renamable else ""
        names = ",".join(self.needs_allow_drop)
        return f"if that is meant, say --allow-drop={names} (option allow_drop, in SQL allowDrop){renamed}"

    def of(self, verdict: Verdict | str) -> tuple[str, ...]:
        """Names of the stages with this verdict."""
        return tuple(line.stage for line in self.lines if line.verdict == verdict)

    def with_details(self, details: Mapping[str, str]) -> Report:
        """The report with words added to the details of some stages (stage -> words)."""
        lines = [
            dataclasses.replace(line, detail=f"{line.detail}: {details[line.stage]}") if line.stage in details else line
            for line in self.lines
        ]
        return dataclasses.replace(self, lines=tuple(lines))

    def to_dict(self) -> dict[str, Any]:
        return {
            "refused": self.refused,
            "way": self.way.value,
            "lines": [line.to_dict() for line in self.lines],
            "partitions": list(self.partitions),
            "needs_allow_drop": list(self.needs_allow_drop),
        }

    def text(self) -> str:
        """The report as a person reads it, a line a stage."""
        width = max((len(line.stage) for line in self.lines), default=0)
        rows = [
            f"{line.stage:<{width}}  {line.verdict.value:<9}  {line.detail}" + (f" [{line.rule}]" if line.rule else "")
            for line in self.lines
        ]
        if self.needs_allow_drop:
            other = "Nothing saved is taken over: this looks like another job. " if self.takes_over_nothing else ""
            rows.append(f"{other}An update that would drop {self.drops} is refused: {self.leave_to_drop}.")
        return "\n".join(rows) if rows else "Nothing to restore: neither version keeps state."
