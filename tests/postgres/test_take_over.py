"""Two control planes on one store, with real processes: when the leader dies or hangs, the other one leads within 10 s.

A real job goes on all the while, in the same run: not a number missed or doubled.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from pitstop.client import connect
from pitstop.model.job import JobState
from tests.e2e.test_kept_state import artifact, nothing_missed_or_doubled
from tests.postgres.server import new_database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

TAKE_OVER_SECONDS = 10.0


class Plane:
    """A ``pitstop serve`` with its client."""

    def __init__(self, folder, store, port):
        self.folder, self.store, self.address = folder, store, f"127.0.0.1:{port}"
        self._log = folder / f"server-{port}.log"
        command = [sys.executable, "-m", "pitstop.cli.main", "serve", "--data", str(folder / "data"), "--port", str(port)]
        environment = os.environ | {"PITSTOP_STORE": store, "PYTHONUNBUFFERED": "1"}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--spares", "0"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
            )
        assert self.process.stdout.readline(), self._log.read_text()[-600:]
        self.client = connect(f"http://{self.address}")

    @property
    def log(self):
        return self._log.read_text()

    def leader(self):
        return self.client.service.server_info().leader

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        for number in (signal.SIGCONT, signal.SIGTERM):
            if self.process.poll() is None:
                self.process.send_signal(number)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, seconds, what):
    """How long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"{what} did not happen within {seconds:.0f} s"
        time.sleep(0.05)
    return time.monotonic() - began


@pytest.fixture
def start(tmp_path):
    store, planes = new_database(), []

    def start(port=None):
        planes.append(Plane(tmp_path, store, port or free_port()))
        return planes[-1]

    yield start
    for plane in planes:
        if plane.process.poll() is None and planes[-1] is plane:
            plane.signal(signal.SIGCONT)
    for plane in planes:
        if plane.process.poll() is None:
            for job in plane.client.jobs():
                job.cancel()
            break
    for plane in planes:
        plane.end()


def test_the_other_one_takes_over_from_a_leader_that_dies_and_from_one_that_hangs(start, tmp_path, record_property):
    first = start()
    until(lambda: first.leader() == first.address, 10, "the first one leads")
    second = start()
    job = second.client.submit(artifact(tmp_path, "counting"))
    job.wait_started()
    seen = second.client.map("seen")
    until(lambda: seen.size() > 20, 60, "some numbers")
    token = job.details.token
    assert [plane.leader() for plane in (first, second)] == [first.address] * 2
    assert [found.id for found in first.client.jobs()] == [job.id]

    first.signal(signal.SIGKILL)
    died = until(lambda: second.leader() == second.address, 30, "the second one leads")
    before = seen.size()
    until(lambda: seen.size() > before + 20, 60, "the job goes on")
    assert (job.status, job.details.token) == (JobState.RUNNING, token), "in the same run"

    third = start()
    assert third.leader() == second.address
    took = time.monotonic()
    third.client.job(job.id).export_snapshot("by-the-follower")
    asked = time.monotonic() - took
    second.signal(signal.SIGSTOP)
    hung = until(lambda: third.leader() == third.address, 30, "the third one leads")
    third_job = third.client.job(job.id)
    third_job.suspend()
    assert third_job.status is JobState.SUSPENDED
    second.signal(signal.SIGCONT)
    until(lambda: "leads no more" in second.log, 30, "the second one steps down")
    assert second.leader() == third.address
    second_job = second.client.job(job.id)
    assert second_job.status is JobState.SUSPENDED
    second_job.resume()
    second_job.wait_started()
    assert second_job.details.token > token
    before = third.client.map("seen").size()
    until(lambda: third.client.map("seen").size() > before + 20, 60, "the job goes on")
    assert nothing_missed_or_doubled(third.client)

    third.signal(signal.SIGTERM)
    third.process.wait(30)
    ended = until(lambda: second.leader() == second.address, 30, "the second one leads again")
    print(f"\ntake-over after SIGKILL {died:.1f} s, SIGSTOP {hung:.1f} s, an orderly end {ended:.1f} s; export {asked:.1f} s")
    assert died < TAKE_OVER_SECONDS
    assert hung < TAKE_OVER_SECONDS
    assert ended < 2


def test_the_password_of_the_store_is_in_no_argument_and_no_log(start, tmp_path):
    plane = start()
    until(lambda: plane.leader() == plane.address, 10, "it leads")
    password = re.search(r":([0-9a-f]{32})@", plane.store)[1]
    job = plane.client.submit(artifact(tmp_path, "counting"))
    job.wait_started()
    until(lambda: plane.client.map("seen").size() > 0, 60, "a number")
    arguments = [path.read_bytes() for path in commands()]
    assert any(b"pitstop.runner" in line and b"postgresql://" in line for line in arguments), "the runner is among them"
    assert not any(password.encode() in line for line in arguments)
    kept = [path for path in (tmp_path / "data").rglob("*") if path.is_file() and password.encode() in path.read_bytes()]
    assert [path.name for path in kept] == ["store.pgpass"]
    assert password not in plane.log


def commands():
    from pathlib import Path

    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            path.read_bytes()
        except OSError:
            continue
        found.append(path)
    return found
