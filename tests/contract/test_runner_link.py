"""What every link of a run to the store promises."""

import dataclasses

import pytest

from pitstop.control.ports.launcher import RunHandle
from pitstop.control.ports.wake import CONTROL, PROGRESS
from pitstop.errors import FencedError, NotFoundError
from pitstop.model.job import Progress, Update, Watched
from pitstop.model.run import EpochCommitted, Observation, Running, StopRun, TakeSnapshot
from pitstop.model.snapshot import SnapshotRecord
from tests.contract.test_registry import job

HANDLE = RunHandle("first")


@pytest.fixture
def link(store):
    """Of run 2 of a job, which it has claimed."""
    store.registry.add_job(job(token=2))
    link = store.link()
    assert link.claim("id-1", 2, HANDLE, 10) == job(token=2)
    return link


def test_a_run_that_claims_its_job_has_a_handle_and_a_lease(store, link):
    assert store.registry.handle_of("id-1", 2) == HANDLE
    assert store.registry.lease_left("id-1", 2) == 10
    store.clock.advance(4)
    assert store.registry.lease_left("id-1", 2) == 6
    link.renew(10)
    assert store.registry.lease_left("id-1", 2) == 10
    assert (store.registry.handle_of("id-1", 1), store.registry.lease_left("id-1", 1)) == (None, None)


def test_a_run_is_told_its_commands_and_nobody_elses(store, link):
    store.registry.add_command("id-1", 1, StopRun())
    store.registry.add_command("id-2", 2, StopRun())
    mine = store.registry.add_command("id-1", 2, TakeSnapshot(7, "s"))
    later = store.registry.add_command("id-1", 2, StopRun())
    assert link.commands(0) == [mine, later]
    assert link.commands(mine.id) == [later]
    assert link.commands(later.id) == []


def test_a_run_that_lost_its_job_can_do_nothing_more(store, link):
    store.registry.save_job(job(token=3))
    for attempt in (
        link.check,
        lambda: link.renew(10),
        lambda: link.commands(0),
        lambda: link.report(Progress(epoch=1)),
        lambda: link.observe(Observation("id-1", 2, Running(1))),
        lambda: link.claim("id-1", 2, HANDLE, 10),
    ):
        with pytest.raises(FencedError, match="Run 2 of job id-1 has been replaced by run 3"):
            attempt()
    assert store.registry.take_observations() == []
    assert store.registry.progress("id-1") == Progress()


def test_a_run_of_a_forgotten_job_can_do_nothing_more(store, link):
    with pytest.raises(NotFoundError, match="No job with name or id 'nobody' was found"):
        store.link().claim("nobody", 1, HANDLE, 10)
    with pytest.raises(FencedError):
        store.link().check()


def test_one_run_belongs_to_one_process_which_may_claim_it_again(store, link):
    with pytest.raises(FencedError, match=r"belongs to another process already \(first\)"):
        store.link().claim("id-1", 2, RunHandle("second"), 10)
    store.link().claim("id-1", 2, HANDLE, 20)
    assert store.registry.lease_left("id-1", 2) == 20


def test_facts_stay_until_they_are_consumed_in_order(store, link):
    for fact in (Running(1, 5.0), EpochCommitted(1)):
        link.observe(Observation("id-1", 2, fact))
        store.clock.advance(1)
    first, second = store.registry.take_observations()
    assert (first.fact, second.fact) == (Running(1, 5.0), EpochCommitted(1))
    assert (first.job_id, first.token) == ("id-1", 2)
    assert second.at == first.at + 1
    store.registry.consume(first.id)
    assert [found.id for found in store.registry.take_observations()] == [second.id]


def test_the_control_plane_is_woken_by_a_claim_and_by_each_fact_and_who_follows_progress_by_a_report(store, link):
    link.observe(Observation("id-1", 2, Running(1)))
    link.report(Progress(epoch=1))
    link.renew(10)
    assert store.wake.wakes == {CONTROL: 2, PROGRESS: 1}


def test_progress_is_read_back_by_the_run_after_it(store, link):
    assert link.progress() == Progress()
    link.report(Progress(epoch=7, input_rows=100, stages={"sink": {"rows": 3}}))
    assert link.progress() == store.registry.progress("id-1") == Progress(epoch=7, input_rows=100, stages={"sink": {"rows": 3}})


def test_a_run_finds_the_snapshot_that_it_is_to_start_from(store, link):
    record = SnapshotRecord("s", "id-0", "before", 1.0, 10, "/x", 3)
    store.registry.add_snapshot(record)
    assert link.get_snapshot("s") == record
    assert link.get_snapshot("t") is None


def test_a_run_that_commits_is_told_whether_it_may_be_withdrawn(store, link):
    with link.held() as update:
        assert update is None
    before = job(token=2)
    watched = Update(7, 60.0, Watched(before.version, 0.0))
    store.registry.save_job(dataclasses.replace(before, update=watched))
    with link.held() as update:
        assert update == 7
    store.registry.save_job(dataclasses.replace(before, withdrawal=7, token=3))
    with pytest.raises(FencedError), link.held():
        pass
