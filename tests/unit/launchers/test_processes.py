"""What is killed and what is waited for, with real processes."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

from pitstop.launchers.processes import KILL_SECONDS, identity_of, is_alive, kill_all

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


def test_what_a_process_left_in_its_session_is_killed_with_it(python):
    leader, left = python(LEADER_THAT_ENDS)
    pid, created = identity_of(leader.pid)
    leader.wait()
    assert is_alive(*identity_of(left))
    kill_all(pid, created)
    identity = identity_of(left)
    assert identity is None or not is_alive(*identity)


def test_a_killed_process_that_its_parent_does_not_collect_is_not_waited_for(python):
    _, child = python(PARENT_THAT_NEVER_COLLECTS)
    identity = identity_of(child)
    began = time.monotonic()
    kill_all(*identity)
    assert time.monotonic() - began < KILL_SECONDS
    assert psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert not is_alive(*identity)


def test_a_process_that_only_has_the_same_pid_is_left_alone(python):
    _, child = python(PARENT_THAT_NEVER_COLLECTS)
    pid, created = identity_of(child)
    kill_all(pid, created - 100)
    assert is_alive(pid, created)
    psutil.Process(pid).send_signal(signal.SIGKILL)
