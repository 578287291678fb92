"""The withdrawal of a version's output from files, lake tables and maps, when its job goes back to the version before."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from pitstop.maps.ports import MapStore
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job
from pitstop.outputs.delta_commits import noted_commits
from pitstop.outputs.file_epochs import noted
from pitstop.outputs.iceberg_commits import noted_iceberg_commits


class KeptOutputs:
    """Outputs (control.ports): files by manifests of their epochs, tables by their commits, maps by old values in their store."""

    def __init__(self, maps: MapStore, data: DataFolder) -> None:
        self._maps, self._data = maps, data

    def withdraw(self, job_id: str, operation: int) -> tuple[int, int]:
        notes = self._data.job(job_id).withdrawable / str(operation)
        files = sum(epochs.withdraw() for epochs in noted(notes))
        files += sum(commits.withdraw() for commits in noted_commits(notes))
        files += sum(commits.withdraw() for commits in noted_iceberg_commits(notes))
        shutil.rmtree(notes, ignore_errors=True)
        return files, self._maps.withdraw(operation)

    def forget(self, find: Callable[[str], Job | None]) -> None:
        self._maps.forget_withdrawable()
        for folder in self._data.jobs.glob("*"):
            for notes in self._data.job(folder.name).withdrawable.glob("*"):
                # The job is read after its notes were found: those of its present update are never among what goes.
                job = find(folder.name)
                if job is None or str(job.withdrawable) != notes.name:
                    shutil.rmtree(notes, ignore_errors=True)
