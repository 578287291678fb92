"""Runs as real processes; what they run ends by itself, for it knows no such store."""

import json
import time

import psutil
import pytest

from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.control.ports.wake import CONTROL
from pitstop.launchers.local_process import LocalProcessLauncher
from pitstop.launchers.processes import handle_of
from pitstop.model.data_folder import DataFolder
from tests.doubles.wake import MemoryWake

SECONDS = 60


@pytest.fixture
def wake():
    return MemoryWake()


@pytest.fixture
def launcher(tmp_path, wake):
    made = LocalProcessLauncher(DataFolder(tmp_path), "nosuch:///store", wake, spares=0)
    yield made
    made.close()


def spec(token):
    return RunSpec("id-1", token)


def wait_until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def test_a_start_has_failed_once_its_process_ended_and_that_of_no_other_run(launcher, tmp_path):
    assert not launcher.start_failed("id-1", 1), "nothing is known of it"
    launcher.start(spec(1))
    assert not launcher.start_failed("id-1", 1), "it lives"
    wait_until(lambda: launcher.start_failed("id-1", 1))
    assert not launcher.start_failed("id-1", 2)
    assert not launcher.start_failed("id-2", 1)
    log = DataFolder(tmp_path).job("id-1").log
    wait_until(lambda: "nosuch" in log.read_text())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {(line["job"], line["run"]) for line in lines} == {("id-1", 1)}


@pytest.mark.long
def test_a_later_start_of_the_job_is_what_counts(launcher, tmp_path):
    launcher.start(spec(1))
    wait_until(lambda: launcher.start_failed("id-1", 1))
    launcher.start(spec(2))
    assert not launcher.start_failed("id-1", 1)
    wait_until(lambda: launcher.start_failed("id-1", 2))


def test_a_run_that_is_killed_is_not_alive_and_the_control_plane_is_woken(launcher, tmp_path, wake):
    before = set(psutil.Process().children())
    launcher.start(spec(1))
    log_writer, process = sorted(set(psutil.Process().children()) - before, key=lambda child: "pitstop.runner" in child.cmdline())
    handle = handle_of(process.pid)
    assert launcher.alive(handle)
    launcher.watch(handle)
    launcher.kill(handle)
    assert not launcher.alive(handle)
    wait_until(lambda: wake.wakes[CONTROL] == 1)
    launcher.kill(handle)
    log_writer.wait(SECONDS)


def test_what_became_of_a_process_of_another_machine_is_not_known_where_there_are_several(tmp_path, wake):
    elsewhere = RunHandle("00000000-0000-0000-0000-000000000000/1/1")
    for several, alive in ((False, False), (True, None)):
        launcher = LocalProcessLauncher(DataFolder(tmp_path), "nosuch:///store", wake, spares=0, one_of_several=several)
        assert launcher.alive(elsewhere) is alive
        launcher.kill(elsewhere)
        launcher.close()
