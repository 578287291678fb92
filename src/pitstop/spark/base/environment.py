"""What a running job is told of the world around it. The root that starts the engine fills it in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pitstop.control.ports import NoOtherRun, Ownership
from pitstop.maps.ports import Fence, MapStore
from pitstop.model.config import MAX_AHEAD_MS, JobConfig, ProcessingGuarantee
from pitstop.model.left_out import LeftOut


@dataclass(frozen=True)
class SourceSettings:
    """What every reader of a job is told beside its own options."""

    job: str = "job"
    store_url: str | None = None
    store_factory: str | None = None
    """``module:function`` that opens the MapStore from ``store_url`` in a worker process."""
    admission: str | None = None
    """File that tells sources their share, see spark.base.admission."""
    agreements: str | None = None
    """Folder in which several readers of one source agree on where each epoch ends."""
    extra: dict[str, str] = field(default_factory=dict)

    @classmethod
    def working_in(cls, folder: Path, job: str, store_url: str | None, store_factory: str | None) -> SourceSettings:
        """The settings of a job whose readers keep their files in ``folder``."""
        return cls(job, store_url, store_factory, str(folder / "admission.json"), str(folder / "agreements"))

    def options(self, stage: str) -> dict[str, str]:
        pairs = {
            "job": self.job,
            "stage": stage,
            "store": self.store_url,
            "storeFactory": self.store_factory,
            "admission": self.admission,
            "agreements": self.agreements,
        }
        return {key: value for key, value in pairs.items() if value is not None} | self.extra


@dataclass(frozen=True)
class Environment:
    """What one run of one job is told. ``lineage`` names its checkpoint; it is empty until that is known."""

    job_id: str
    job_name: str
    lineage: str
    guarantee: ProcessingGuarantee
    work_dir: Path
    """Folder for scratch files of this run."""
    log: Callable[[str, str, str], None]
    """``log(level, logger, message)`` writes one line of the job's log."""
    ownership: Ownership = field(default_factory=NoOtherRun)
    """Whether the run still has its job."""
    notes: Path | None = None
    """Folder for notes of what a version has written that may be gone back from; None if it never is."""
    outputs: Path | None = None
    """Folder for notes of where its file sinks write; None: nobody asks for them."""
    fence: Fence | None = None
    maps: MapStore | None = None
    sources: SourceSettings = field(default_factory=SourceSettings)
    known_as: tuple[tuple[str, int], ...] = ()
    """Lineages and numbers by which sinks know the epoch that is being written, if versions before have begun it."""
    digest: str | None = None
    """That of the epoch that is being written (snapshots.epoch_digest), if it has one."""
    begins: Callable[[], None] = lambda: None
    """Notes that sinks begin to get the epoch that is being written; it is called right before anything of it is in one."""
    left_out: Callable[[str, LeftOut, int], None] = lambda stage, reason, rows: None
    """Counts rows that a stage leaves out, of those that are looked at within an epoch."""
    max_ahead_ms: int | None = MAX_AHEAD_MS
    """How far ahead of the clock times may be where the code does not say (option max_ahead)."""
    count_rows: bool = True
    """Whether the rows that stages take and give are counted (option metrics_enabled)."""

    def by_options(self, config: JobConfig) -> Environment:
        """Return the environment with what the options of the job say of its rows."""
        return replace(self, count_rows=config.metrics_enabled, max_ahead_ms=config.max_ahead_ms)
