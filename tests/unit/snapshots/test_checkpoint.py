import contextlib
import json

import pytest

from pitstop.errors import SnapshotError
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.files import LocalFiles


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def checkpoint(tmp_path):
    for epoch in range(4):
        write(tmp_path / "offsets" / str(epoch), f'v1\n{{"batchWatermarkMs":{epoch}}}\n{{"n":{epoch}}}\n-')
        write(tmp_path / "offsets" / f".{epoch}.crc")
    for epoch in range(3):
        write(tmp_path / "commits" / str(epoch), f'v1\n{{"nextBatchWatermarkMs":{epoch * 10}}}')
    for version in range(1, 5):
        write(tmp_path / "state/0/1" / f"{version}.changelog")
        write(tmp_path / "state/0/1" / f".{version}.changelog.crc")
    write(tmp_path / "state/0/1/3.zip")
    write(tmp_path / "state/0/_metadata/metadata")
    for unfinished in (".5.changelog.123.tmp", ".2.zip.55179cd5-9068-4675-b30a-00e69e7e9c0e.tmp", "..2.zip.55179cd5.tmp.crc"):
        write(tmp_path / "state/0/1" / unfinished)
    write(tmp_path / "commits/.1.9e46c1f9.tmp")
    write(tmp_path / "metadata", "{}")
    made = Checkpoint(tmp_path)
    made.write_facts({"sources": [["alpha", ""], ["beta", "speed"]]})
    return made


def test_committed_and_planned_epochs(checkpoint):
    assert (checkpoint.committed(), checkpoint.planned()) == (2, 3)


def test_the_files_of_an_epoch_leave_out_what_came_later(checkpoint):
    names = {str(path) for path in checkpoint.files_of(1)}
    assert "offsets/1" in names
    assert "state/0/1/2.changelog" in names
    assert "state/0/1/.2.changelog.crc" in names
    assert "state/0/_metadata/metadata" in names
    assert not names & {"offsets/2", "commits/2", "offsets/.2.crc", "state/0/1/3.changelog", "state/0/1/3.zip"}
    assert not any("tmp" in name for name in names)


def test_offsets_belong_to_stages_and_what_reads_them(checkpoint):
    assert checkpoint.offsets_by_source(1) == {"alpha": {"": '{"n":1}'}}


def test_a_plan_that_does_not_match_its_offsets_is_damage(checkpoint):
    checkpoint.write_facts({"sources": [["alpha", ""]]})
    with pytest.raises(SnapshotError, match="has 2 sources, its plan 1"):
        checkpoint.offsets_by_source(1)


def test_epochs_are_dropped_with_their_hidden_checksums(checkpoint):
    checkpoint.drop_after(1)
    assert (checkpoint.committed(), checkpoint.planned()) == (1, 1)
    assert not (checkpoint.path / "offsets" / ".3.crc").exists()


def test_epochs_before_one_are_dropped_and_the_others_stay(checkpoint):
    checkpoint.drop_before(2)
    assert sorted(path.name for path in (checkpoint.path / "offsets").iterdir() if path.name.isdigit())[0] == "2"
    assert (checkpoint.committed(), checkpoint.planned()) == (2, 3)


def test_logs_are_written_as_spark_reads_them(checkpoint):
    checkpoint.write_offsets(9, OffsetLog({"batchWatermarkMs": 5}, ('{"n":9}', None)))
    assert (checkpoint.path / "offsets" / "9").read_text() == 'v1\n{"batchWatermarkMs":5}\n{"n":9}\n-'
    checkpoint.write_commit(2, 77)
    assert json.loads((checkpoint.path / "commits" / "2").read_text().splitlines()[1]) == {"nextBatchWatermarkMs": 77}


def metadata_of(*paths):
    return {"stateStoreInfo": [{"storeName": "default", "stateSchemaFilePaths": list(paths)}]}


def test_metadata_of_later_epochs_stay_out(checkpoint):
    for epoch in (0, 1, 2):
        write(checkpoint.path / "state/1/_metadata/v2" / str(epoch), f"v2\n{json.dumps(metadata_of())}")
        write(checkpoint.path / "state/1/_metadata/v2" / f".{epoch}.crc")
    names = {str(path) for path in checkpoint.files_of(1) if "v2" in path.parts}
    assert names == {f"state/1/_metadata/v2/{name}" for name in ("0", ".0.crc", "1", ".1.crc")}


def test_a_copy_finds_its_schemas_where_it_is_and_the_original_stays(checkpoint, tmp_path):
    original = f"v2\n{json.dumps(metadata_of('file:/gone/state/1/_stateSchema/default/0_a-b'))}"
    kept, note = tmp_path / "kept", checkpoint.path / "state/1/_metadata/v2/0"
    write(kept, original)
    note.parent.mkdir(parents=True)
    note.hardlink_to(kept)
    write(note.with_name(".0.crc"))
    checkpoint.relocate(tmp_path / "new place")
    assert checkpoint.schema_files(1) == {"default": [f"file:{tmp_path}/new place/state/1/_stateSchema/default/0_a-b"]}
    assert checkpoint.schema_files(0) == {}
    assert not note.with_name(".0.crc").exists()
    assert kept.read_text() == original


def test_what_sinks_have_begun_to_get_is_noted_once_an_epoch_and_never_half(checkpoint):
    checkpoint.begin_writing(3)
    first = (checkpoint.path / "writing").stat()
    checkpoint.begin_writing(3)
    assert (checkpoint.path / "writing").stat().st_mtime_ns == first.st_mtime_ns
    assert checkpoint.writing() == 3
    with open(checkpoint.path / "writing") as before:
        checkpoint.begin_writing(4)
        assert before.read() == "3", "who is killed while it writes leaves what was there"
    assert checkpoint.writing() == 4
    checkpoint.begin_writing(3)
    assert checkpoint.writing() == 4, "a run that has lost its job may come late"


def test_logs_that_a_waiting_query_begins_with_tell_how_the_state_is_kept(checkpoint, tmp_path):
    checkpoint.write_facts({"plan": {"stages": []}})
    checkpoint.copy_logs(tmp_path / "waiting")
    waiting = Checkpoint(tmp_path / "waiting")
    assert (waiting.committed(), waiting.planned()) == (2, 3)
    assert waiting.facts() == {"plan": {"stages": []}}


class DiesError(Exception):
    """The process ends before a change of a file."""


class DyingFiles(LocalFiles):
    """Files of a process that dies before a certain change of one of them."""

    def __init__(self, changes):
        self.left = changes

    def write(self, path, content):
        self._one()
        super().write(path, content)

    def remove(self, path):
        self._one()
        super().remove(path)

    def _one(self):
        if self.left == 0:
            raise DiesError
        self.left -= 1


@pytest.mark.parametrize("changes", range(6))
def test_an_epoch_that_is_taken_back_is_never_left_out_whenever_the_process_dies(checkpoint, changes):
    dying = Checkpoint(checkpoint.path, DyingFiles(changes))
    with contextlib.suppress(DiesError):
        dying.take_back_last()
    # Spark does the last planned epoch if it is right behind the last committed one, and a new one if both are one.
    assert checkpoint.planned() - checkpoint.committed() in (0, 1)
    if checkpoint.committed() == 2:
        checkpoint.take_back_last()
    assert (checkpoint.committed(), checkpoint.planned()) == (1, 2)
    assert (checkpoint.path / "commits" / ".2.taken-back").read_text() == 'v1\n{"nextBatchWatermarkMs":20}'


def test_offsets_may_hold_other_line_breaks(tmp_path):
    log = OffsetLog({"batchTimestampMs": 1}, ('{"file":"ab\u2028c"}', None, '{"file":"x\u0085y"}'))
    assert OffsetLog.parse(log.text(), tmp_path) == log
    assert OffsetLog.parse(f"{log.text()}\n".replace("\n", "\r\n"), tmp_path) == log


def test_a_checkpoint_that_goes_back_to_an_epoch_keeps_no_plan_and_no_state_of_a_later_one(checkpoint):
    epoch, folder = checkpoint.committed(), checkpoint.path / "state" / "0" / "1"
    kept = {f"{epoch + 1}.changelog", f"{epoch + 1}.zip", f"{epoch}.zip", "0a1b.sst"}
    later = {f"{epoch + 2}.changelog", f"{epoch + 2}.zip", f".{epoch + 2}.zip.crc"}
    folder.mkdir(parents=True, exist_ok=True)
    for name in kept | later:
        (folder / name).write_text("")
    checkpoint.go_back_to(epoch)
    assert (checkpoint.committed(), checkpoint.planned()) == (epoch, epoch)
    assert kept <= {path.name for path in folder.iterdir()}
    assert not later & {path.name for path in folder.iterdir()}


def test_a_checkpoint_without_a_committed_epoch_goes_back_to_no_state_at_all(checkpoint):
    (checkpoint.path / "state" / "0" / "_metadata").mkdir(parents=True, exist_ok=True)
    (checkpoint.path / "state" / "0" / "_metadata" / "metadata").write_text("v1")
    checkpoint.go_back_to(-1)
    assert (checkpoint.committed(), checkpoint.planned()) == (-1, -1)
    assert not (checkpoint.path / "state").exists()
