"""The watcher tells of the end of real processes, also of those that are no children of ours."""

import queue
import subprocess
import sys

import pytest

from pitstop.control.ports.launcher import RunHandle
from pitstop.launchers.processes import handle_of, kill_all
from pitstop.launchers.watcher import Watcher

GRANDCHILD = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
SECONDS = 30


@pytest.fixture
def ended():
    return queue.Queue()


@pytest.fixture
def watcher(ended):
    made = Watcher(lambda: ended.put("ended"))
    yield made
    made.close()


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_the_end_of_a_process_is_told_once(watcher, ended, sleeper):
    watcher.watch(handle_of(sleeper.pid))
    assert ended.empty()
    sleeper.kill()
    assert ended.get(timeout=SECONDS) == "ended"
    other = subprocess.Popen(["sleep", "600"])
    watcher.watch(handle_of(other.pid))
    other.kill()
    other.wait()
    assert ended.get(timeout=SECONDS) == "ended"
    assert ended.empty()


def test_the_end_of_a_process_that_another_one_started_is_told(watcher, ended):
    parent = subprocess.Popen([sys.executable, "-c", GRANDCHILD], stdout=subprocess.PIPE, text=True, start_new_session=True)
    child = handle_of(int(parent.stdout.readline()))
    watcher.watch(child)
    kill_all(child)
    assert ended.get(timeout=SECONDS) == "ended"
    kill_all(handle_of(parent.pid))
    parent.wait()


def test_a_process_that_is_gone_already_is_told_at_once(watcher, ended, sleeper):
    handle = handle_of(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    watcher.watch(handle)
    assert ended.get_nowait() == "ended"


def test_another_process_with_the_same_pid_is_not_watched(watcher, ended, sleeper):
    boot, pid, started = handle_of(sleeper.pid).split("/")
    watcher.watch(RunHandle(f"{boot}/{pid}/{int(started) - 1}"))
    assert ended.get_nowait() == "ended"
    sleeper.kill()
    sleeper.wait()
    with pytest.raises(queue.Empty):
        ended.get(timeout=0.2)
