"""Spares that are held for one version of a job: asked, given their run, or ended; with processes that keep to the protocol."""

import json
import subprocess
import sys
import threading

import psutil
import pytest

from pitstop.errors import ArtifactError, EngineError
from pitstop.kit.jsonable import from_json
from pitstop.launchers.spares import Spares
from pitstop.launchers.standby import HeldSpare
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobSource
from pitstop.model.task import Compile, Rehearse

SPARE = """
import json, sys, time
from pathlib import Path
from pitstop.machine.wake import WakeSocket, wake

folder = Path(sys.argv[1])
socket = WakeSocket(folder / "wake.sock")
(folder / "ready").write_text("{}")
asked = 0
while not (folder / "assignment.json").exists():
    task = folder / f"task-{asked + 1}.json"
    if not task.exists():
        socket.wait(0.2)
        continue
    asked += 1
    found = json.loads(task.read_text())
    request = found["request"]
    if found["task"] == "rehearse":
        (folder / "checkpoint").write_text(request["lineage"])
    if request.get("job_name") == "dies":
        print("out of memory", flush=True)
        sys.exit(9)
    wrong = {"error": {"code": "ARTIFACT", "message": "no such file", "details": {}}}
    answer = wrong if request.get("job_name") == "wrong" else {"result": {"plan": request, "config": {}}}
    temporary = folder / "answer.tmp"
    temporary.write_text(json.dumps(answer))
    temporary.rename(folder / f"answer-{asked}.json")
    wake(folder / "answer.sock")
time.sleep(60)
"""
SOURCE = JobSource("new.py", "main", ("a",))


@pytest.fixture
def spares(tmp_path):
    made = []

    def spawn(command, log):
        with log.open("ab") as out:
            arguments = [sys.executable, "-c", SPARE, str(log.parent)]
            made.append(subprocess.Popen(arguments, stdout=out, stderr=out, start_new_session=True))
        return made[-1]

    found = Spares(DataFolder(tmp_path), 1, spawn)
    found.replenish()
    yield found
    found.end()
    for process in made:
        process.kill()
        process.wait()


def held(spares):
    kept = spares.hold(60)
    assert kept is not None
    return kept


def waiting(tmp_path):
    return [folder for folder in (tmp_path / "spares").glob("*") if not (folder / "assignment.json").exists()]


def test_a_standby_answers_what_it_is_asked_and_its_errors_are_raised(spares, tmp_path):
    standby = HeldSpare(*held(spares))
    task = Compile(SOURCE, {"partitions": 2}, str(tmp_path), "id", "job")
    assert from_json(Compile, standby.compile(task).plan) == task
    with pytest.raises(ArtifactError, match="no such file"):
        standby.compile(Compile(SOURCE, job_name="wrong"))
    with pytest.raises(EngineError, match=r"ended while it was to compile the new version \(exit code 9\): out of memory"):
        standby.compile(Compile(SOURCE, job_name="dies"))


def test_a_run_goes_to_the_spare_that_is_held_for_it_and_to_no_other(spares, tmp_path):
    spare_id, folder, process = held(spares)
    spares.replenish()
    assert len(waiting(tmp_path)) == 1, "none warms up while one is held"
    assert spares.assign("other", 1) is None
    assert spares.assign("id", 5, spare_id) is process
    assert json.loads(folder.assignment.read_text()) == {"job": "id", "token": 5}
    spares.release(spare_id)
    assert process.poll() is None, "what has its run is not ended with the update"
    spares.replenish()
    assert len(waiting(tmp_path)) == 1, "the next one warms up"


def test_a_standby_that_gets_no_run_is_ended_with_the_checkpoint_that_it_began(spares, tmp_path):
    spare_id, folder, process = held(spares)
    begun = tmp_path / "begun"
    begun.mkdir()
    HeldSpare(spare_id, folder, process).rehearse(Rehearse(str(begun)))
    spares.release(spare_id)
    assert process.poll() is not None
    assert not folder.root.exists()
    assert not begun.exists()


def test_a_run_whose_standby_is_gone_goes_to_another_spare(spares):
    spare_id, _, process = held(spares)
    process.kill()
    process.wait()
    spares.release(spare_id)
    spares.replenish()
    another = spares.assign("id", 5, spare_id)
    assert another is not None
    assert another is not process


def test_the_next_control_plane_ends_a_standby_and_what_it_began(spares, tmp_path):
    spare_id, folder, process = held(spares)
    begun = tmp_path / "begun"
    begun.mkdir()
    HeldSpare(spare_id, folder, process).rehearse(Rehearse(str(begun)))
    reaper = threading.Thread(target=process.wait)
    reaper.start()
    Spares(DataFolder(tmp_path), 0, lambda *_: pytest.fail("nothing is started"))
    reaper.join(10)
    assert not psutil.pid_exists(process.pid)
    assert not begun.exists()
    assert not folder.root.exists()


def test_there_is_no_standby_where_no_spare_is_wished(tmp_path):
    assert Spares(DataFolder(tmp_path), 0, lambda *_: pytest.fail("nothing is started")).hold(60) is None
