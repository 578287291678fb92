"""What befalls a job is counted: restarts by cause, updates and their gap."""

import dataclasses

import pytest

from pitstop.control.job_events import events_of
from pitstop.control.life import decide
from pitstop.control.scaling import ClusterSeen
from pitstop.control.tallies import counted
from pitstop.errors import Problem
from pitstop.model.job import Mode, Starting, Termination, Update
from pitstop.model.operation import Cancel, Resume, Rollback
from pitstop.model.run import Died, Failed, Running, Stopped
from pitstop.model.tally import RestartCause, Tally
from tests.unit.control.test_job_events import NEXT, SUSPENDS, new_version, on_members, stopping, updating
from tests.unit.control.test_life import NOW, RECORD, S, ask, job, seen

BROKEN = Problem("ENGINE", "It broke.")
CAUSES = {
    "a user asks for it": (stopping(Mode.RESTART), seen(Stopped()), RestartCause.REQUESTED),
    "its run is lost meanwhile": (stopping(Mode.RESTART), seen(Died()), RestartCause.LOST),
    "another version takes over": (updating(), seen(Stopped(snapshot=RECORD)), RestartCause.UPDATE),
    "its snapshot fails": (updating(), seen(Stopped(error=BROKEN)), RestartCause.UPDATE),
    "it is planned for other members": (updating(rescales=True), seen(Stopped(snapshot=RECORD)), RestartCause.RESCALE),
    "too few members are left": (
        dataclasses.replace(on_members(split_brain_protection=True), quorum=2),
        ClusterSeen(frozenset({"m1"})),
        RestartCause.RESCALE,
    ),
    "a move of its state has failed": (
        job(S.RUNNING, termination=Termination(Mode.RESTART, 7, "It held still.")),
        seen(Stopped()),
        RestartCause.RESCALE,
    ),
    "the server ends": (job(S.RUNNING), seen(Stopped()), RestartCause.SERVER),
    "its process dies": (job(S.RUNNING), seen(Died()), RestartCause.LOST),
    "it dies before it is up": (job(S.STARTING), seen(Died()), RestartCause.LOST),
    "the disk is full": (job(S.RUNNING), seen(Failed(BROKEN, away=True)), RestartCause.AWAY),
    "a database is away": (job(S.RUNNING), seen(Failed(BROKEN, passing=True)), RestartCause.AWAY),
    "an error that another run may not have": (job(S.RUNNING), seen(Failed(BROKEN, restartable=True)), RestartCause.FAILURE),
    "a new version fails": (new_version(), seen(Failed(BROKEN)), RestartCause.FAILURE),
    "a user takes a new version back": (new_version(), ask(Rollback), RestartCause.ROLLBACK),
}  # fmt: skip


def after(before, event):
    """The job's counts once the event is decided."""
    decision = decide(before, event, NOW)
    return counted(before, event, decision.job, events_of(before, event, decision, NOW)).tally


@pytest.mark.parametrize("case", CAUSES)
def test_a_restart_is_counted_by_its_cause(case):
    before, event, cause = CAUSES[case]
    assert after(before, event).restarts == {cause: 1}


def test_counts_add_up():
    again = job(S.RUNNING, tally=Tally({RestartCause.LOST: 4, RestartCause.UPDATE: 1}))
    assert after(again, seen(Died())).restarts == {RestartCause.LOST: 5, RestartCause.UPDATE: 1}


@pytest.mark.parametrize(
    ("before", "event"),
    [
        (job(S.RUNNING), ask(Cancel)),
        (job(S.SUSPENDED), ask(Resume)),
        (job(S.RUNNING), seen(Failed(BROKEN))),
        (stopping(Mode.SUSPEND), seen(Stopped())),
        (job(S.STARTING), seen(Running(-1))),
    ],
)
def test_what_no_run_follows_is_no_restart(before, event):
    assert after(before, event) == Tally()


def test_an_update_is_counted_with_its_gap():
    starting = job(S.STARTING, version=NEXT, update=Update(7, 0.0, Starting(SUSPENDS, NOW - 5.0)))
    tally = after(starting, seen(Running(3, NOW - 1.5)))
    assert (tally.updates, tally.failed_updates, tally.gap_seconds) == (1, 0, 3.5)


def test_an_update_that_is_taken_back_is_counted_and_leaves_the_gap_of_the_last_good_one():
    starting = new_version()
    known = Tally({}, 2, 0, 3.5)
    tally = after(job(S.STARTING, version=NEXT, update=starting.update, tally=known), seen(Failed(BROKEN)))
    assert (tally.updates, tally.failed_updates, tally.gap_seconds) == (2, 1, 3.5)
    assert tally.restarts == {RestartCause.FAILURE: 1}
