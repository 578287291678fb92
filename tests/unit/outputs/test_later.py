"""What is later than a data folder that was put back is set aside, and nothing else is touched."""

import pytest

from pitstop.control.ports.ownership import NoOtherRun
from pitstop.model.data_folder import DataFolder
from pitstop.outputs.file_epochs import FileEpochs, WrittenFiles
from pitstop.outputs.later import set_aside_later
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.epoch_digest import digest_of

JOB, OTHER = "0000-0000-0000-0001", "0000-0000-0000-0002"


@pytest.fixture
def data(tmp_path):
    return DataFolder(tmp_path / "data")


def checkpoint(data, lineage, epochs, step=10, job=JOB):
    """The state of a job whose epoch n reads up to (n + 1) * step; the last one is planned, and not committed."""
    made = Checkpoint(data.job(job).checkpoint(lineage))
    made.write_facts({"lineage": lineage, "plan": {"source_slots": [["in", "", 0]]}})
    for epoch in range(epochs):
        made.write_offsets(epoch, OffsetLog({"batchWatermarkMs": 0}, (f'{{"n":{(epoch + 1) * step}}}',)))
        if epoch < epochs - 1:
            made.write_commit(epoch, 0)
    return made


def write(data, out, lineage, epoch, digest, job=JOB, sink="rows"):
    """What the file sink does in an epoch: a file in the folder, and one in that of a partition."""
    epochs = FileEpochs(str(out), lineage, sink)
    staging, moves = epochs.staging(epoch, "-1"), {}
    for number, part in enumerate(("", f"part={epoch}/")):
        (staging / part).mkdir(parents=True, exist_ok=True)
        (staging / part / "x.json").write_text(f"{lineage} {epoch}\n")
        moves[f"{part}x.json"] = part + epochs.name(epoch, number, ".json")
    written = WrittenFiles(staging.name, moves, digest, job)
    epochs.commit(epoch, written, NoOtherRun(), None, data.job(job).outputs)
    epochs.put_in_place(epoch)
    epochs.forget_before(epoch - 1, manifests=True)


def seen(out):
    """(lineage, epoch) of each row that a reader of the folder sees."""
    files = [path for path in out.rglob("*.json") if "_pitstop" not in path.parts]
    return sorted(tuple(path.read_text().split()) for path in files)


def rows(lineage, epochs):
    return sorted((lineage, str(epoch)) for epoch in epochs for _ in range(2))


def written_until(data, out, epochs, lineage="l1", step=10):
    state = checkpoint(data, lineage, epochs, step)
    for epoch in range(epochs):
        write(data, out, lineage, epoch, digest_of(state, epoch))


def test_epochs_after_the_saved_one_are_set_aside_also_those_whose_manifests_are_forgotten(data, tmp_path):
    out = tmp_path / "out"
    written_until(data, out, 12)
    Checkpoint(data.job(JOB).checkpoint("l1")).drop_after(4)
    [told] = set_aside_later(data)
    assert (told.job_id, told.sink, told.folder, told.files) == (JOB, "rows", str(out), 14)
    assert seen(out) == rows("l1", range(5))
    assert not (out / "part=5").exists(), "a folder goes with its last file"
    assert len(list((out / "_pitstop").glob("withdrawn-*/**/*.json"))) == 14, "nothing is lost"
    FileEpochs(str(out), "l1", "rows").check_is_last(4)
    assert [told.files for told in set_aside_later(data)] == [0]


def test_the_planned_epoch_is_written_anew_where_its_manifest_is_forgotten(data, tmp_path):
    """It may have another number of files then."""
    out = tmp_path / "out"
    written_until(data, out, 9)
    checkpoint(data, "l1", 9).drop_after(5)
    (data.job(JOB).checkpoint("l1") / "commits/5").unlink()
    [told] = set_aside_later(data)
    assert told.files == 8
    assert seen(out) == rows("l1", range(5))


@pytest.mark.parametrize(("step", "left"), [(10, 5), (7, 4)], ids=["the-same-epoch", "another-epoch"])
def test_the_planned_epoch_stays_if_it_is_the_same_one(data, tmp_path, step, left):
    out = tmp_path / "out"
    written_until(data, out, 5)
    checkpoint(data, "l1", 5, step)
    set_aside_later(data)
    assert seen(out) == rows("l1", range(left))


def test_a_later_version_of_the_job_goes_whole_and_an_earlier_one_stays(data, tmp_path):
    out = tmp_path / "out"
    for epoch in range(3):  # its checkpoint is gone by now
        write(data, out, "l0", epoch, "x")
    written_until(data, out, 3)
    notes = sorted(path.name for path in data.job(JOB).outputs.iterdir())
    for epoch in range(4):
        write(data, out, "l2", epoch, "y")
        write(data, out, "m1", epoch, "z", job=OTHER)
    (data.job(JOB).outputs / "l2-rows.json").unlink()
    assert sorted(path.name for path in data.job(JOB).outputs.iterdir()) == notes
    told = {each.job_id: each.files for each in set_aside_later(data)}
    assert told == {JOB: 8, OTHER: 0}
    assert seen(out) == rows("l0", range(3)) + rows("l1", range(3)) + rows("m1", range(4))


def test_a_batch_stays_as_it_is(data, tmp_path):
    out = tmp_path / "out"
    write(data, out, "b", 0, None)
    assert [told.files for told in set_aside_later(data)] == [0]
    assert seen(out) == rows("b", [0])


def test_a_folder_that_is_not_there_is_told(data, tmp_path):
    out = tmp_path / "out"
    written_until(data, out, 2)
    out.rename(tmp_path / "elsewhere")
    assert [told.files for told in set_aside_later(data)] == [None]


def test_it_may_be_cut_off_and_done_again(data, tmp_path, monkeypatch):
    out = tmp_path / "out"
    written_until(data, out, 9)
    Checkpoint(data.job(JOB).checkpoint("l1")).drop_after(2)
    rename, left = type(out).rename, 3

    def some(path, target):
        nonlocal left
        if not left:
            raise OSError("killed")
        left -= 1
        return rename(path, target)

    monkeypatch.setattr(type(out), "rename", some)
    with pytest.raises(OSError, match="killed"):
        set_aside_later(data)
    monkeypatch.undo()
    assert [told.files for told in set_aside_later(data)] == [9]
    assert seen(out) == rows("l1", range(3))
