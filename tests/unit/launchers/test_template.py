"""Processes that are forked from a template are what started ones are: their arguments, their output, their end."""

import json
import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from pitstop.kit.jsonable import to_json
from pitstop.kit.waiting import wait_until
from pitstop.launchers.template import UNKNOWN_CODE, Template
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobSource
from pitstop.model.task import Compile

SECONDS = 60.0
FAILS = ["run", "--job", "id-1", "--token", "3", "--store", "nosuch:///store", "--data", "/nowhere"]
"""A run that ends by itself, for it knows no such store."""


@pytest.fixture(scope="module")
def template():
    template = Template(os.environ)
    yield template
    template.close()


@pytest.fixture
def fork(template, tmp_path):
    """Forks a process that prints into the file ``log``; all that it has forked end with the test."""
    forked = []

    def fork(arguments):
        with (tmp_path / "log").open("ab") as out:
            assert wait_until(lambda: forked.append(template.fork(arguments, out.fileno())) or forked[-1] is not None, SECONDS)
        return forked[-1]

    yield fork
    for process in filter(None, forked):
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait(SECONDS)


@pytest.fixture
def waits(tmp_path):
    """The arguments of a process that waits for an engine which never comes up."""
    worker = DataFolder(tmp_path).worker("w")
    worker.root.mkdir(parents=True)
    worker.request.write_text(json.dumps(to_json(Compile(JobSource("/d/job.py"), {}))))
    engine = tmp_path / "engine"
    engine.mkdir()
    return ["worker", "--task", "compile", "--folder", str(worker.root), "--engine", str(engine)]


def test_it_ends_with_the_words_and_the_code_of_a_process_that_was_started(fork, tmp_path):
    started = subprocess.run([sys.executable, "-m", "pitstop.runner", *FAILS], capture_output=True, text=True)
    process = fork(FAILS)
    assert (process.wait(SECONDS), process.poll(), process.returncode) == (started.returncode,) * 3 != (0, 0, 0)
    last = (tmp_path / "log").read_text().splitlines()[-1]
    assert last == started.stderr.splitlines()[-1]
    assert "nosuch" in last


def test_it_is_listed_under_its_own_arguments_in_a_session_of_its_own(fork, waits):
    process = fork(waits)
    assert wait_until(lambda: "worker" in " ".join(psutil.Process(process.pid).cmdline()).split(), SECONDS)
    assert os.getsid(process.pid) == process.pid
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)


def test_one_that_is_killed_says_so(fork, waits):
    process = fork(waits)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(SECONDS) == -signal.SIGKILL


def test_processes_share_no_pipes_and_sockets(fork, waits):
    first = fork(waits)
    second = fork(waits)

    def shared():
        pipes = [{link for link in _links(process.pid) if link.startswith(("pipe:", "socket:"))} for process in (first, second)]
        return pipes[0] & pipes[1]

    # A process that has just been forked still closes what it has from the template.
    assert wait_until(lambda: not shared(), SECONDS), shared()


def test_processes_draw_their_own_random_numbers(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import random, socket, sys\n"
        "from pitstop.runner.template import fork_on_request\n"
        "fork_on_request(socket.socket(fileno=int(sys.argv[1])))\n"
        "import numpy\n"
        "print(random.random(), numpy.random.random())\n"
    )
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, (tmp_path / "log").open("w") as out:
        with theirs:
            process = subprocess.Popen([sys.executable, program, str(theirs.fileno())], pass_fds=[theirs.fileno()])
        for _ in range(2):
            socket.send_fds(ours, [b"[]"], [out.fileno()])
        assert wait_until(lambda: len((tmp_path / "log").read_text().split()) == 4, SECONDS)
    assert process.wait(SECONDS) == 0
    assert len(set((tmp_path / "log").read_text().split())) == 4


def test_what_it_has_forked_outlives_it_and_the_next_one_takes_its_place(fork, template, waits):
    process = fork(waits)
    assert wait_until(lambda: os.getsid(process.pid) == process.pid, SECONDS), "without a go-ahead it ends with its parent"
    (parent,) = {psutil.Process(process.pid).ppid()}
    os.kill(parent, signal.SIGKILL)
    assert wait_until(lambda: not psutil.pid_exists(parent) or psutil.Process(parent).status() == psutil.STATUS_ZOMBIE, SECONDS)
    assert process.poll() is None
    other = fork(waits)
    assert psutil.Process(other.pid).ppid() != parent
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(SECONDS) == UNKNOWN_CODE, "whose child it is then, collects its code"


def test_it_ends_with_its_launcher_and_leaves_what_it_has_forked(waits, tmp_path):
    program = tmp_path / "launcher.py"
    program.write_text(
        "import json, os, sys, time\n"
        "from pitstop.launchers.template import Template\n"
        "template = Template(os.environ)\n"
        "while (process := template.fork(json.loads(sys.argv[1]), 2)) is None:\n"
        "    time.sleep(0.05)\n"
        "print(process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    launcher = subprocess.Popen([sys.executable, program, json.dumps(waits)], stdout=subprocess.PIPE, text=True)
    child = psutil.Process(int(launcher.stdout.readline()))
    template = child.parent()
    launcher.kill()
    launcher.wait()
    launcher.stdout.close()
    assert wait_until(lambda: not template.is_running() or template.status() == psutil.STATUS_ZOMBIE, SECONDS)
    assert child.is_running()
    child.kill()


def _links(pid):
    links = []
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
        except FileNotFoundError:
            continue
    return links
