"""Commits of a version that is gone back from are taken out of a real Delta table, and no others."""

import json
import logging
import os
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from pitstop.model.data_folder import DataFolder
from pitstop.outputs import delta_commits
from pitstop.outputs.delta_commits import DeltaCommits
from pitstop.outputs.kept import KeptOutputs
from tests.maps import map_store

JOB, UPDATE = "0000-0000-0000-0001", 7


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "table")


def append(path, numbers, lineage=None, stage="sink", **options):
    words = {"pitstop": {"job": "job", "stage": stage, "lineage": lineage, "epoch": 0}} if lineage else None
    rows = pa.table({"n": pa.array(numbers, pa.int64()), "part": [f"p {n % 2}" for n in numbers]})
    properties = CommitProperties(custom_metadata=words)
    write_deltalake(path, rows, mode="append", partition_by=["part"], commit_properties=properties, **options)


def numbers_in(path):
    return sorted(DeltaTable(path).to_pyarrow_table()["n"].to_pylist())


def withdraw(tmp_path):
    """Go back from the update, as the control plane does; return the number of files."""
    return KeptOutputs(map_store(tmp_path), DataFolder(tmp_path / "data")).withdraw(JOB, UPDATE)[0]


def note(tmp_path, path, lineage="new", after=0, stage="sink"):
    DeltaCommits(path, lineage, stage, after).note(DataFolder(tmp_path / "data").job(JOB).withdrawable / str(UPDATE))


def test_the_files_of_one_lineage_and_sink_are_taken_out_once(path, tmp_path):
    append(path, [1, 2], "old")
    note(tmp_path, path)
    note(tmp_path, path, after=99)  # later epochs note it again: the first note stays
    for numbers, lineage, stage in ([3, 4], "new", "sink"), ([5], None, ""), ([6], "new", "other"), ([7], "new", "sink"):
        append(path, numbers, lineage, stage)
    assert withdraw(tmp_path) == 3
    assert numbers_in(path) == [1, 2, 5, 6]
    assert DeltaTable(path).history(1)[0]["pitstop"] == {"withdraws": "new", "stage": "sink"}
    note(tmp_path, path)
    assert withdraw(tmp_path) == 0
    assert numbers_in(path) == [1, 2, 5, 6]


def test_a_withdrawal_that_was_cut_off_is_done_again(path, tmp_path, monkeypatch):
    append(path, [1], "old")
    note(tmp_path, path)
    append(path, [2], "new")
    create = DeltaTable.create_write_transaction

    def dies(*arguments, **options):
        create(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(DeltaTable, "create_write_transaction", dies)
    with pytest.raises(KeyboardInterrupt):
        withdraw(tmp_path)
    monkeypatch.undo()
    assert withdraw(tmp_path) == 0
    assert numbers_in(path) == [1]


def test_another_writer_that_comes_first_is_no_hindrance(path, tmp_path, monkeypatch):
    append(path, [1], "old")
    note(tmp_path, path)
    append(path, [2, 3], "new")
    create, rivals = DeltaTable.create_write_transaction, [lambda: DeltaTable(path).delete("n = 2"), lambda: append(path, [9])]

    def late(table, *arguments, **options):
        if rivals:
            rivals.pop()()
        return create(table, *arguments, **options)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", late)
    withdraw(tmp_path)
    assert numbers_in(path) == [1, 9]


def test_rows_that_were_compacted_stay_and_a_table_that_is_gone_has_none(path, tmp_path):
    append(path, [1], "old")
    note(tmp_path, path)
    append(path, [3], "new")
    DeltaTable(path).optimize.compact()
    append(path, [2], "new")
    assert withdraw(tmp_path) == 1
    assert numbers_in(path) == [1, 3]
    note(tmp_path, path)
    os.rename(path, f"{path}-elsewhere")
    assert withdraw(tmp_path) == 0


def test_a_table_that_only_grows_keeps_its_rows_and_the_log_says_so(path, tmp_path, caplog):
    append(path, [1], "old", configuration={"delta.appendOnly": "true"})
    note(tmp_path, path)
    append(path, [2], "new")
    with caplog.at_level(logging.WARNING):
        assert withdraw(tmp_path) == 0
    assert numbers_in(path) == [1, 2]
    assert caplog.messages[0].startswith(
        f"rows of sink 'sink' stay in the Delta table {path}, though its version is gone back from: "
    )


def test_old_versions_of_which_the_log_has_the_outcome_alone_are_passed_over(path, tmp_path):
    append(path, [1], "old")
    note(tmp_path, path, after=-1)
    append(path, [2], "new")
    DeltaTable(path).create_checkpoint()
    os.unlink(f"{path}/{delta_commits.LOG_FOLDER}/{0:020}.json")
    assert withdraw(tmp_path) == 1
    assert numbers_in(path) == [1]


def test_what_is_withdrawn_is_told_to_readers_of_the_log(path, tmp_path):
    append(path, [1], "old")
    note(tmp_path, path)
    append(path, [2], "new")
    withdraw(tmp_path)
    lines = Path(path, delta_commits.LOG_FOLDER, f"{2:020}.json").read_text().splitlines()
    actions = [json.loads(line) for line in lines]
    [removal] = [action["remove"] for action in actions if "remove" in action]
    assert (removal["dataChange"], removal["partitionValues"]) == (True, {"part": "p 0"})


def test_files_whose_partition_holds_another_line_break_are_taken_out(path, tmp_path):
    append(path, [1], "old")
    note(tmp_path, path)
    words = CommitProperties(custom_metadata={"pitstop": {"stage": "sink", "lineage": "new"}})
    rows = pa.table({"n": [2, 3], "part": ["ab\u2028c", "x\u0085y"]})
    write_deltalake(path, rows, mode="append", partition_by=["part"], commit_properties=words)
    assert withdraw(tmp_path) == 2
    assert numbers_in(path) == [1]
