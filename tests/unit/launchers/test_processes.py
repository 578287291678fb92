"""Who a process is, what is killed and what is waited for, with real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import EngineError
from pitstop.kit.waiting import wait_until
from pitstop.launchers import processes
from pitstop.launchers.processes import (
    KILL_SECONDS,
    find,
    handle_in,
    handle_of,
    is_alive,
    kill_all,
    kill_with,
    own_handle,
    write_handle,
)

LEADER_THAT_ENDS = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
PARENT_THAT_NEVER_COLLECTS = (
    "import subprocess, time; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True); time.sleep(600)"
)


@pytest.fixture
def python():
    started = []

    def start(code):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
        started.append(process)
        return process, int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def old_handle(pid, seconds=0.0):
    """As a store of an older release has it, once it is migrated: with the creation time by the clock."""
    return RunHandle(f"{pid}@{psutil.Process(pid).create_time() + seconds}")


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def another_clock(monkeypatch, folder, *pids, seconds=0, boot=None):
    """The kernel's account of these processes as it is after the clock was set, or the machine was booted again."""
    real = Path("/proc")
    (folder / "sys/kernel/random").mkdir(parents=True)
    (folder / "sys/kernel/random/boot_id").write_text(boot or (real / "sys/kernel/random/boot_id").read_text())
    lines = (real / "stat").read_text().splitlines()
    stepped = [f"btime {int(line.split()[1]) + seconds}" if line.startswith("btime") else line for line in lines]
    (folder / "stat").write_text("\n".join(stepped))
    for pid in pids:
        (folder / str(pid)).mkdir()
        (folder / str(pid) / "stat").write_text((real / str(pid) / "stat").read_text())
    monkeypatch.setattr(processes, "PROC", folder)


@pytest.mark.parametrize("seconds", [-3600, 1, 86_400])
def test_a_process_is_the_same_one_after_the_clock_was_set(sleeper, tmp_path, monkeypatch, seconds):
    handle = handle_of(sleeper.pid)
    another_clock(monkeypatch, tmp_path, sleeper.pid, seconds=seconds)
    assert handle_of(sleeper.pid) == handle
    assert is_alive(handle)


def test_a_process_of_another_boot_is_gone_though_pid_and_start_are_the_same(sleeper, tmp_path, monkeypatch):
    handle = handle_of(sleeper.pid)
    another_clock(monkeypatch, tmp_path, sleeper.pid, boot="f00d")
    assert find(handle) is None
    kill_all(handle)
    assert sleeper.poll() is None


def test_a_process_of_another_container_is_none_of_ours_though_pid_and_start_are_the_same(sleeper, tmp_path, monkeypatch):
    handle = handle_of(sleeper.pid)
    another_clock(monkeypatch, tmp_path, sleeper.pid)
    container = tmp_path / "self/ns/pid"
    container.parent.mkdir(parents=True)
    container.write_text("")  # its number is not that of the machine's own namespace
    assert find(handle) is None
    kill_all(handle)
    assert sleeper.poll() is None
    assert find(handle_of(sleeper.pid)).pid == sleeper.pid


def test_a_process_that_has_the_same_pid_is_not_the_same_process(sleeper):
    boot, pid, started = handle_of(sleeper.pid).split("/")
    assert int(pid) == sleeper.pid
    assert find(RunHandle(f"{boot}/{pid}/{int(started) + 1}")) is None


def test_the_own_process_is_alive_under_its_handle():
    assert own_handle() == handle_of(os.getpid())
    assert is_alive(own_handle())


def test_a_process_whose_name_looks_like_its_own_account_is_found(tmp_path):
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "600"])
    assert is_alive(handle_of(process.pid))
    process.kill()
    process.wait()


def test_handles_of_an_older_release_still_find_their_process(sleeper):
    assert find(old_handle(sleeper.pid)).pid == sleeper.pid
    assert find(old_handle(sleeper.pid, seconds=-5)) is None
    kill_all(old_handle(sleeper.pid))
    assert gone(sleeper.pid)


def test_a_handle_of_another_launcher_is_told_apart():
    with pytest.raises(EngineError, match="'pod ingest-7' of a run names no process of this machine"):
        is_alive(RunHandle("pod ingest-7"))


def test_a_handle_is_written_down_and_read_also_from_files_of_an_older_release(sleeper, tmp_path):
    write_handle(tmp_path / "process.json", handle_of(sleeper.pid))
    assert handle_in(tmp_path / "process.json") == handle_of(sleeper.pid)
    created = psutil.Process(sleeper.pid).create_time()
    (tmp_path / "old.json").write_text(json.dumps({"pid": sleeper.pid, "created": created}))
    assert is_alive(handle_in(tmp_path / "old.json"))
    (tmp_path / "damaged.json").write_text("{")
    assert handle_in(tmp_path / "damaged.json") is None
    assert handle_in(tmp_path / "missing.json") is None


def test_what_a_process_left_in_its_session_is_killed_with_it(python):
    leader, left = python(LEADER_THAT_ENDS)
    handle = handle_of(leader.pid)
    leader.wait()
    assert is_alive(handle_of(left))
    kill_all(handle)
    assert gone(left)


def test_what_a_process_started_in_a_session_of_its_own_is_killed_with_it(python):
    parent, child = python(PARENT_THAT_NEVER_COLLECTS)
    kill_all(handle_of(parent.pid))
    assert gone(parent.pid)
    assert gone(child)


def test_a_killed_process_that_its_parent_does_not_collect_is_not_waited_for(python):
    _, child = python(PARENT_THAT_NEVER_COLLECTS)
    handle = handle_of(child)
    began = time.monotonic()
    kill_all(handle)
    assert time.monotonic() - began < KILL_SECONDS
    assert psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert not is_alive(handle)


def test_a_process_that_only_has_the_same_pid_is_left_alone(sleeper):
    boot, pid, started = handle_of(sleeper.pid).split("/")
    kill_all(RunHandle(f"{boot}/{pid}/{int(started) - 1}"))
    assert sleeper.poll() is None


def test_processes_are_ended_by_a_variable_that_they_were_started_with():
    meant = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"], "PITSTOP_TEST_MARK": "one"})
    other = subprocess.Popen(["sleep", "600"], env={"PATH": os.environ["PATH"], "PITSTOP_TEST_MARK": "another"})
    try:
        assert wait_until(lambda: b"sleep" in Path(f"/proc/{meant.pid}/cmdline").read_bytes(), 10)
        assert kill_with("PITSTOP_TEST_MARK", "one") == 1
        assert meant.wait(10) == -signal.SIGKILL
        assert kill_with("PITSTOP_TEST_MARK", "one") == 0
        assert other.poll() is None
    finally:
        for process in (meant, other):
            process.kill()
            process.wait()
