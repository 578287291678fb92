"""The facts about the world around it that a running job is given. The root that starts the engine fills them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pitstop.control.ports.ownership import NoOtherRun, Ownership
from pitstop.maps.ports import Fence, MapStore
from pitstop.model.config import MAX_AHEAD_MS, Execution, JobConfig, ProcessingGuarantee
from pitstop.model.left_out import LeftOut

LATENCY_IN_ENGINE_MS = 1_000
"""The latency of jobs in an engine that they share, where none is asked for (option max_latency)."""


@dataclass(frozen=True)
class SourceSettings:
    """The settings that every reader of a job gets beside its own options."""

    job: str = "job"
    store_url: str | None = None
    store_factory: str | None = None
    """``module:function`` that opens the MapStore from ``store_url`` in a worker process."""
    admission: str | None = None
    """The file that tells sources their share, see spark.base.admission."""
    agreements: str | None = None
    """The folder in which several readers of one source agree on where each epoch ends."""
    extra: dict[str, str] = field(default_factory=dict)

    @classmethod
    def working_in(cls, folder: Path, job: str, store_url: str | None, store_factory: str | None) -> SourceSettings:
        """Return the settings of a job whose readers keep their files in ``folder``."""
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
    """The facts that one run of one job is given. ``lineage`` names its checkpoint; it is empty until that is known."""

    job_id: str
    job_name: str
    lineage: str
    guarantee: ProcessingGuarantee
    work_dir: Path
    """Folder for scratch files of this run."""
    log: Callable[[str, str, str], None]
    """``log(level, logger, message)`` writes one line of the job's log."""
    ownership: Ownership = field(default_factory=NoOtherRun)
    """Tells if the run still owns its job."""
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
    """The digest of the epoch that is being written (snapshots.epoch_digest), if it has one."""
    begins: Callable[[], None] = lambda: None
    """Notes that sinks begin to get the epoch that is being written. It is called right before any part of the epoch reaches a
    sink."""
    left_out: Callable[[str, LeftOut, int], None] = lambda stage, reason, rows: None
    """Counts the rows that a stage leaves out, among those that are checked within an epoch."""
    max_ahead_ms: int | None = MAX_AHEAD_MS
    """The longest that times may be ahead of the clock, in milliseconds, where the code does not say (option max_ahead)."""
    count_rows: bool = True
    """True if the rows that stages take and give are counted (option metrics_enabled)."""

    in_engine: bool = False
    """True if the job shares its JVM with others (option engine)."""
    latency_ms: int = 0
    """The longest that the results of a row may take, in milliseconds; 0: no time lies between epochs (spark.running.pace)."""

    real_time_ms: int | None = None
    """The length of an epoch in real time, in milliseconds; None: the job runs in epochs (option execution)."""

    def by_options(self, config: JobConfig) -> Environment:
        """Return the environment with what the options of the job say of its rows."""
        usual_ms = LATENCY_IN_ENGINE_MS if self.in_engine else 0
        latency_ms = usual_ms if config.max_latency_ms is None else config.max_latency_ms
        real_time_ms = config.snapshot_interval_ms if config.execution is Execution.REALTIME else None
        return replace(
            self,
            count_rows=config.metrics_enabled,
            max_ahead_ms=config.max_ahead_ms,
            latency_ms=latency_ms,
            real_time_ms=real_time_ms,
        )
