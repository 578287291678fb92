"""Jobs follow the members of a cluster: rescaled, suspended, failed or kept waiting by their options."""

import dataclasses

import pytest

from pitstop.control.actions import DropCheckpoint, DropSnapshot, Finish, KillRun, PrepareUpdate, SendCommand, StartRun, Withdraw
from pitstop.control.life import Due, decide, due_at
from pitstop.control.scaling import AGAIN_SECONDS, LOST_SECONDS, QUORUM_SECONDS, WAITED_SECONDS, ClusterSeen, Scaler, as_update
from pitstop.errors import Problem, StoreError
from pitstop.model.cluster import Member, MemberState, Placement
from pitstop.model.config import JobConfig, ProcessingGuarantee, StateStore
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import Configure, Operation, Rescale, Resume, Suspend
from pitstop.model.report import Report, Way
from pitstop.model.run import Compiled, Died, Failed, Observation, Running, Stopped, StopRun, UpdatePrepared, Withdrawn
from pitstop.model.snapshot import SnapshotRecord
from tests.doubles.clock import ManualClock

EXACTLY_ONCE = JobConfig(processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE)
PROTECTED = dataclasses.replace(EXACTLY_ONCE, split_brain_protection=True)
DELAY = 10.0
OPTIONS = {"initial_snapshot": "first", "renamed": {"new": "old"}, "timeout": "1 hour"}
RECORD = SnapshotRecord("rescaling-id", "id", "job", 1.0, 10, "/s")


class There:
    """Who is there, by hand."""

    def __init__(self, *names):
        self.members = [member(name) for name in names]

    def list(self):
        return self.members


def member(name, cores=1, state=MemberState.ACTIVE):
    return Member(name, name, "127.0.0.1", "1.0", cores, state)


def running(config=EXACTLY_ONCE, members=("a", "b"), **fields):
    version = Version(1, JobSource("old.py"), OPTIONS, config, {"stages": []}, "L1")
    job = Job("id", "job", 1.0, version, JobState.RUNNING, token=3, placement=Placement(tuple(members), len(members)))
    return dataclasses.replace(job, **fields)


def lost(job, following, clock):
    """What concerns a job after members have been away for long enough."""
    assert following.concerns(job) is None
    clock.advance(LOST_SECONDS)
    return following.concerns(job)


def scaler(there):
    clock = ManualClock()
    found = Scaler(there, clock, DELAY)
    found.look()
    clock.advance(DELAY)
    return found, clock


def test_a_join_rescales_a_job_after_the_delay_and_once():
    there = There("a", "b")
    following, clock = scaler(there)
    following.look()
    assert following.rescale(running()) is None
    there.members = [*there.members, member("c")]
    following.look()
    clock.advance(DELAY - 1)
    following.look()
    assert following.rescale(running()) is None
    clock.advance(1)
    assert following.rescale(running()) == Rescale("rescaling-id")
    assert following.rescale(running(members=("a", "b", "c"))) is None


def test_of_two_joins_the_later_one_counts_so_that_there_is_one_restart():
    there = There("a", "b")
    following, clock = scaler(there)
    for name in "cd":
        there.members = [*there.members, member(name)]
        following.look()
        clock.advance(DELAY - 1)
        assert following.rescale(running()) is None
    clock.advance(1)
    assert following.rescale(running()) is not None


def test_who_joins_and_leaves_again_changes_nothing():
    there = There("a", "b")
    following, clock = scaler(there)
    before, there.members = there.members, [*there.members, member("c")]
    following.look()
    there.members = before
    following.look()
    clock.advance(10 * DELAY)
    assert following.rescale(running()) is None


def test_a_member_that_is_to_leave_is_scaled_away_from():
    there = There("a", "b")
    following, clock = scaler(there)
    there.members = [member("a"), member("b", state=MemberState.LEAVING)]
    following.look()
    clock.advance(DELAY)
    assert following.rescale(running()) is not None


def test_what_did_not_go_well_is_tried_again_later_and_later_and_at_once_when_others_come():
    there = There("a", "b", "c")
    following, clock = scaler(there)
    for seconds in AGAIN_SECONDS[:3]:
        assert following.rescale(running()) is not None
        clock.advance(seconds - 0.5)
        assert following.rescale(running()) is None
        clock.advance(0.5)
    there.members = [*there.members, member("d")]
    following.look()
    clock.advance(DELAY)
    assert following.rescale(running()) is not None


@pytest.mark.parametrize(
    "job",
    [
        running(dataclasses.replace(EXACTLY_ONCE, auto_scaling=False)),
        running(placement=None),
        running(state=JobState.STARTING),
        running(preparation=4),
        running(PROTECTED, quorum=4),
    ],
    ids=["off", "without members", "starting", "busy", "without its quorum"],
)
def test_not_every_job_is_rescaled(job):
    following, _ = scaler(There("a", "b", "c"))
    assert following.rescale(job) is None


def test_rescaling_prepares_the_same_version_and_takes_its_state_over():
    job = running()
    asked = decide(job, Operation(7, "id", Rescale("rescaling-id")), 100.0)
    assert (asked.job.preparation, asked.actions) == (7, (PrepareUpdate(7),))
    update = as_update(job, Rescale("rescaling-id"))
    assert update.options == {"renamed": {}, "timeout": "1 hour"}, "its state has the new names already"
    ready = UpdatePrepared(7, update, Report((), Way.REBUILD), 1, "standby", rescales=True)
    stopping = decide(asked.job, Observation("id", 3, ready), 101.0)
    assert stopping.actions == (SendCommand(StopRun(7, "rescaling-id")),)
    stopped = decide(stopping.job, Observation("id", 3, Stopped(101.5, RECORD)), 102.0)
    started = decide(stopped.job, Due(3), 102.0)
    assert started.job.version.number == 1
    assert started.actions == (StartRun("standby", own_checkpoint=True),)
    config = dataclasses.replace(EXACTLY_ONCE, initial_snapshot="rescaling-id")
    compiled = decide(started.job, Observation("id", 4, Compiled({"stages": []}, "L2", config)), 103.0)
    up = decide(compiled.job, Observation("id", 4, Running(0, 102.5, Placement(("a", "b", "c"), 3))), 104.0)
    assert up.actions == (Finish(7), DropCheckpoint("L1"), DropSnapshot("rescaling-id"))
    assert (up.job.update, up.job.placement) == (None, Placement(("a", "b", "c"), 3))
    assert (up.job.version.options, up.job.version.config.initial_snapshot, up.job.version.lineage) == (OPTIONS, None, "L2")


def test_state_that_goes_over_to_disk_is_a_matter_of_that_start_alone_and_no_option_of_the_job():
    auto = dataclasses.replace(EXACTLY_ONCE, state_store=StateStore.AUTO)
    job = running(auto)
    rescale = Rescale("rescaling-id", StateStore.ROCKSDB)
    asked = decide(job, Operation(7, "id", rescale), 100.0).job
    update = as_update(job, rescale)
    assert JobConfig.from_options(update.options).state_store is StateStore.ROCKSDB
    stopping = decide(asked, Observation("id", 3, UpdatePrepared(7, update, Report((), Way.RESUME), 1, rescales=True)), 101.0)
    stopped = decide(stopping.job, Observation("id", 3, Stopped(101.5, RECORD)), 102.0).job
    started = decide(stopped, Due(3), 102.0).job
    config = dataclasses.replace(auto, initial_snapshot="rescaling-id", state_store=StateStore.ROCKSDB)
    compiled = decide(started, Observation("id", 4, Compiled({"stages": []}, "L2", config)), 103.0).job
    up = decide(compiled, Observation("id", 4, Running(0, 102.5)), 104.0).job
    assert (up.version.config.state_store, up.version.options, up.version.lineage) == (StateStore.AUTO, OPTIONS, "L2")


def test_a_job_that_does_not_start_on_the_new_members_goes_on_on_the_old_ones():
    job = running()
    asked = decide(job, Operation(7, "id", Rescale("rescaling-id")), 100.0).job
    update = as_update(job, Rescale("rescaling-id"))
    stopping = decide(asked, Observation("id", 3, UpdatePrepared(7, update, Report((), Way.REBUILD), 1, rescales=True)), 101.0)
    stopped = decide(stopping.job, Observation("id", 3, Stopped(101.5, RECORD)), 102.0).job
    started = decide(stopped, Due(3), 102.0).job
    failed = decide(started, Observation("id", 4, Failed(Problem("ENGINE", "boom"))), 103.0)
    assert Withdraw(7) in failed.actions
    again = decide(failed.job, Observation("id", failed.job.token, Withdrawn(7, 0, 0)), 104.0).job
    assert (again.state, again.version.lineage, again.version.options) == (JobState.NOT_RUNNING, "L1", OPTIONS)
    assert again.update_failure == ("Rescaling job 'job' failed, so version 1 goes on where it had stopped: boom")


@pytest.mark.parametrize(
    ("guarantee", "state"),
    [("none", JobState.FAILED), ("at_least_once", JobState.SUSPENDED), ("exactly_once", JobState.SUSPENDED)],
)
def test_a_job_that_does_not_follow_ends_with_its_members(guarantee, state):
    job = running(JobConfig(processing_guarantee=ProcessingGuarantee(guarantee), auto_scaling=False))
    seen = lost(job, *scaler(There("a", "c")))
    assert seen == ClusterSeen(frozenset("ac"))
    ended = decide(job, seen, 100.0)
    assert (ended.job.state, ended.job.token) == (state, 4), "the run is fenced, should the kill not reach it"
    assert KillRun(3) in ended.actions
    assert (ended.job.suspension_cause or ended.job.failure) == (
        "A member that the job ran on has left the cluster, and auto_scaling is off."
    )


LEAVING = "A member that the job ran on leaves the cluster, and auto_scaling is off."
STAYS = dataclasses.replace(EXACTLY_ONCE, auto_scaling=False)


def test_a_job_that_does_not_follow_stops_at_an_epoch_boundary_when_a_member_is_to_leave():
    job = running(STAYS)
    there = There("a", "b")
    following, _ = scaler(there)
    assert following.suspend(job) is None
    there.members = [member("a"), member("b", state=MemberState.LEAVING)]
    following.look()
    request = following.suspend(job)
    assert request == Suspend(because=LEAVING)
    stopping = decide(job, Operation(7, "id", request), 100.0)
    assert stopping.actions == (SendCommand(StopRun(7)),)
    assert following.suspend(stopping.job) is None
    gone = decide(stopping.job, ClusterSeen(frozenset("a")), 106.0)
    assert (gone.job, gone.actions) == (stopping.job, ()), "it comes to its end though the member has left"
    stopped = decide(stopping.job, Observation("id", 3, Stopped(106.5)), 107.0)
    assert (stopped.job.state, stopped.job.suspension_cause, stopped.job.token) == (JobState.SUSPENDED, LEAVING, 3)
    assert Finish(7) in stopped.actions
    lost_meanwhile = decide(stopping.job, Observation("id", 3, Died()), 107.0)
    assert (lost_meanwhile.job.state, lost_meanwhile.job.suspension_cause) == (JobState.SUSPENDED, LEAVING)


@pytest.mark.parametrize(
    ("job", "leaving"),
    [
        (running(), "b"),
        (running(STAYS), "c"),
        (running(STAYS, placement=None), "b"),
        (running(STAYS, state=JobState.STARTING), "b"),
        (running(dataclasses.replace(STAYS, processing_guarantee=ProcessingGuarantee.NONE)), "b"),
    ],
    ids=["follows", "of another job", "without members", "starting", "keeps no state"],
)
def test_not_every_job_stops_for_a_member_that_is_to_leave(job, leaving):
    names = [member(name, state=MemberState.LEAVING if name == leaving else MemberState.ACTIVE) for name in "abc"]
    there = There()
    there.members = names
    assert scaler(there)[0].suspend(job) is None


def test_a_member_that_was_only_not_seen_for_a_while_is_not_lost():
    """As when the store was away, so that no member could tell that it lives."""
    job = running(dataclasses.replace(PROTECTED, auto_scaling=False), quorum=2)
    there = There("a", "b")
    following, clock = scaler(there)
    clock.advance(600)
    before, there.members = there.members, []
    for _ in range(int(LOST_SECONDS)):
        following.look()
        assert following.concerns(job) is None
        clock.advance(1)
    there.members = before
    following.look()
    clock.advance(600)
    assert following.concerns(job) is None
    assert following.rescale(running()) is None


def test_members_that_could_not_tell_that_they_live_are_not_lost():
    """A store that is locked can be read, and is written by nobody."""
    clock, there, locked = ManualClock(), There("a", "b"), []

    def check_writable():
        if locked:
            clock.advance(30)
            raise StoreError("The store is locked.")

    following = Scaler(there, clock, DELAY, check_writable)
    job = running(dataclasses.replace(PROTECTED, auto_scaling=False), quorum=2)
    following.look()
    before, there.members = there.members, []
    locked.append(True)
    following.look()
    assert following.concerns(job) is None, "not at once"
    for _ in range(3):
        clock.advance(LOST_SECONDS)
        following.look()
        with pytest.raises(StoreError):
            following.concerns(job)
    locked.clear()
    following.look()
    assert following.concerns(job) is None, "they have a while to tell that they live"
    there.members = before
    following.look()
    clock.advance(LOST_SECONDS)
    assert following.concerns(job) is None


def test_members_are_not_lost_while_whoever_writes_has_to_wait():
    clock, there = ManualClock(), There("a")
    following = Scaler(there, clock, DELAY, lambda: clock.advance(WAITED_SECONDS))
    job = running(dataclasses.replace(EXACTLY_ONCE, auto_scaling=False))
    following.look()
    for _ in range(3):
        assert following.concerns(job) is None
        clock.advance(LOST_SECONDS)


def test_a_job_that_does_not_follow_stays_on_its_members_when_others_join():
    job = running(dataclasses.replace(EXACTLY_ONCE, auto_scaling=False))
    assert scaler(There("a", "b", "c"))[0].concerns(job) is None


def test_a_job_that_follows_goes_on_without_a_member():
    assert scaler(There("a"))[0].concerns(running()) is None


def test_a_protected_job_needs_more_than_half_of_the_members_that_it_was_started_on():
    starting = running(PROTECTED, state=JobState.STARTING, placement=None)
    up = decide(starting, Observation("id", 3, Running(0, 1.0, Placement(("a", "b", "c", "d"), 4))), 100.0).job
    assert up.quorum == 3


def test_a_quorum_grows_with_the_members_and_never_shrinks():
    job = running(PROTECTED, quorum=2)
    following, _ = scaler(There(*"abcde"))
    assert decide(job, following.concerns(job), 100.0).job == dataclasses.replace(job, quorum=3)
    following, _ = scaler(There(*"abc"))
    assert following.concerns(running(PROTECTED, quorum=3)) is None


def test_a_protected_job_without_its_quorum_waits_until_that_is_there():
    job = running(PROTECTED, quorum=2)
    waits = decide(job, lost(job, *scaler(There("a"))), 100.0)
    assert (waits.job.state, KillRun(3) in waits.actions) == (JobState.NOT_RUNNING, True)
    assert waits.job.interruption == ("It waits for its quorum: 2 members are needed, 1 is there (option split_brain_protection)")
    still = decide(waits.job, Due(1), 101.0)
    assert (still.job.state, due_at(still.job), still.actions) == (JobState.NOT_RUNNING, 101.0 + QUORUM_SECONDS, ())
    assert decide(still.job, Due(2), 104.0).job.state is JobState.STARTING


def test_a_protected_job_that_has_not_run_yet_needs_more_than_half_of_the_members_at_its_submission():
    submitted = running(PROTECTED, state=JobState.NOT_RUNNING, placement=None, quorum=3)
    assert decide(submitted, Due(2), 101.0).job.state is JobState.NOT_RUNNING
    assert decide(submitted, Due(3), 101.0).job.state is JobState.STARTING
    starting = dataclasses.replace(submitted, state=JobState.STARTING)
    assert decide(starting, Observation("id", 3, Running(0, 1.0, Placement(("a",), 1))), 102.0).job.quorum == 3


@pytest.mark.parametrize("auto_scaling", [True, False])
def test_a_job_that_is_protected_no_more_needs_no_quorum(auto_scaling):
    config = dataclasses.replace(EXACTLY_ONCE, auto_scaling=auto_scaling)
    waits = running(config, state=JobState.NOT_RUNNING, quorum=3)
    started = decide(waits, Due(1), 101.0).job
    assert started.state is JobState.STARTING
    up = decide(started, Observation("id", started.token, Running(0, 101.0, Placement(("a",), 1))), 102.0).job
    assert up.quorum == 1, "protected again it counts the members that it runs on now"
    before_its_next_start = dataclasses.replace(up, quorum=3)
    following, clock = scaler(There("a"))
    assert lost(before_its_next_start, following, clock) is None
    seen = decide(before_its_next_start, ClusterSeen(frozenset("a")), 103.0)
    assert (seen.job, seen.actions) == (before_its_next_start, ())


def test_a_job_that_is_protected_no_more_follows_the_members_that_are_left():
    following, _ = scaler(There("a", "b"))
    assert following.rescale(running(members=("a", "b", "c", "d"), quorum=3)) is not None


def test_protection_is_taken_back_while_a_job_is_suspended():
    job = running(PROTECTED, state=JobState.SUSPENDED, suspension_cause="Requested by user", quorum=3)
    still = decide(job, Operation(7, "id", Configure({"timeout": "1 hour"})), 100.0).job
    assert still.quorum == 3
    off = decide(job, Operation(7, "id", Configure({"split_brain_protection": "false"})), 100.0).job
    on = decide(off, Operation(8, "id", Configure({"split_brain_protection": "true"})), 101.0).job
    assert (off.quorum, on.quorum) == (0, 0)
    resumed = decide(on, Operation(9, "id", Resume()), 102.0).job
    assert decide(resumed, Due(1), 103.0).job.state is JobState.STARTING


def test_where_there_are_no_members_of_ours_nothing_is_waited_for():
    job = running(PROTECTED, state=JobState.NOT_RUNNING, quorum=2)
    assert decide(job, Due(None), 101.0).job.state is JobState.STARTING
