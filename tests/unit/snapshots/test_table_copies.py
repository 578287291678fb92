"""Copies of tables beside the state of a job: whole or not there, and it is known which one epochs are joined with."""

import pytest

from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.export import link_checkpoint
from pitstop.snapshots.table_copies import TableCopies

STAGE = "join / with: any name " + "x" * 300


@pytest.fixture
def copies(tmp_path):
    return TableCopies(tmp_path)


def add(copies, rows):
    place = copies.begin(STAGE)
    place.folder.mkdir(parents=True)
    (place.folder / "part-0.parquet").write_text(rows)
    return copies.publish(place, {"files": 1})


def rows(copy):
    return (copy.folder / "part-0.parquet").read_text()


def test_copies_are_numbered_and_the_newest_is_the_last_until_another_is_in_use(copies):
    assert (copies.last(STAGE), copies.of(STAGE), copies.in_use()) == (None, [], {})
    assert [add(copies, text).number for text in ("one", "two")] == [1, 2]
    assert rows(copies.last(STAGE)) == "two"
    copies.use({STAGE: 1})
    assert rows(copies.last(STAGE)) == "one"
    assert copies.last(STAGE).facts == {"files": 1}
    assert copies.in_use() == {STAGE: 1}
    assert add(copies, "three").number == 3


def test_copies_of_the_same_rows_are_the_same(copies):
    for text in ("one", "one", "two", "eno"):
        add(copies, text)
    assert [copies.same(STAGE, 1, other) for other in (2, 3, 4)] == [True, False, False]
    (copies.of(STAGE)[1].folder / "part-1.parquet").write_text("more")
    assert not copies.same(STAGE, 1, 2)


def test_all_but_one_are_removed(copies):
    for text in ("one", "two", "three"):
        add(copies, text)
    copies.remove(STAGE, but=2)
    assert [rows(copy) for copy in copies.of(STAGE)] == ["two"]


def test_what_was_not_finished_is_no_copy_and_goes_with_the_next_reading(copies):
    place = copies.begin(STAGE)
    place.folder.mkdir(parents=True)
    assert copies.of(STAGE) == []
    copies.begin(STAGE)
    assert not place.folder.exists()


def test_a_snapshot_holds_no_tables_and_a_backup_those_that_an_epoch_is_done_again_with(tmp_path):
    checkpoint = Checkpoint(tmp_path / "job")
    copies = TableCopies(checkpoint.path)
    add(copies, "one")
    copies.use({STAGE: 1})
    half = copies.begin(STAGE).folder
    half.mkdir()
    (half / "part-0.parquet").touch()
    checkpoint.write_offsets(0, OffsetLog({"batchTimestampMs": 0}, ()))
    checkpoint.write_commit(0, 0)
    checkpoint.begin_writing(1)
    assert not [path for path in checkpoint.files_of(0) if path.parts[0] == "tables"]
    link_checkpoint(checkpoint, tmp_path / "backup")
    restored = TableCopies(tmp_path / "backup")
    assert rows(restored.last(STAGE)) == "one"
    assert restored.in_use() == {STAGE: 1}
    assert not list((tmp_path / "backup").rglob(half.name))
    assert Checkpoint(tmp_path / "backup").writing() == 1


def test_a_backup_tells_of_no_epoch_that_sinks_begin_to_get_while_it_is_made(tmp_path):
    checkpoint = Checkpoint(tmp_path / "job")
    for epoch in (0, 1):
        checkpoint.write_offsets(epoch, OffsetLog({"batchTimestampMs": 0}, ()))
    checkpoint.write_commit(0, 0)
    checkpoint.begin_writing(7)
    link_checkpoint(checkpoint, tmp_path / "backup")
    assert Checkpoint(tmp_path / "backup").writing() == 1
