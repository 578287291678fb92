"""The real epochs of a file sink, whose process dies before any of its operations on files, one after the other."""

import sys
from contextlib import contextmanager
from itertools import count

import pytest

from pitstop.control.ports.ownership import NoOtherRun
from pitstop.model.data_folder import DataFolder
from pitstop.outputs.file_epochs import FileEpochs, WrittenFiles
from pitstop.outputs.kept import KeptOutputs
from tests.maps import map_store
from tests.simulation.fragile import Moments

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod"}
JOB, UPDATE = "0000-0000-0000-0001", 7
EPOCHS = range(3)


class Disk(Moments):
    """Counts what Python tells of changes of files below a folder: before one of them the process dies."""

    folder = None

    def hear(self, event, arguments):
        changes = event in CHANGES or (event == "open" and isinstance(arguments[1], str) and "w" in arguments[1])
        if self.folder is not None and changes and str(self.folder) in f"{arguments[0]}{self._of_open_folder(event, arguments)}":
            self.one()

    def _of_open_folder(self, event, arguments):
        # shutil.rmtree names what it removes by the folder that it has opened.
        return self.folder if event in ("os.remove", "os.rmdir") and arguments[-1] != -1 else ""


DISK = Disk()
sys.addaudithook(DISK.hear)  # it stays as long as the process: it hears nothing without a folder


@pytest.fixture
def dies(tmp_path):
    """Do something in a process that dies before that change of a file; True if it did."""
    DISK.folder = tmp_path

    def dies(moment, do):
        with DISK.dying_at(moment) as died:
            do()
        return bool(died)

    yield dies
    DISK.folder = None


class Watched(NoOtherRun):
    """Ownership of a job that may go back from an update."""

    @contextmanager
    def held(self):
        yield UPDATE


def write(epochs, numbers, run, notes=None):
    """What the file sink does in each epoch: two files, one of a partition, a row in each. Epochs that it has are not written."""
    for epoch in numbers:
        if epochs.is_committed(epoch):
            epochs.put_in_place(epoch)
            continue
        staging, moves = epochs.staging(epoch, f"-{run}"), {}
        for part in ("", "part=a/"):
            written = staging / part / "some.txt"
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(f"{epochs.lineage} {epoch}{part}\n")
            moves[f"{part}some.txt"] = f"{part}rows-{epochs.lineage}-{epoch:03}.txt"
        ownership = NoOtherRun() if notes is None else Watched()
        withdrawable = epochs.commit(epoch, WrittenFiles(staging.name, moves), ownership, notes)
        epochs.put_in_place(epoch)
        epochs.forget_before(epoch - 1, manifests=not withdrawable)


def seen(out):
    """The rows that a reader of the folder sees."""
    files = [path for path in out.rglob("*") if path.is_file() and "_pitstop" not in path.parts]
    return sorted(line for path in files for line in path.read_text().splitlines())


def rows(lineage, epochs):
    return sorted(f"{lineage} {epoch}{part}" for epoch in epochs for part in ("", "part=a/"))


def until_it_lives(tmp_path, once):
    """Do it dying at the first moment, at the second …, until it does not die; how often it did."""
    for moment in count():
        folder = tmp_path / str(moment)
        if not once(folder, moment):
            return moment


def test_after_a_crash_at_any_moment_of_writing_each_row_is_there_once(tmp_path, dies):
    def once(folder, moment):
        out, rest = FileEpochs(str(folder / "out"), "L1", "rows"), list(EPOCHS)
        died = dies(moment, lambda: write(out, rest, 1))
        assert len(set(seen(folder / "out"))) == len(seen(folder / "out"))
        committed = [epoch for epoch in EPOCHS if out.is_committed(epoch)]
        # Spark repeats the last epoch that it had planned: one that is committed, or the first that is not.
        write(out, range(max([0, *committed]), len(EPOCHS)), 2)
        assert seen(folder / "out") == rows("L1", EPOCHS), f"died at {moment}"
        return died

    assert until_it_lives(tmp_path, once) > 30


def test_after_a_crash_of_a_new_version_and_one_of_its_withdrawal_only_the_old_rows_are_there(tmp_path, dies):
    def once(folder, moment):
        out, data = folder / "out", DataFolder(folder / "data")
        write(FileEpochs(str(out), "L1", "rows"), EPOCHS, 1)
        new, notes = FileEpochs(str(out), "L2", "rows"), data.job(JOB).withdrawable
        died = dies(moment, lambda: write(new, EPOCHS, 2, notes))
        kept = KeptOutputs(map_store(tmp_path), data)
        again = 0
        while dies(again, lambda: kept.withdraw(JOB, UPDATE)):
            again += 1
        assert seen(out) == rows("L1", EPOCHS), f"died at {moment}"
        write(FileEpochs(str(out), "L1", "rows"), range(len(EPOCHS), 5), 3)
        assert seen(out) == rows("L1", range(5)), f"died at {moment}"
        return died

    assert until_it_lives(tmp_path, once) > 30


def test_the_moments_are_real(tmp_path, dies):
    assert dies(0, lambda: (tmp_path / "a").write_text("never"))
    assert not (tmp_path / "a").exists()
    (tmp_path / "a").write_text("there")
    assert dies(0, lambda: (tmp_path / "a").rename(tmp_path / "b"))
    assert dies(0, (tmp_path / "a").unlink)
    assert (tmp_path / "a").exists()
