"""Spares wait for a job; those that were started for another cluster make room for others."""

import subprocess

import pytest

from pitstop.launchers.spares import Spares
from pitstop.model.data_folder import DataFolder


@pytest.fixture
def started():
    processes = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def spares(tmp_path, started):
    def spawn(arguments, log):
        started.append(subprocess.Popen(["sleep", "600"], start_new_session=True))
        return started[-1]

    return Spares(DataFolder(tmp_path), 1, spawn)


def make_ready(tmp_path):
    for folder in DataFolder(tmp_path).spares.iterdir():
        DataFolder(tmp_path).spare(folder.name).ready.write_text("{}")


def test_spares_of_a_cluster_that_has_changed_are_ended_and_others_started(spares, started, tmp_path):
    spares.replenish()
    spares.renew()
    assert started[0].poll() is not None
    assert list(DataFolder(tmp_path).spares.iterdir()) == []
    spares.replenish()
    assert [process.poll() for process in started[1:]] == [None]


def test_one_that_is_held_for_an_update_stays_and_is_ended_when_it_is_not_needed(spares, started, tmp_path):
    spares.replenish()
    make_ready(tmp_path)
    spare_id, _, process = spares.hold(1)
    spares.renew()
    assert process.poll() is None
    spares.release(spare_id)
    assert process.poll() is not None


def test_one_that_has_its_job_is_never_ended(spares, started):
    spares.replenish()
    process = spares.assign("job", 1)
    spares.renew()
    spares.end()
    assert process.poll() is None


def test_the_log_of_a_job_has_where_to_be_before_a_spare_writes_there(spares, tmp_path):
    spares.replenish()
    assert spares.assign("0000-0000-0000-0001", 1) is not None
    assert DataFolder(tmp_path).job("0000-0000-0000-0001").log.parent.is_dir()


@pytest.mark.parametrize("held", [False, True], ids=["waiting", "held"])
def test_one_that_could_not_be_told_of_its_run_is_ended_and_another_takes_its_place(spares, started, tmp_path, held):
    spares.replenish()
    make_ready(tmp_path)
    spare_id = spares.hold(1)[0] if held else None
    for folder in DataFolder(tmp_path).spares.iterdir():
        DataFolder(tmp_path).spare(folder.name).assignment.mkdir()  # what cannot be replaced by a file, whoever writes
    with pytest.raises(IsADirectoryError):
        spares.assign("job", 1, spare_id)
    assert started[0].poll() is not None
    assert list(DataFolder(tmp_path).spares.iterdir()) == []
    spares.replenish()
    assert [process.poll() for process in started[1:]] == [None]
