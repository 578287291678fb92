"""A source whose query waits for its checkpoint is ready only when the gate is open, and does not outlive its query."""

import subprocess
import sys
import time

from pitstop.spark.sources.shared import reached

SOURCE = """
import sys
from pitstop.spark.sources.shared import SourceOptions
SourceOptions("rate", {"gate": sys.argv[1]})
print("ready", flush=True)
"""
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]], stderr=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(60)
"""


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_source_is_ready_once_the_gate_is_open(tmp_path):
    gate = tmp_path / "gate"
    with subprocess.Popen([sys.executable, "-c", SOURCE, str(gate)], stdout=subprocess.PIPE, text=True) as source:
        wait_until(reached(gate).exists)
        assert source.poll() is None
        gate.touch()
        assert source.communicate(timeout=60)[0] == "ready\n"


def test_a_source_that_waits_ends_with_the_process_of_its_query(tmp_path):
    gate = tmp_path / "gate"
    command = [sys.executable, "-c", PARENT, str(gate), SOURCE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        wait_until(reached(gate).exists)
        parent.kill()
    wait_until(lambda: not running(child))
    assert not gate.exists()


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
