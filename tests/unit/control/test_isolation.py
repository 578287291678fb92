"""One job never delays another: what takes long for one is done beside the loop."""

import dataclasses
import threading
from pathlib import Path

import pytest

from pitstop.control.controller import Controller
from pitstop.control.means import Means
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState, Starting, Update
from pitstop.model.operation import Cancel, OperationState, Suspend
from pitstop.model.run import Observation, Running, Stopped, StopRun
from pitstop.outputs.kept import KeptOutputs
from tests.doubles.files import MemoryFiles
from tests.doubles.launcher import ScriptedLauncher
from tests.doubles.registry import MemoryRunnerLink
from tests.doubles.workers import ScriptedWorkers
from tests.maps import map_store
from tests.unit.control.world import World

JOBS = 50
SLOW_KILL, SLOW_DELETE = "job-0", "job-1"
DATA = DataFolder(Path("/data"))


class Stuck:
    """Something that takes until it is let go."""

    def __init__(self):
        self.begun, self.over = threading.Event(), threading.Event()

    def __call__(self):
        self.begun.set()
        assert self.over.wait(60)


class StubbornLauncher(ScriptedLauncher):
    """The process of one job takes long to die."""

    def kill(self, run):
        if self.process(run).spec.job_id == SLOW_KILL:
            self.dying()
        super().kill(run)


class SlowFiles(MemoryFiles):
    """The checkpoint of one job takes long to delete."""

    def remove(self, path):
        if SLOW_DELETE in str(path) and "old" in str(path):
            self.deleting()
        super().remove(path)


@pytest.fixture
def world(tmp_path):
    world = World()
    world.launcher = StubbornLauncher(lambda: MemoryRunnerLink(world.registry, world.wake), world.wake)
    world.launcher.dying, world.files = Stuck(), SlowFiles()
    world.files.deleting = Stuck()
    outputs = KeptOutputs(map_store(tmp_path), DATA)
    means = Means(
        registry=world.registry,
        launcher=world.launcher,
        workers=ScriptedWorkers(),
        clock=world.clock,
        wake=world.wake,
        data=DATA,
        outputs=outputs,
        files=world.files,
    )
    world.controller = Controller(means, lambda: None)
    yield world
    world.launcher.dying.over.set()
    world.files.deleting.over.set()
    assert world.controller._lanes.settle(60)


def told_to_stop(world, job_id):
    return any(isinstance(command.order, StopRun) for command in world.registry.commands(job_id, 1))


def test_fifty_jobs_go_on_while_one_process_does_not_die_and_one_checkpoint_is_not_deleted(world):
    for number in range(JOBS):
        job = world.job(f"job-{number}", JobState.RUNNING)
        world.start(job).claim()
    updated = world.registry.get_job(SLOW_DELETE)
    old = dataclasses.replace(updated.version, lineage="old")
    new = dataclasses.replace(updated.version, number=2, options={"initial_snapshot": "s"})
    world.change(updated, state=JobState.STARTING, version=new, update=Update(1, 0.0, Starting(old, 1.0)))
    world.registry.add_observation(Observation(SLOW_DELETE, 1, Running(0, 2.0)))
    world.registry.add_operation(SLOW_KILL, Cancel())
    world.controller.round()
    assert world.launcher.dying.begun.wait(10)
    assert world.files.deleting.begun.wait(10)

    others = [f"job-{number}" for number in range(2, JOBS)]
    asked = [world.registry.add_operation(job_id, Suspend()) for job_id in others]
    world.controller.round()
    assert all(told_to_stop(world, job_id) for job_id in others)
    for job_id in others:
        world.registry.add_observation(Observation(job_id, 1, Stopped(3.0)))
    world.controller.round()
    assert {world.registry.get_operation(operation.id).state for operation in asked} == {OperationState.DONE}

    # The job whose old checkpoint is still being deleted is no worse off: it is suspended, too.
    operation = world.registry.add_operation(SLOW_DELETE, Suspend())
    world.controller.round()
    world.registry.add_observation(Observation(SLOW_DELETE, 1, Stopped(3.0)))
    world.controller.round()
    assert world.registry.get_operation(operation.id).state is OperationState.DONE
