"""The sizes of each stage's state, as a run has last told them, for the manifest of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pitstop.plan.model import Plan


def state_sizes(plan: Plan, stages: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return stage -> {operators, rows, bytes} of its state; ``stages`` are those of a run's progress.

    An unknown figure is None.
    """
    sizes: dict[str, dict[str, Any]] = {}
    for number, slot in enumerate(plan.operators):
        figures = stages.get(slot.stage, {})
        size = sizes.setdefault(slot.stage, {"operators": []})
        size["operators"].append(number)
        size |= {"rows": figures.get("state_rows"), "bytes": figures.get("state_bytes")}
    return sizes
