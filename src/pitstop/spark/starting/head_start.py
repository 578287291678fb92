"""What was done for a run of a job before there was one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pitstop.model.config import StateStore
from pitstop.spark.starting.gated_query import GatedQuery


@dataclass(frozen=True)
class HeadStart:
    """What a rehearsal has left for the run that starts next; nothing, if there was none."""

    laid_down: Path | None = None
    """Where the empty checkpoint of the job's structure is kept once it is laid down, for each restore under its plan."""
    gated: GatedQuery | None = None
    """The job's query, which waits for its checkpoint."""
    store: StateStore | None = None
    """Where the state was in the rehearsal, and so in that query."""
