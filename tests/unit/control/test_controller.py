"""What the loop does with what it cannot decide or carry out."""

import dataclasses
import errno

import pytest
from structlog.testing import capture_logs

from pitstop.control.controller import Controller
from pitstop.control.life import LIFE, Decision, Edge
from pitstop.control.means import Means
from pitstop.control.performing import RETRY_SECONDS
from pitstop.control.ports.launcher import RunSpec
from pitstop.control.seeing import AWAY_SECONDS, MOST_ATTEMPTS
from pitstop.errors import EngineError, FencedError, StoreError
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, OperationState, Resume, Suspend
from pitstop.model.run import EpochCommitted, Observation, StateOutgrown
from pitstop.outputs.kept import KeptOutputs
from tests.doubles.files import MemoryFiles
from tests.doubles.workers import ScriptedWorkers
from tests.maps import map_store
from tests.unit.control.world import World


class Off:
    """Work off the loop's thread, done when the test says so."""

    def __init__(self):
        self.waiting = []

    def do_all(self):
        while self.waiting:
            self.waiting.pop(0)()


@pytest.fixture
def world(tmp_path):
    world = World()
    world.off, world.files, world.check_lead = Off(), MemoryFiles(), lambda: None
    means = Means(
        registry=world.registry,
        launcher=world.launcher,
        workers=ScriptedWorkers(),
        clock=world.clock,
        wake=world.wake,
        data=DataFolder(tmp_path),
        outputs=KeptOutputs(map_store(tmp_path), DataFolder(tmp_path)),
        files=world.files,
        check_lead=lambda: world.check_lead(),
    )
    world.controller = Controller(means, lambda: None, world.off.waiting.append)
    return world


def test_whoever_asks_for_what_cannot_be_decided_is_told_at_once(world, monkeypatch):
    job = world.job("id", JobState.RUNNING)
    world.start(job).claim()
    wrong = Edge(
        lambda job, event, now: Decision(dataclasses.replace(job, state=JobState.STARTING)), frozenset({JobState.RUNNING})
    )
    monkeypatch.setitem(LIFE, (JobState.RUNNING, None, Suspend), wrong)
    asked = world.registry.add_operation("id", Suspend())
    world.controller.round()
    answered = world.registry.get_operation(asked.id)
    assert answered.state is OperationState.FAILED
    assert answered.error.message.startswith("A defect of Pitstop keeps suspend from being carried out; the job stays as it was:")
    assert world.registry.get_job("id") == job


def test_a_fact_that_cannot_be_decided_stays_and_the_log_tells_of_it_once(world, monkeypatch):
    job = world.job("id", JobState.RUNNING)
    run = world.start(job)
    run.claim()
    run.link.observe(Observation("id", job.token, EpochCommitted(1)))
    wrong = Edge(lambda job, event, now: Decision(dataclasses.replace(job, token=0)), frozenset({JobState.RUNNING}))
    monkeypatch.setitem(LIFE, (JobState.RUNNING, None, EpochCommitted), wrong)
    with capture_logs() as told:
        for _ in range(3):
            world.controller.round()
    assert len([line for line in told if "defect" in line["event"]]) == 1
    assert len(world.registry.take_observations()) == 1, "a release that can decide it finds it"


def test_state_that_cannot_be_moved_since_the_code_of_its_job_is_gone_is_told_and_counted(world):
    job = world.job("id", JobState.RUNNING)
    run = world.start(job)
    run.claim()
    run.link.observe(Observation("id", job.token, StateOutgrown(10)))
    for _ in range(2):
        world.controller.round()
        world.off.do_all()
    world.controller.round()
    (asked,) = world.registry.recent_operations(60.0, 10)
    assert asked.state is OperationState.FAILED
    stays = world.registry.get_job("id")
    assert (stays.state, stays.moves_failed, stays.preparation) == (JobState.RUNNING, 1, None)
    assert stays.update_failure.startswith("The state of job 'id' could not be moved to disk, so it goes on as it was: ")


def test_on_a_machine_without_threads_a_decided_action_is_begun_later(world, monkeypatch):
    job = world.job("id", JobState.RUNNING)
    run = world.start(job)
    run.claim()
    world.controller.round()
    spawn, tries = world.off.waiting.append, []

    def without_threads(work):
        tries.append(work)
        if len(tries) == 1:
            raise RuntimeError("can't start new thread")
        spawn(work)

    monkeypatch.setattr(world.controller._lanes, "_spawn", without_threads)
    world.registry.add_operation("id", Cancel())
    world.controller.round()
    world.off.do_all()
    assert world.registry.get_job("id").state is JobState.FAILED
    world.clock.advance(1.0)
    world.controller.round()
    world.off.do_all()
    assert not run.alive


@pytest.mark.parametrize(
    "refusal",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
        RuntimeError("can't start new thread"),
        MemoryError(),
    ],
    ids=["disk", "memory", "processes", "threads", "memory of Python"],
)
def test_a_run_that_the_machine_cannot_start_costs_time_and_never_the_job(world, refusal):
    world.launcher.refusal = refusal
    world.job("id", JobState.NOT_RUNNING)
    for _ in range(3 * MOST_ATTEMPTS):
        world.controller.round()
        world.off.do_all()
        world.controller.round()
        world.off.do_all()
        job = world.registry.get_job("id")
        assert (job.state, job.attempts, job.due) == (JobState.NOT_RUNNING, 0, world.clock.now() + AWAY_SECONDS)
        said, why = job.interruption.split(": ", 1)
        assert (said, bool(why)) == ("The runner could not be started", True)
        world.clock.advance(AWAY_SECONDS)
    world.launcher.refusal = None
    world.controller.round()
    world.off.do_all()
    assert [process.spec.token for process in world.launcher.started] == [world.registry.get_job("id").token]


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        (RuntimeError("dictionary changed size during iteration"), "RuntimeError: dictionary changed size during iteration"),
        (EngineError("There is no such runner."), "There is no such runner."),
        (AssertionError(), "AssertionError"),
    ],
    ids=["of Python", "of ours", "without words"],
)
def test_a_launch_that_fails_by_itself_is_an_attempt_and_the_last_one_ends_the_job_with_its_state(world, defect, said):
    world.launcher.refusal = defect
    world.job("id", JobState.NOT_RUNNING)
    before = world.registry.get_job("id").token
    for _ in range(4 * MOST_ATTEMPTS):
        world.controller.round()
        world.off.do_all()
        world.clock.advance(60.0)
    job = world.registry.get_job("id")
    assert job.token - before == MOST_ATTEMPTS + 1, "so often it was launched, and the last run is fenced"
    assert (job.state, job.state_dropped) == (JobState.FAILED, False)
    assert job.failure == f"The runner could not be started: {said.rstrip('.')}, {MOST_ATTEMPTS} times in a row without progress"
    assert type(defect).__name__ in job.failure_details
    world.launcher.refusal = None
    world.registry.add_operation("id", Resume())
    for _ in range(2):
        world.controller.round()
        world.off.do_all()
    assert [process.spec.token for process in world.launcher.started] == [world.registry.get_job("id").token]


@pytest.mark.parametrize(
    "error", [StoreError("The store is away."), FencedError("Another control plane leads.")], ids=["store", "lead"]
)
def test_a_launch_that_needs_the_store_or_the_lead_is_done_again_by_itself(world, error):
    world.launcher.refusal = error
    job = world.job("id", JobState.NOT_RUNNING)
    for _ in range(2):
        world.controller.round()
        world.off.do_all()
    started = world.registry.get_job("id")
    assert (started.state, started.attempts, world.launcher.started) == (JobState.STARTING, 0, [])
    world.launcher.refusal = None
    world.clock.advance(RETRY_SECONDS[0] + RETRY_SECONDS[1])
    world.controller.round()
    world.off.do_all()
    assert [process.spec for process in world.launcher.started] == [RunSpec("id", job.token + 1, None, "id")]


def test_what_a_failed_action_was_to_do_is_done_later(world, monkeypatch):
    job = world.job("id", JobState.SUSPENDED, suspension_cause="Requested by user")
    run = world.start(job)
    run.claim()
    kill, broken = world.launcher.kill, [OSError("no such file"), None]

    def kill_at_the_second_time(handle):
        error = broken.pop(0)
        if error is not None:
            raise error
        kill(handle)

    monkeypatch.setattr(world.launcher, "kill", kill_at_the_second_time)
    world.controller.round()
    world.off.do_all()
    assert run.alive
    world.controller.round()
    world.off.do_all()
    assert run.alive, "not before a second has passed"
    world.clock.advance(1.0)
    world.controller.round()
    world.off.do_all()
    assert not run.alive


def test_what_was_decided_is_done_once_the_lead_is_sure_again(world):
    """A control plane that was stopped for a while may still lead: what it has left undone then was never done."""
    sure = []

    def check_lead():
        if not sure:
            raise FencedError("could not renew its lease")

    world.check_lead = check_lead
    job = world.job("id", JobState.RUNNING)
    run = world.start(job)
    run.claim()
    world.registry.add_operation("id", Cancel())
    world.controller.round()
    world.off.do_all()
    assert world.launcher.alive(run.handle)
    sure.append(True)
    world.clock.advance(2)
    world.controller.round()
    world.off.do_all()
    assert not world.launcher.alive(run.handle)


def test_nothing_is_made_ready_for_the_next_run_while_one_begins_that_was_begun_in_this_round(world):
    world.job("id", JobState.NOT_RUNNING, due=world.clock.now())
    world.controller.round()
    world.off.do_all()
    assert world.registry.get_job("id").state is JobState.STARTING
    assert len(world.launcher.started) == 1
    assert world.launcher.prepared == 0
    world.change(world.registry.get_job("id"), state=JobState.RUNNING)
    world.controller.round()
    world.off.do_all()
    assert world.launcher.prepared == 1
