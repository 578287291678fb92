"""What killed sessions leave in the folder that a job's runs work in."""

import os
import subprocess
import sys

import pytest

from pitstop.launchers.processes import handle_of, own_handle, write_handle
from pitstop.runner.session import OWNER, YOUNG_SECONDS, remove_left_scratch, remove_left_temporary

NOW = 1_000_000_000.0


@pytest.fixture
def scratch(tmp_path):
    def make(name, owner=None, age=0.0):
        folder = tmp_path / name
        (folder / "blocks").mkdir(parents=True)
        if owner is not None:
            write_handle(folder / OWNER, owner)
        os.utime(folder, (NOW - age, NOW - age))
        return folder

    return make


def test_the_scratch_of_dead_sessions_goes_and_that_of_living_ones_stays(scratch, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    dead = handle_of(process.pid)
    process.communicate(b"\n")
    scratch("spark-dead", dead)
    scratch("spark-of-an-older-release", age=YOUNG_SECONDS + 1)
    living = scratch("spark-living", own_handle(), age=YOUNG_SECONDS + 1)
    young = scratch("spark-young", age=YOUNG_SECONDS - 1)
    other = scratch("agreements", age=YOUNG_SECONDS + 1)
    remove_left_scratch(tmp_path, NOW)
    assert set(tmp_path.iterdir()) == {living, young, other}


def test_a_folder_that_is_not_there_yet_has_nothing_left(tmp_path):
    remove_left_scratch(tmp_path / "work", NOW)


def test_what_dead_javas_have_unpacked_goes_and_what_is_not_ours_stays(scratch, tmp_path, monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    dead = handle_of(process.pid)
    process.communicate(b"\n")
    monkeypatch.setattr("pitstop.machine.temporary.places", lambda: [tmp_path])
    scratch("pitstop-java-dead", dead)
    living = scratch("pitstop-java-living", own_handle(), age=YOUNG_SECONDS + 1)
    other = scratch("other", dead)
    remove_left_temporary(NOW)
    assert set(tmp_path.iterdir()) == {living, other}
