"""The simulators as real processes, each ended by the test that started it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FLEET = Path(__file__).parents[2] / "examples" / "fleet"
sys.path.insert(0, str(FLEET))

SECONDS = 30.0
"""How long a test waits for anything."""


class Simulator:
    """A running simulator and its standard output."""

    def __init__(self, module, *options):
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"fleetsim.{module}", *map(str, options)],
            cwd=FLEET, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONHASHSEED": "random", "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip

    def line(self):
        """The next line on stdout, as the object that it is."""
        return json.loads(self._process.stdout.readline())

    def signal(self, number):
        self._process.send_signal(number)

    def ended(self):
        """(exit code, rest of stdout as objects, stderr), once the process has ended by itself."""
        out, errors = self._process.communicate(timeout=SECONDS)
        return self._process.returncode, [json.loads(line) for line in out.splitlines()], errors

    @property
    def running(self):
        return self._process.poll() is None

    def end(self):
        if self.running:
            self.signal(signal.SIGKILL)
        self._process.communicate()


@pytest.fixture
def simulate():
    """``simulate("alpha", "--seed", 7, ...)`` starts a simulator."""
    started = []

    def start(module, *options):
        started.append(Simulator(module, *options))
        return started[-1]

    yield start
    for simulator in started:
        simulator.end()


def until(condition, what):
    """The first true value of the condition; fails the test if there is none in time."""
    deadline = time.monotonic() + SECONDS
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen within {SECONDS:.0f} seconds"
        time.sleep(0.005)
    return value
