"""The files that each epoch of a file sink has written: manifests, by which an epoch is written once and can be withdrawn.

An epoch's files are written aside, by each run into a folder of its own, and listed in ``_pitstop/<lineage>/<sink>/<epoch>.json``
(that rename is the commit). Then they are moved into place under names that the epoch fixes. Killed before the commit, the epoch
is written anew; killed after it, the same moves are made again. A reader of the folder never sees a file of an epoch that is not
committed. No other run can take the job between the check of its owner and the rename.

A manifest has the digest of its epoch (snapshots.epoch_digest). Where the saved state was put back from an older copy, or two
servers go on from one copy, the same number stands for other rows: that is an error, and nothing is written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from pitstop.control.ports.ownership import Ownership
from pitstop.errors import OtherEpochError
from pitstop.machine.private import usual_mode

CONTROL = "_pitstop"
ASIDE = "withdrawn-"
"""The prefix of the names of folders, beside those of lineages, with files that were set aside."""
_EPOCH = re.compile(r"(\d+)[.-]")
_RUN = re.compile(r"\d+-(\d+)\.staging")


@dataclass(frozen=True)
class WrittenFiles:
    """The files that one epoch has written: the content of its manifest."""

    staging: str
    """The name of the folder in which they stood aside."""
    moves: dict[str, str]
    """File below that folder -> its name below the sink's folder."""
    digest: str | None = None
    """The digest of the epoch. None: it has none, or a release that knew no digests wrote it."""
    job: str | None = None
    """The id of the job that has written it. None: a release that did not record it wrote it."""

    @property
    def token(self) -> int | None:
        """The number of the run that has written it; None if the run has none."""
        run = _RUN.fullmatch(self.staging)
        return int(run[1]) if run is not None else None


@dataclass(frozen=True)
class FileEpochs:
    """The epochs of one sink on one lineage."""

    folder: str
    """The sink's folder, absolute."""
    lineage: str
    sink: str

    @property
    def control(self) -> Path:
        """The folder of its manifests, and of files that are written aside."""
        return Path(self.folder) / CONTROL / self.lineage / self.sink

    def staging(self, epoch: int, run: str) -> Path:
        """Return the folder in which the run writes the epoch's files aside."""
        return self.control / f"{epoch}{run}.staging"

    def name(self, epoch: int, number: int, suffix: str) -> str:
        """Return the name in the sink's folder of one of the epoch's files."""
        return f"{self.sink}-{self.lineage}-{epoch:08d}-{number:03d}{suffix}"

    def is_committed(self, epoch: int, digest: str | None = None) -> bool:
        """Return True if the epoch is written. OtherEpochError if it is another one by its digest, where both are known."""
        try:
            written = self._read(self._manifest(epoch))
        except FileNotFoundError:
            return False
        if None not in (digest, written.digest) and digest != written.digest:
            raise self._other_epoch(epoch)
        return True

    def check_is_last(self, epoch: int) -> None:
        """Raise OtherEpochError if a later epoch is written: the state with which this one begins is older than the folder."""
        last = max(self._committed(), default=-1)
        if last > epoch:
            raise self._other_epoch(last)

    def check_no_later_run(self, job: str, token: int) -> None:
        """Raise OtherEpochError if this run, or a later one, has written here on another lineage: the job was put back since.

        ``token`` is the number of this run. Runs of a job have ever higher numbers, and each writes on one lineage.
        """
        for other in lineages_in(Path(self.folder), self.sink):
            last = max(other._committed(), default=None) if other.lineage != self.lineage else None
            written = other._read(other._manifest(last)) if last is not None else None
            if written is not None and written.job == job and written.token is not None and written.token >= token:
                raise self._other_epoch(last or 0)

    def commit(
        self, epoch: int, written: WrittenFiles, ownership: Ownership, notes: Path | None, outputs: Path | None = None
    ) -> bool:
        """Commit an epoch; FencedError if the run has lost its job. Return True if it may have to be withdrawn.

        In that case the place of the files is noted below ``notes``, so that they can be withdrawn. It is always noted below
        ``outputs``, so that a data folder that is put back finds them. OtherEpochError if somebody else has committed it
        meanwhile, or a later one.
        """
        path = self._manifest(epoch)
        temporary = path.with_name(f"{written.staging}.tmp")
        _write(temporary, dataclasses.asdict(written))
        if outputs is not None:
            self._note(outputs)
        with ownership.held() as update:
            if update is not None and notes is not None:
                self._note(notes / str(update))
            self.check_is_last(epoch)
            if self.is_committed(epoch, written.digest):
                raise self._other_epoch(epoch)
            temporary.rename(path)
        return update is not None

    def put_in_place(self, epoch: int) -> None:
        """Move the files of a committed epoch to where readers see them."""
        written = self._read(self._manifest(epoch))
        for source, target in written.moves.items():
            path = self.control / written.staging / source
            with contextlib.suppress(FileNotFoundError):  # moved before
                open_folder((Path(self.folder) / target).parent)
                # What is written is for others to read, as far as the user lets them; all else of a run is its user's alone.
                path.chmod(usual_mode(0o666))
                path.rename(Path(self.folder) / target)
        shutil.rmtree(self.control / written.staging, ignore_errors=True)

    def forget_before(self, epoch: int, manifests: bool) -> None:
        """Remove what killed runs have left of earlier epochs; their manifests, too, unless they may be needed."""
        for path in self.control.iterdir():
            number = _EPOCH.match(path.name)
            if number is not None and int(number.group(1)) < epoch and (manifests or path.suffix != ".json"):
                _remove(path)

    def withdraw(self) -> int:
        """Remove all files that its epochs have written; return their number. May be cut off and done again."""
        count = 0
        for path in sorted(self.control.glob("*.json")):
            written = self._read(path)
            # First: a run that could not be ended moves no more of them into place.
            shutil.rmtree(self.control / written.staging, ignore_errors=True)
            for target in written.moves.values():
                with contextlib.suppress(FileNotFoundError):  # not moved into place yet, or removed before
                    (Path(self.folder) / target).unlink()
                    count += 1
                self._remove_empty_folders((Path(self.folder) / target).parent)
            path.unlink()
        shutil.rmtree(self.control, ignore_errors=True)
        return count

    def set_aside_after(self, last: int, aside: Path) -> int:
        """Move all files of later epochs into a folder; return their number. May be cut off and done again.

        Most manifests are forgotten by then, so the names of the files decide.
        """
        count = 0
        own = re.compile(re.escape(f"{self.sink}-{self.lineage}-") + r"(\d{8,})-\d{3,}(?:\D.*)?")
        for folder, folders, names in os.walk(self.folder):
            if folder == self.folder and CONTROL in folders:
                folders.remove(CONTROL)
            for name in names:
                epoch = own.fullmatch(name)
                if epoch is not None and int(epoch[1]) > last:
                    path = Path(folder) / name
                    target = aside / path.relative_to(self.folder)
                    open_folder(target.parent)
                    path.rename(target)
                    self._remove_empty_folders(path.parent)
                    count += 1
        for path in self.control.glob("*"):  # last: while a manifest is there, this is not done
            number = _EPOCH.match(path.name)
            if number is not None and int(number[1]) > last:
                _remove(path)
        return count

    def last_writer(self) -> str | None:
        """Return the id of the job that has committed its last epoch, if that is known."""
        last = max(self._committed(), default=None)
        return self._read(self._manifest(last)).job if last is not None else None

    def _remove_empty_folders(self, folder: Path) -> None:
        """Remove the folder of a partition with its last file."""
        with contextlib.suppress(OSError):  # not empty, or gone
            while folder != Path(self.folder):
                folder.rmdir()
                folder = folder.parent

    def _committed(self) -> list[int]:
        with contextlib.suppress(FileNotFoundError):
            return [int(name[:-5]) for name in os.listdir(self.control) if name.endswith(".json") and name[:-5].isdigit()]
        return []

    def _other_epoch(self, epoch: int) -> OtherEpochError:
        return OtherEpochError(
            f"Sink '{self.sink}' has epoch {epoch} in {self.folder} already, and it does not belong to this job's saved state: "
            "the data folder was put back from an older copy, or another server runs a copy of it. After putting back, stop the "
            "server, remove the newer rows from the outputs with 'pitstop withdraw --data DATA', start it and resume the job; "
            "where another server writes there, give one of the two another folder (docs/backup.md)."
        )

    def _manifest(self, epoch: int) -> Path:
        return self.control / f"{epoch}.json"

    def _read(self, path: Path) -> WrittenFiles:
        manifest = json.loads(path.read_text())
        # Before runs had folders of their own, a manifest was the moves alone.
        old = not isinstance(manifest.get("moves"), dict)
        if old:
            return WrittenFiles(f"{path.stem}.staging", manifest)
        return WrittenFiles(manifest["staging"], manifest["moves"], manifest.get("digest"), manifest.get("job"))

    def _note(self, folder: Path) -> None:
        note = folder / f"{self.lineage}-{self.sink}.json"
        if not note.exists():
            temporary = note.with_suffix(".tmp")
            _write(temporary, dataclasses.asdict(self))
            temporary.rename(note)


def noted(folder: Path) -> list[FileEpochs]:
    """Return the epochs of the sinks whose files are noted in a folder of notes."""
    return [FileEpochs(**json.loads(note.read_text())) for note in sorted(folder.glob("*.json"))]


def lineages_in(folder: Path, sink: str) -> list[FileEpochs]:
    """Return the epochs that a sink of that name has written into a folder, by lineage."""
    controls = sorted((folder / CONTROL).glob("*"))
    lineages = [path.name for path in controls if not path.name.startswith(ASIDE) and (path / sink).is_dir()]
    return [FileEpochs(str(folder), lineage, sink) for lineage in lineages]


def open_folder(folder: Path) -> None:
    """Make a folder, and missing ones above it, with the permissions that the user's own folders would have."""
    if not folder.exists():
        open_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(usual_mode(0o777))


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
