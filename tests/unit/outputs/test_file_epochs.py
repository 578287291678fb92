"""Epochs of a file sink: committed once, forgotten when nothing needs them, and withdrawn wholly whenever that is cut off."""

from contextlib import contextmanager

import pytest

from pitstop.control.ports.ownership import NoOtherRun
from pitstop.errors import OtherEpochError
from pitstop.outputs.file_epochs import FileEpochs, WrittenFiles, noted


class Watched(NoOtherRun):
    """Ownership of a job that may go back from update 7."""

    @contextmanager
    def held(self):
        yield 7


@pytest.fixture
def epochs(tmp_path):
    return FileEpochs(str(tmp_path / "out"), "L2", "rows")


def write(epochs, epoch, notes, ownership=None, place=True):
    """An epoch with a file in each of two folders of partitions."""
    staging = epochs.staging(epoch, "-1")
    moves = {}
    for part in ("part=a", "part=b"):
        (staging / part).mkdir(parents=True)
        (staging / part / "some.json").write_text("{}\n")
        moves[f"{part}/some.json"] = f"{part}/{epoch:03}.json"
    withdrawable = epochs.commit(epoch, WrittenFiles(staging.name, moves), ownership or Watched(), notes)
    if place:
        epochs.put_in_place(epoch)
    return withdrawable


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_all_files_of_noted_epochs_are_withdrawn_and_no_others(epochs, tmp_path):
    notes, out = tmp_path / "notes", tmp_path / "out"
    (out / "part=a").mkdir(parents=True)
    (out / "part=a" / "other.json").write_text("{}\n")
    assert all(write(epochs, epoch, notes) for epoch in (4, 5))
    assert write(epochs, 6, notes, place=False), "killed before its files were moved into place"
    epochs.staging(7, "-2").mkdir()  # killed before it was committed
    assert noted(notes / "7") == [epochs]
    assert [found.withdraw() for found in noted(notes / "7")] == [4]
    assert names(out) == ["part=a/other.json"]
    assert not (out / "part=b").exists(), "a folder goes with its last file"
    assert epochs.withdraw() == 0


@pytest.mark.parametrize(
    ("lineage", "job", "token", "refused"),
    [("L1", "j", 4, True), ("L1", "j", 3, True), ("L1", "j", 5, False), ("L1", "another", 4, False), ("L2", "j", 4, False)],
    ids=["as late", "earlier", "later", "of another job", "on its own lineage"],
)
def test_a_run_is_told_that_a_later_one_has_written_on_another_lineage(tmp_path, lineage, job, token, refused):
    later = FileEpochs(str(tmp_path / "out"), "L2", "rows")
    staging = later.staging(7, "-4")
    staging.mkdir(parents=True)
    later.commit(7, WrittenFiles(staging.name, {}, job="j"), Watched(), None)
    FileEpochs(str(tmp_path / "out"), "L0", "rows").control.mkdir(parents=True)  # which has committed nothing
    run = FileEpochs(str(tmp_path / "out"), lineage, "rows")
    if refused:
        with pytest.raises(OtherEpochError, match="already, and it does not belong to this job's saved state"):
            run.check_no_later_run(job, token)
    else:
        run.check_no_later_run(job, token)


@pytest.mark.parametrize("removed", range(5))
def test_a_withdrawal_that_was_cut_off_comes_to_its_end(epochs, tmp_path, removed, monkeypatch):
    notes, out = tmp_path / "notes", tmp_path / "out"
    for epoch in (0, 1):
        write(epochs, epoch, notes)
    left = removed
    unlink = type(out).unlink

    def some(path, *arguments, **more):
        nonlocal left
        if not left:
            raise OSError("killed")
        left -= 1
        unlink(path, *arguments, **more)

    monkeypatch.setattr(type(out), "unlink", some)
    with pytest.raises(OSError, match="killed"):
        epochs.withdraw()
    monkeypatch.undo()
    epochs.withdraw()
    assert names(out) == []


def test_nothing_is_noted_of_a_version_that_stays(epochs, tmp_path):
    assert not write(epochs, 0, tmp_path / "notes", NoOtherRun())
    assert not (tmp_path / "notes").exists()


def test_manifests_stay_as_long_as_they_may_be_needed(epochs, tmp_path):
    for epoch in range(4):
        write(epochs, epoch, None)
    epochs.staging(1, "-9").mkdir()
    epochs.forget_before(2, manifests=False)
    assert names(epochs.control) == ["0.json", "1.json", "2.json", "3.json"]
    assert not epochs.staging(1, "-9").exists()
    epochs.forget_before(2, manifests=True)
    assert names(epochs.control) == ["2.json", "3.json"]


def test_a_run_that_could_not_be_ended_moves_nothing_into_place_any_more(epochs, tmp_path, monkeypatch):
    """It is about to move the files of an epoch that it has committed, while these are withdrawn."""
    notes, out = tmp_path / "notes", tmp_path / "out"
    write(epochs, 0, notes, place=False)
    unlink = type(out).unlink

    def first_the_run(path, *arguments, **more):
        if path.suffix == ".json" and path.parent == epochs.control:
            epochs.put_in_place(0)
        unlink(path, *arguments, **more)

    monkeypatch.setattr(type(out), "unlink", first_the_run)
    epochs.withdraw()
    monkeypatch.undo()
    assert names(out) == []


def commit(epochs, epoch, digest):
    staging = epochs.staging(epoch, "-1")
    staging.mkdir(parents=True, exist_ok=True)
    (staging / "some.json").write_text(f'"{digest}"\n')
    return epochs.commit(epoch, WrittenFiles(staging.name, {"some.json": f"{epoch}.json"}, digest), NoOtherRun(), None)


def test_an_epoch_of_other_rows_is_no_epoch_that_is_committed_already(epochs):
    """The data folder was put back from a copy that is older than the output: rows under those numbers were lost."""
    commit(epochs, 42, "a")
    assert epochs.is_committed(42, "a")
    assert not epochs.is_committed(43, "a")
    with pytest.raises(OtherEpochError, match=r"^Sink 'rows' has epoch 42 in .*/out already, .* with 'pitstop withdraw --data"):
        epochs.is_committed(42, "b")
    with pytest.raises(OtherEpochError, match="has epoch 42 in"):
        epochs.check_is_last(41)
    epochs.check_is_last(42)
    epochs.check_is_last(43)


def test_what_another_server_has_committed_meanwhile_stays(epochs):
    commit(epochs, 5, "a")
    for epoch in (4, 5):
        with pytest.raises(OtherEpochError):
            commit(epochs, epoch, "b")
        assert not epochs.is_committed(4)
    assert epochs.is_committed(5, "a")


def test_a_manifest_of_a_release_that_knew_no_digests_counts_as_it_did(epochs):
    commit(epochs, 5, None)
    assert epochs.is_committed(5, "a")
    commit(epochs, 6, "b")
    assert epochs.is_committed(6, None)
    for text in ('{"staging": "7-1.staging", "moves": {}}', '{"some.json": "7.json"}'):
        (epochs.control / "7.json").write_text(text)
        assert epochs.is_committed(7, "a")
