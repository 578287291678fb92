"""Whether the state of an epoch is there: files of each store, and none that a run before has left."""

import json
import os
from pathlib import Path

import pytest

from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.state_files import StateFiles

STORES = [{"storeName": "default", "numPartitions": 2}, {"storeName": "keys", "numPartitions": 2}]
FOLDERS = [Path("state/0/0"), Path("state/0/1"), Path("state/0/0/keys"), Path("state/0/1/keys")]


@pytest.fixture
def checkpoint(tmp_path):
    metadata = tmp_path / "state/0/_metadata/v2/0"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("v2\n" + json.dumps({"stateStoreInfo": STORES}))
    return Checkpoint(tmp_path)


def write(checkpoint, folder, name, second=1_700_000_000):
    path = checkpoint.path / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("state")
    os.utime(path, (second, second))


@pytest.mark.parametrize("ending", ["delta", "changelog", "zip"])
def test_a_store_without_a_file_of_the_epochs_version_is_missing(checkpoint, ending):
    state = StateFiles(checkpoint, 1)
    state.begins(4)
    for folder in FOLDERS[1:]:
        write(checkpoint, folder, f"5.{ending}")
    write(checkpoint, FOLDERS[0], f"4.{ending}")
    assert state.missing(4) == (FOLDERS[0],)
    write(checkpoint, FOLDERS[0], f"5.{ending}")
    assert state.missing(4) == ()


def test_what_a_run_before_has_left_of_the_epoch_is_missing_until_it_is_written_again(checkpoint):
    for folder in FOLDERS:
        write(checkpoint, folder, "5.delta")
    state = StateFiles(checkpoint, 1)
    state.begins(4)
    assert set(state.missing(4)) == set(FOLDERS)
    for folder in FOLDERS:
        write(checkpoint, folder, "5.delta", 1_700_000_001)
    assert state.missing(4) == ()
    state.begins(5)
    assert set(state.missing(5)) == set(FOLDERS)
    for folder in FOLDERS:
        write(checkpoint, folder, "6.delta")
    assert state.missing(5) == ()


def test_an_operator_that_has_told_of_no_store_is_missing(checkpoint):
    for folder in FOLDERS:
        write(checkpoint, folder, "1.delta")
    assert StateFiles(checkpoint, 2).missing(0) == (Path("state/1"),)
