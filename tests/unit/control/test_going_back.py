"""What the new version has written is withdrawn before the old one goes on."""

from pitstop.control.actions import KillRun, Withdraw
from pitstop.control.life import Due, decide, due_at, is_due
from pitstop.control.owed import owed
from pitstop.model.job import JobState as S
from pitstop.model.operation import Cancel, Operation, Resume
from pitstop.model.run import Running
from tests.unit.control.test_updating import BOOM, ask_back, changed_over, compiled, seen, withdrawn


def gone_back():
    """A watched version was rolled back on request."""
    up = decide(compiled(changed_over(watch=60.0)[1]), seen(compiled(changed_over(watch=60.0)[1]), Running(0)), 103.0).job
    return up, ask_back(up)


def test_the_old_version_starts_when_what_the_new_one_wrote_is_withdrawn():
    up, back = gone_back()
    assert (up.withdrawable, back.job.withdrawal, back.job.withdrawable) == (7, 7, 7)
    assert back.job.interruption == "What version 2 has written is withdrawn before version 1 goes on"
    kinds = [type(action) for action in back.actions]
    assert kinds.index(KillRun) < kinds.index(Withdraw)
    assert due_at(back.job) is None
    assert decide(back.job, Due(), 200.0).job == back.job
    ready = withdrawn(back.job)
    assert (ready.withdrawal, ready.withdrawable) == (None, None)
    assert is_due(ready, 200.0)
    told = "version 1 goes on where it had stopped. Withdrawn of what it had written: 2 files and 3 entries of maps."
    assert ready.update_failure.endswith(told)


def test_the_run_that_is_gone_back_from_is_fenced_before_anything_is_withdrawn():
    up, back = gone_back()
    assert back.job.token == up.token + 1
    assert KillRun(up.token) in back.actions
    assert owed(back.job, []) == (KillRun(up.token), KillRun(up.token + 1), Withdraw(7)), (
        "after a crash of the control plane, too"
    )


def test_a_new_version_that_fails_while_it_starts_may_have_written_too():
    job = compiled(changed_over()[1])
    failed = decide(job, seen(job, BOOM), 103.0)
    assert Withdraw(7) in failed.actions
    assert failed.job.withdrawal == 7


def test_what_is_asked_meanwhile_waits_for_the_withdrawal():
    _, back = gone_back()
    cancelled = decide(back.job, Operation(11, "id", Cancel()), 104.5).job
    assert (cancelled.state, cancelled.withdrawal) == (S.FAILED, 7)
    assert Withdraw(7) in owed(cancelled, [])
    brought_back = decide(cancelled, Operation(12, "id", Resume()), 104.6).job
    assert (brought_back.state, due_at(brought_back)) == (S.NOT_RUNNING, None)
    assert is_due(withdrawn(brought_back), 105.0)


def test_another_update_s_withdrawal_is_none_of_this_one_s():
    _, back = gone_back()
    assert withdrawn(back.job, operation=6) == back.job


def test_an_update_that_has_proved_itself_is_not_withdrawn():
    up, _ = gone_back()
    proved = decide(up, Due(), 1000.0).job
    assert (proved.withdrawable, proved.withdrawal) == (None, None)
