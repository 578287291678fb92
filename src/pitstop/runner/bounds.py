"""The bounds of a run: the number of rows of state that its stages may hold."""

from __future__ import annotations

from typing import Any

from pitstop.errors import EngineError
from pitstop.model.config import JobConfig
from pitstop.model.job import Progress
from pitstop.plan.kinds import rules_of
from pitstop.plan.model import Plan


class Bounds:
    """The bounds of one run, by its plan in its stored form and the options in force."""

    def __init__(self, plan: dict[str, Any], config: JobConfig) -> None:
        self._most = config.max_accumulated_records
        layouts = Plan.from_dict(plan).stateful.items() if self._most is not None else ()
        # The end of a window frees its state; other state may grow without an end.
        self._counted = tuple(name for name, layout in layouts if not rules_of(layout.kind).windowed)

    def exceeded(self, progress: Progress) -> EngineError | None:
        """Return the error for which the run must end; None if it may go on."""
        for name in self._counted:
            rows = progress.stages.get(name, {}).get("state_rows") or 0
            if self._most is not None and rows > self._most:
                return EngineError(
                    f"Stage '{name}' holds {rows:,} rows of state, and the option max_accumulated_records allows {self._most:,}: "
                    "raise it by an update, or let the stage forget (a time to live, fewer keys)."
                )
        return None
