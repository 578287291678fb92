"""The port of processes that do single tasks, and of warm runners that are held back for an update."""

from __future__ import annotations

from typing import Protocol

from pitstop.model.adoption import Adoption
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import Adopt, Compilation, Compile, ExportState, ImportState, QueryState, Rehearse, StateRows


class Standby(Protocol):
    """A warm runner that is held back and gets ready for one version of a job."""

    @property
    def id(self) -> str: ...

    def compile(self, task: Compile) -> Compilation:
        """Compile the version and keep it compiled; raise the error of a faulty version."""
        ...

    def rehearse(self, task: Rehearse) -> None:
        """Start the compiled version once from a copy of a checkpoint; raise the error that keeps it from starting."""
        ...


class Workers(Protocol):
    """Processes that do one task each, and warm runners that can be held back for an update. Errors are PitstopError."""

    def compile(self, task: Compile) -> Compilation: ...

    def query_state(self, task: QueryState) -> StateRows: ...

    def export_state(self, task: ExportState) -> None: ...

    def import_state(self, task: ImportState) -> SnapshotRecord: ...

    def adopt(self, task: Adopt) -> Adoption: ...

    def hold(self, seconds: float) -> Standby | None:
        """Reserve a warm runner and return it; None if none is ready within ``seconds``."""
        ...

    def release(self, standby: str) -> None:
        """End a held runner, unless it has been given its run."""
        ...
