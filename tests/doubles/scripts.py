"""Artifacts whose comments say what their job does, one directive a line:

``# stage: speed bigint``   it has a window stage of that name with an accumulator of that Spark type
``# source: drops``         the name of its source, else ``source``
``# sink: out``             it has a sink of that name
``# into: the map 'm'``     the place that the sink writes into; without it nobody knows, as of a plan of an older release. Rows
                            come beside those of a folder, and in the place of those of a map
``# fails: No such column`` it fails with that sentence before it runs
``# completes``             it comes to its end at once
``# hangs``                 it stays in STARTING
``# breaks``                its runs break off and are started again, until it waits for its next start
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.plan.model import OperatorSlot, Plan, PlanStage

_DIRECTIVE = re.compile(r"^# (stage|source|sink|into|fails|completes|hangs|breaks)(?:: *(.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """The directives of an artifact, and the plan that they describe."""

    plan: Plan
    does: dict[str, str]
    """The directives -> the words after them."""

    @classmethod
    def read(cls, artifact: str | Path) -> Script:
        """Read the directives of an artifact. UsageError if a stage has no type."""
        directives = _DIRECTIVE.findall(Path(artifact).read_text())
        stages = [words.split() for directive, words in directives if directive == "stage"]
        if any(len(words) != 2 for words in stages):
            raise UsageError(f"{artifact}: write '# stage: name type'.")
        does = dict(directives)
        return cls(_plan(stages, does.get("source", "source"), does.get("sink"), does.get("into")), does)


def _plan(stages: list[list[str]], name: str, sink: str | None, place: str | None) -> Plan:
    source = PlanStage(name, StageKind.SOURCE, "source", (), "csv_tail")
    windows = [
        PlanStage(stage, StageKind.WINDOW, "window_aggregate", (name,), f"window of {kind}", layout=_layout(kind))
        for stage, kind in stages
    ]
    sinks = []
    if sink is not None:
        adds = place is not None and place.startswith("the folder")
        sinks.append(PlanStage(sink, StageKind.SINK, "sink", (name,), "sink files", transactional=True, place=place, adds=adds))
    return Plan((source, *windows, *sinks), tuple(OperatorSlot(stage.name, "frames") for stage in windows))


def _layout(kind: str) -> StateLayout:
    window = {"size_ms": 60_000, "slide_ms": 60_000, "text": "tumbling(1 minutes)"}
    return StateLayout(StageKind.WINDOW, (("vin", "string"),), (("n__0", kind),), (("n", "sum"),), window)
