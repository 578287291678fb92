"""The preparations for a run of a job that were made before the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pitstop.model.config import StateStore
from pitstop.spark.starting.gated_query import GatedQuery


@dataclass(frozen=True)
class HeadStart:
    """The results of a rehearsal for the run that starts next; empty if there was none."""

    laid_down: Path | None = None
    """The folder that keeps the empty checkpoint of the job's structure once it is laid down, for each restore under its plan."""
    gated: GatedQuery | None = None
    """The job's query, which waits for its checkpoint."""
    store: StateStore | None = None
    """The store of the state in the rehearsal, and so in that query."""
