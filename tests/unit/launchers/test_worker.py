"""Worker processes: real ones, with a small program in the place of the runner."""

import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from pitstop.errors import ArtifactError, EngineError, WaitTimeoutError
from pitstop.kit.asker import ASKER, Asker
from pitstop.kit.waiting import wait_until
from pitstop.launchers import worker
from pitstop.launchers.runner_processes import RunnerProcesses
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobSource
from pitstop.model.task import Compile

PROGRAM = """
import json, pathlib, subprocess, sys, time
folder = pathlib.Path(sys.argv[sys.argv.index("--folder") + 1])
request = json.loads((folder / "request.json").read_text())["options"]
if "child" in request:
    child = subprocess.Popen(["sleep", "600"])
    pathlib.Path(request["child"]).write_text(str(child.pid))
if request.get("prints"):
    print("first line\\n" + request["prints"], flush=True)
if "exit" in request:
    sys.exit(request["exit"])
if request.get("hangs"):
    time.sleep(600)
result = {"result": {"task": sys.argv[sys.argv.index("--task") + 1], "request": request}}
if request.get("wrong"):
    result = {"error": {"code": "ARTIFACT", "message": request["wrong"]}}
(folder / "result.json").write_text(json.dumps(result))
"""


@pytest.fixture
def do(tmp_path, monkeypatch):
    """Runs the program above as ``python -m pitstop.runner``."""
    package = tmp_path / "python" / "pitstop"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "runner.py").write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    folder = DataFolder(tmp_path).worker("w")

    def do(request):
        start = RunnerProcesses(DataFolder(tmp_path), "", environment).start_task
        return worker.do_task(Compile(JobSource("/d/job.py"), request), folder, lambda command: start(command, folder.log, None))

    yield do
    assert not folder.root.exists(), "the folder is used up, however it ended"


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_worker_that_nobody_waits_for_any_more_is_ended_with_all_it_started(do, tmp_path):
    asker, child = Asker(), tmp_path / "child"
    token = ASKER.set(asker)
    leaver = threading.Thread(target=lambda: wait_until(lambda: child.exists() and child.read_text(), 30) and asker.leave())
    leaver.start()
    try:
        with pytest.raises(EngineError, match="ended without a result"):
            do({"hangs": True, "child": str(child)})
    finally:
        ASKER.reset(token)
        leaver.join()
    assert wait_until(lambda: gone(int(child.read_text())), 10)


def test_a_worker_is_told_its_task_and_answers(do):
    assert do({"partitions": 2}) == {"task": "compile", "request": {"partitions": 2}}


def test_what_is_wrong_is_raised(do):
    with pytest.raises(ArtifactError, match="no such file"):
        do({"wrong": "no such file"})


def test_a_worker_that_ends_without_a_result_is_told_with_its_last_words(do):
    with pytest.raises(EngineError, match=r"^Compiling job.py ended without a result \(exit code 7\): out of memory$"):
        do({"exit": 7, "prints": "out of memory"})


def test_a_worker_that_ends_in_silence_is_told_so(do):
    with pytest.raises(EngineError, match=r"\(exit code 7\): it wrote nothing\.$"):
        do({"exit": 7})


def test_a_worker_that_takes_too_long_is_ended_with_all_that_it_started(do, tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "START_SECONDS", 1.0)
    began = time.monotonic()
    with pytest.raises(WaitTimeoutError, match=r"within 2 seconds\. Raise the option compile_timeout"):
        do({"compile_timeout": "1 s", "hangs": True, "child": str(tmp_path / "pid")})
    assert time.monotonic() - began < 30
    assert gone(int((tmp_path / "pid").read_text()))


def test_what_a_worker_leaves_behind_ends_with_it(do, tmp_path):
    do({"child": str(tmp_path / "pid")})
    assert gone(int((tmp_path / "pid").read_text()))


def test_the_program_of_these_tests_stands_where_the_runner_does():
    found = subprocess.run(
        [sys.executable, "-m", "pitstop.runner", "worker", "--help"], capture_output=True, text=True, check=True
    )
    assert all(option in found.stdout for option in ("--task", "--folder"))
