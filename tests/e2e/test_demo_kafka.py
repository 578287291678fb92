"""``make demo KAFKA=1``, as a process: Apache Kafka is between the simulators and the job, and nothing outlives the demo."""

import contextlib
import os
import re
import signal
import subprocess
import sys

import psutil
import pytest

from pitstop.kit.waiting import wait_until
from tests.e2e.conftest import FLEET

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]
SECONDS = 300


@pytest.fixture
def demo(tmp_path):
    """``demo("--seconds", "5")`` starts a demo whose processes all have its folder as their temporary one."""
    started = []

    def start(*options):
        command = [sys.executable, "demo.py", "--kafka", "--port", "0", *options]
        process = subprocess.Popen(
            command, cwd=FLEET, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS)


def processes_of(folder):
    """The processes of which an argument or the environment names the folder."""
    name = str(folder)
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("TMPDIR") == name or any(name in argument for argument in process.cmdline()):
                processes.append(process)
    return processes


def counts(text):
    return {name: int(count.replace(",", "")) for name, count in re.findall(r"^([a-z ]+?)  +([\d,]+)$", text, re.MULTILINE)}


def test_each_ping_passes_through_both_topics_once_and_no_process_is_left(demo, tmp_path):
    process = demo("--seconds", "8")
    out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, f"{out}\n{errors}"
    result = counts(out)
    emitted = result["emitted by alpha"] + result["emitted by beta"]
    assert emitted > 0
    assert (result["ingested"], result["in the topic"]) == (emitted, emitted)
    assert (result["missed"], result["doubled"]) == (0, 0)
    assert wait_until(lambda: processes_of(tmp_path) == [], 30)


@pytest.mark.parametrize("step", [b"starting an Apache Kafka", b"starting the ingest job"])
def test_ctrl_c_while_it_starts_leaves_no_process(demo, tmp_path, step):
    process = demo()
    before, text = len(processes_of(tmp_path)), b""
    while step not in text:
        chunk = os.read(process.stdout.fileno(), 4096)
        assert chunk, process.stderr.read()
        text += chunk
    assert wait_until(lambda: len(processes_of(tmp_path)) > before, 60), "it has started something"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert wait_until(lambda: processes_of(tmp_path) == [], 30)
