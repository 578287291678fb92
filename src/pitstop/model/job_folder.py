"""The folder that a job has in the data folder (model.data_folder)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CHECKPOINT_PREFIX = "checkpoint-"


@dataclass(frozen=True)
class JobFolder:
    """The folder of one job."""

    root: Path

    @property
    def log(self) -> Path:
        """All that the job's runs print, one after the other; full parts stand beside it (machine.rotating).

        Written by the processes that take what runs print, read by ``logs``; stays as long as the job.
        """
        return self.root / "runner.log"

    @property
    def log_levels(self) -> Path:
        """Levels of loggers for this job's runs, over those for all. Written by ``log-level``, read by the runs."""
        return self.root / "log-levels.json"

    @property
    def questions(self) -> Path:
        """Questions to the job's run, and its answers (machine.questions). Each file is there for as long as its asker waits."""
        return self.root / "questions"

    @property
    def socket(self) -> Path:
        """The socket that wakes the job's run. The run makes it, and removes it at its end; the control plane writes to it."""
        return self.root / "runner.sock"

    @property
    def work(self) -> Path:
        """Scratch files of the job's runs: Spark's own, and what sources agree on. Removed when the job ends."""
        return self.root / "work"

    @property
    def withdrawable(self) -> Path:
        """Notes of the files of versions that a rollback may undo: a folder for each update, by its operation."""
        return self.root / "withdrawable"

    @property
    def outputs(self) -> Path:
        """Notes of the folders that the job's file sinks have written into, one for each lineage and sink.

        Written by runners; read after a data folder was put back, to find the files that are later than it.
        """
        return self.root / "outputs"

    def checkpoint(self, lineage: str) -> Path:
        """A checkpoint of Spark. Written by runners; removed when the job ends, or goes on with another lineage."""
        return self.root / f"{CHECKPOINT_PREFIX}{lineage}"
