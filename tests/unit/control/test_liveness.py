"""Which runs are taken for gone, and after how long, by a clock that is moved by hand."""

import pytest

from pitstop.control.liveness import CLAIM_SECONDS, HANG_SECONDS, SLOW_SECONDS, Gone, Liveness
from pitstop.control.ports.wake import CONTROL
from pitstop.errors import StoreError
from pitstop.model.job import JobState
from tests.doubles.launcher import LEASE_SECONDS
from tests.unit.control.world import World

ENDED = Gone("id-1", 1, "The runner's process ended")
HANGS = Gone("id-1", 1, "The runner stopped renewing its lease")


@pytest.fixture
def world():
    return World()


class Looking:
    """Looks at the runs of all active jobs but those that are ``busy``."""

    def __init__(self, world):
        self._world, self.busy = world, set()
        self._liveness = Liveness(world.registry, world.launcher, world.clock)

    def gone(self):
        return self._liveness.gone(self._world.registry.jobs(include_ended=False), self.busy.__contains__)


@pytest.fixture
def liveness(world):
    return Looking(world)


def test_a_run_that_claims_and_renews_is_not_gone(world, liveness):
    run = world.start(world.job())
    assert liveness.gone() == []
    run.claim()
    for _ in range(100):
        world.clock.advance(LEASE_SECONDS - 1)
        run.renew()
        assert liveness.gone() == []


def test_a_run_has_so_long_to_claim_its_job_and_no_longer(world, liveness):
    world.start(world.job())
    assert liveness.gone() == []
    world.clock.advance(CLAIM_SECONDS)
    assert liveness.gone() == []
    world.clock.advance(1)
    assert liveness.gone() == [Gone("id-1", 1, "The runner did not start within 90 seconds")]


def test_the_time_to_claim_begins_anew_with_each_run(world, liveness):
    job = world.job()
    world.start(job)
    liveness.gone()
    world.clock.advance(CLAIM_SECONDS - 1)
    job = world.change(job, token=2)
    world.start(job)
    assert liveness.gone() == []
    world.clock.advance(2)
    assert liveness.gone() == []


def test_a_run_that_ends_before_it_has_claimed_is_gone_at_once(world, liveness):
    run = world.start(world.job())
    world.launcher.die(run)
    assert liveness.gone() == [Gone("id-1", 1, "The runner ended before it took its job")]


def test_a_run_that_a_control_plane_before_this_one_started_has_the_time_to_claim(world, liveness):
    run = world.start(world.job())
    world.launcher.forget()
    world.launcher.die(run)
    assert liveness.gone() == []
    world.clock.advance(CLAIM_SECONDS + 1)
    assert len(liveness.gone()) == 1


def test_a_run_whose_process_ended_is_gone_and_the_loop_is_woken_for_it(world, liveness):
    run = world.start(world.job())
    run.claim()
    assert liveness.gone() == []
    before = world.wake.wakes[CONTROL]
    world.launcher.die(run)
    assert world.wake.wakes[CONTROL] == before + 1
    assert liveness.gone() == [ENDED]


def test_a_living_run_whose_lease_stays_expired_too_long_hangs(world, liveness):
    run = world.start(world.job())
    run.claim()
    world.clock.advance(LEASE_SECONDS)
    assert liveness.gone() == [], "seen to be expired for the first time"
    world.clock.advance(HANG_SECONDS)
    assert liveness.gone() == []
    world.clock.advance(1)
    assert liveness.gone() == [HANGS]


def test_a_run_that_renews_late_hangs_no_more(world, liveness):
    run = world.start(world.job())
    run.claim()
    world.clock.advance(LEASE_SECONDS)
    liveness.gone()
    world.clock.advance(HANG_SECONDS)
    run.renew()
    assert liveness.gone() == []
    world.clock.advance(LEASE_SECONDS + 1)
    assert liveness.gone() == [], "the time to hang begins anew"


def test_a_run_that_cannot_renew_because_the_store_takes_no_writes_does_not_hang(world, liveness, monkeypatch):
    def locked():
        raise StoreError("The store is busy.")

    run = world.start(world.job())
    run.claim()
    with monkeypatch.context() as while_locked:
        while_locked.setattr(world.registry, "check_writable", locked)
        for _ in range(20):
            world.clock.advance(HANG_SECONDS)
            assert liveness.gone() == []
    world.clock.advance(HANG_SECONDS)
    assert liveness.gone() == [], "it has the whole time again when the store is back"
    world.clock.advance(1)
    assert liveness.gone() == [HANGS]


def test_a_run_that_cannot_claim_its_job_because_the_store_takes_no_writes_has_the_whole_time_again(world, liveness, monkeypatch):
    asked = []

    def locked():
        asked.append(world.clock.monotonic())
        raise StoreError("The store is busy.")

    world.start(world.job())
    world.start(world.job("id-2"))
    with monkeypatch.context() as while_locked:
        while_locked.setattr(world.registry, "check_writable", locked)
        for _ in range(20):
            world.clock.advance(CLAIM_SECONDS)
            assert liveness.gone() == []
    assert len(asked) == 20, "once a look, as each may wait for long"
    world.clock.advance(CLAIM_SECONDS)
    assert liveness.gone() == []
    world.clock.advance(1)
    assert [run.reason for run in liveness.gone()] == ["The runner did not start within 90 seconds"] * 2


def test_a_store_that_takes_long_for_a_write_is_no_sign_of_a_run_that_hangs(world, liveness, monkeypatch):
    run = world.start(world.job())
    run.claim()
    world.clock.advance(LEASE_SECONDS)
    monkeypatch.setattr(world.registry, "check_writable", lambda: world.clock.advance(SLOW_SECONDS))
    for _ in range(20):
        world.clock.advance(HANG_SECONDS)
        assert liveness.gone() == []


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
def test_a_machine_that_slept_or_a_clock_that_was_set_ends_no_run(world, liveness, seconds):
    run = world.start(world.job())
    run.claim()
    assert liveness.gone() == []
    world.clock.set_by(seconds)
    assert liveness.gone() == []
    world.clock.advance(HANG_SECONDS - 1)
    run.renew()
    assert liveness.gone() == []


def test_jobs_that_have_no_run_are_not_looked_at(world, liveness):
    for number, state in enumerate((JobState.NOT_RUNNING, JobState.SUSPENDED, JobState.FAILED)):
        world.job(f"id-{number}", state)
    world.clock.advance(CLAIM_SECONDS * 2)
    assert liveness.gone() == []


def test_a_run_that_is_still_to_be_started_has_its_time_from_then_on(world, liveness):
    """The run before it may take long to die."""
    world.job()
    liveness.busy = {"id-1"}
    world.clock.advance(CLAIM_SECONDS * 2)
    assert liveness.gone() == []
    liveness.busy = set()
    assert liveness.gone() == []
    world.clock.advance(CLAIM_SECONDS + 1)
    assert [run.job_id for run in liveness.gone()] == ["id-1"]


def test_a_run_of_another_machine_is_judged_by_its_lease_alone(world, liveness, monkeypatch):
    run = world.start(world.job())
    run.claim()
    monkeypatch.setattr(world.launcher, "alive", lambda handle: None)
    for _ in range(10):
        world.clock.advance(LEASE_SECONDS - 1)
        run.renew()
        assert liveness.gone() == []
    assert not run.watched, "nobody can tell of its end"
    world.clock.advance(LEASE_SECONDS)
    assert liveness.gone() == []
    world.clock.advance(HANG_SECONDS + 1)
    assert liveness.gone() == [HANGS]


def test_a_process_of_another_machine_is_gone_once_whoever_started_it_says_so(world, liveness, monkeypatch):
    run = world.start(world.job())
    run.claim()
    monkeypatch.setattr(world.launcher, "alive", lambda handle: None)
    assert liveness.gone() == []
    run.alive = False
    assert liveness.gone() == [ENDED]
