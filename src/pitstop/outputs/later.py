"""Files that sinks have written later than the saved state of a data folder, which was put back from an older copy.

The jobs will write those rows again, in other epochs. So the files are set aside, below ``_pitstop`` in the folder of their sink,
where no reader looks. Nothing is removed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pitstop.errors import OtherEpochError
from pitstop.model.data_folder import DataFolder
from pitstop.outputs.file_epochs import ASIDE, CONTROL, FileEpochs, lineages_in, noted
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.epoch_digest import digest_of


@dataclass(frozen=True)
class SetAside:
    """The files of one sink that were set aside."""

    job_id: str
    sink: str
    folder: str
    files: int | None
    """The number of files that were set aside; None: there is no such folder here."""
    aside: str
    """The place where they are now."""


def set_aside_later(data: DataFolder) -> list[SetAside]:
    """Set aside the files that all jobs have written after the epochs that the data folder knows. No run may go on meanwhile.

    May be cut off and done again.
    """
    stamp = f"{ASIDE}{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    folders = []
    for folder in sorted(data.jobs.glob("*")):
        notes = noted(data.job(folder.name).outputs)
        for place, sink in sorted({(note.folder, note.sink) for note in notes}):
            aside, files = Path(place) / CONTROL / stamp, None
            if Path(place).is_dir():
                here = [note for note in notes if (note.folder, note.sink) == (place, sink)]
                files = _set_aside(data, folder.name, here, Path(place), sink, aside)
            folders.append(SetAside(folder.name, sink, place, files, str(aside)))
    return folders


def _set_aside(data: DataFolder, job_id: str, notes: Iterable[FileEpochs], place: Path, sink: str, aside: Path) -> int:
    """Set aside later files of one sink in one folder, whose notes are ``notes``; return their number."""
    count, lineages = 0, set()
    for epochs in notes:
        lineages.add(epochs.lineage)
        checkpoint = Checkpoint(data.job(job_id).checkpoint(epochs.lineage))
        if checkpoint.planned() >= 0:  # else it is over, or a batch: it has written all that it ever will
            count += epochs.set_aside_after(_last_of(checkpoint, epochs), aside)
    for later in lineages_in(place, sink):
        # A version that the job had later.
        if later.lineage not in lineages and later.last_writer() == job_id:
            count += later.set_aside_after(-1, aside)
    return count


def _last_of(checkpoint: Checkpoint, epochs: FileEpochs) -> int:
    """Return the last epoch that a run from this checkpoint does not write, or finds written already."""
    committed, planned = checkpoint.committed(), checkpoint.planned()
    with contextlib.suppress(OtherEpochError):
        if planned > committed and epochs.is_committed(planned, digest_of(checkpoint, planned)):
            return planned
    return committed
