"""A forked Python worker is what a started one would be, and lives and dies as the process does that stands for it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pitstop.kit.waiting import wait_until
from pitstop.launchers.processes import kill_with
from pitstop.machine import forked
from pitstop.spark.base.engines import CLIENT_VARIABLE

SECONDS = 60.0
TELLS = """
import os, random, sys
import numpy

print(sys.argv[1:], os.environ["MINE"], os.getcwd(), __name__, hash("text"))
print(random.random(), numpy.random.random(), file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""
ANSWERS_NOBODY = """
import os

reader, writer = os.pipe()
os.close(reader)
try:
    raise EOFError
except EOFError:
    os.write(writer, b"an answer")
"""
FINDS_NO_SOCKET = """
from pyspark.util import local_connect_and_auth

local_connect_and_auth("/nowhere/a.sock", None)
"""
WAITS = "import time\nprint('waits')\ntime.sleep(600)\n"


@pytest.fixture(scope="module")
def socket(tmp_path_factory):
    path = tmp_path_factory.mktemp("forks") / "python.sock"
    command = [sys.executable, "-m", "pitstop.runner", "forks", "--socket", str(path)]
    forks = subprocess.Popen(command, stdin=subprocess.PIPE, env=os.environ | {"PYTHONHASHSEED": "0"})
    assert wait_until(path.exists, SECONDS)
    yield path
    forks.stdin.close()
    assert forks.wait(SECONDS) == 0, "it ends with its engine"


@pytest.fixture
def start(tmp_path):
    """Starts the program of a module, with its variables, as Java does."""
    (tmp_path / "tells.py").write_text(TELLS)
    (tmp_path / "waits.py").write_text(WAITS)
    (tmp_path / "answers_nobody.py").write_text(ANSWERS_NOBODY)
    (tmp_path / "finds_no_socket.py").write_text(FINDS_NO_SOCKET)

    def start(path: Path, *arguments: str) -> subprocess.Popen[str]:
        variables = {"MINE": "a", "PYTHONPATH": str(tmp_path), "PYTHONHASHSEED": "0", CLIENT_VARIABLE: "client-1"}
        command = [sys.executable, "-I", "-S", forked.__file__, str(path), sys.executable, "-m", *arguments]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=variables
        )

    return start


def forked_for(path, module):
    """Return the processes that have been forked for a module."""
    processes = psutil.process_iter(["cmdline"])
    return [each for each in processes if " ".join(each.info["cmdline"] or ()).split()[1:3] == ["-m", module]]


def test_it_has_the_arguments_variables_folder_and_files_of_the_one_it_stands_for(socket, start, tmp_path):
    out, errors = (process := start(socket, "tells", "3", "b")).communicate(timeout=SECONDS)
    assert process.returncode == 3
    alone, errors_alone = start(tmp_path / "nobody.sock", "tells", "3", "b").communicate(timeout=SECONDS)
    assert out == alone, "where nobody forks, it is started; a text has the same hash in both"
    assert out.startswith(f"['3', 'b'] a {tmp_path} __main__ ")
    _, others = start(socket, "tells", "3", "b").communicate(timeout=SECONDS)
    assert len({*errors.split(), *others.split(), *errors_alone.split()}) == 6, "each draws its own random numbers"


def test_it_prints_at_once_and_ends_with_the_one_that_stands_for_it(socket, start):
    process = start(socket, "waits")
    assert process.stdout.readline() == "waits\n"
    (worker,) = forked_for(socket, "waits")
    process.terminate()
    assert wait_until(lambda: not worker.is_running(), SECONDS)
    process.communicate(timeout=SECONDS)


@pytest.mark.parametrize("module", ["answers_nobody", "finds_no_socket"])
def test_it_ends_without_a_word_where_spark_has_closed_its_connection(socket, start, module):
    process = start(socket, module)
    assert process.communicate(timeout=SECONDS) == ("", "")
    assert process.returncode == 1


def test_it_is_found_by_the_variable_that_says_for_whom_it_works(socket, start):
    process = start(socket, "waits")
    assert process.stdout.readline() == "waits\n"
    (worker,) = forked_for(socket, "waits")
    assert kill_with(CLIENT_VARIABLE, "client-1") >= 1
    assert wait_until(lambda: not worker.is_running(), SECONDS)
    process.communicate(timeout=SECONDS)
    assert process.returncode in (-signal.SIGKILL, 256 - signal.SIGKILL)


def test_it_goes_on_when_the_process_is_gone_that_has_forked_it(start, tmp_path):
    path = tmp_path / "python.sock"
    command = [sys.executable, "-m", "pitstop.runner", "forks", "--socket", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as forks:
        assert wait_until(path.exists, SECONDS)
        process = start(path, "waits")
        assert process.stdout.readline() == "waits\n"
        forks.kill()
    assert wait_until(lambda: "sleep 1" in " ".join(psutil.Process(process.pid).cmdline()), SECONDS)
    (worker,) = forked_for(path, "waits")
    assert process.poll() is None
    worker.kill()
    process.communicate(timeout=SECONDS)
    assert process.returncode == 1


@pytest.mark.long
def test_where_the_process_stands_still_that_forks_it_is_started(start, tmp_path):
    path = tmp_path / "python.sock"
    command = [sys.executable, "-m", "pitstop.runner", "forks", "--socket", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as forks:
        assert wait_until(path.exists, SECONDS)
        forks.send_signal(signal.SIGSTOP)
        process = start(path, "tells", "3")
        assert process.stdout.readline().startswith("['3'] a ")
        assert process.wait(SECONDS) == 3
        forks.send_signal(signal.SIGCONT)
        again = start(path, "tells", "0")
        assert again.wait(SECONDS) == 0, "it forks again"
        assert process.stdout.read() == "", "and nothing for the one that has not waited"
        for each in (process, again):
            each.communicate(timeout=SECONDS)
        forks.kill()


def test_a_path_of_any_length_is_reached(tmp_path, start):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    out, _ = start(folder / "nobody.sock", "tells", "0").communicate(timeout=SECONDS)
    assert out.startswith("['0'] a ")
