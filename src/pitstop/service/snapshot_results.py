"""The answers of the service about snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pitstop.kit.wire import described
from pitstop.model.report import Report


@described
@dataclass(frozen=True)
class Difference:
    """Something in which two snapshots differ."""

    what: str
    """The thing that differs."""
    a: Any
    """In the first; null: it is not there."""
    b: Any
    """In the second; null: it is not there."""


@dataclass(frozen=True)
class SnapshotDiff:
    """Two snapshots compared."""

    differences: list[Difference]
    """All that differs but the names."""
    report: Report
    """The fate that the first one's state would have under the second one's pipeline."""
