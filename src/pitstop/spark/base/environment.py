"""What a running job is told of the world around it. The root that starts the engine fills it in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.maps.ports import Fence, MapStore
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.lowering.source import SourceSettings


@dataclass(frozen=True)
class Environment:
    """One run of one job."""

    job_id: str
    job_name: str
    lineage: str
    guarantee: ProcessingGuarantee
    work_dir: Path
    """For scratch files of this run."""
    log: Callable[[str, str, str], None]
    """``log(level, logger, message)`` writes one line of the job's log."""
    check_fence: Callable[[], None] = lambda: None
    """Raises FencedError once another run has taken the job over."""
    fence: Fence | None = None
    maps: MapStore | None = None
    sources: SourceSettings = field(default_factory=SourceSettings)
