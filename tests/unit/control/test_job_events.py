"""What the events of a job say of its states, updates and snapshots."""

import dataclasses

import pytest

from pitstop.control.job_events import MOST_LETTERS, MOST_TRACE_LETTERS, change_of, events_of
from pitstop.control.life import Due, decide
from pitstop.control.scaling import ClusterSeen
from pitstop.control.seeing import MOST_ATTEMPTS
from pitstop.errors import Problem
from pitstop.model.cluster import Placement
from pitstop.model.config import JobConfig
from pitstop.model.job import Asked, DisplayStatus, JobSource, Mode, Starting, Termination, Update, Version
from pitstop.model.job_event import SnapshotTaken, StateChange, VersionChange
from pitstop.model.operation import Cancel, Export, Resume, Rollback, UpdateJob
from pitstop.model.report import Report
from pitstop.model.run import (
    CleanedUp,
    Completed,
    Died,
    Exported,
    ExportFailed,
    Failed,
    Running,
    Stopped,
    UpdatePrepared,
)
from tests.unit.control.test_life import NOW, RECORD, S, ask, job, seen

NEXT = Version(2, JobSource("b.py"), {"initial_snapshot": "s"}, JobConfig())
SUSPENDS = Version(1, JobSource("a.py"), {}, JobConfig(suspend_on_failure=True))
FULL = Problem("SNAPSHOT", "The disk is full.")
GONE = Died("The runner's process ended")


def stopping(mode, **more):
    return job(S.RUNNING, termination=Termination(mode, 7), **more)


def updating(rescales=False):
    return stopping(Mode.UPDATE, update=Update(7, 0.0, Asked(NEXT), rescales=rescales))


def new_version():
    """The new version starts; the old one can still be gone back to."""
    return job(S.STARTING, version=NEXT, update=Update(7, 0.0, Starting(SUSPENDS, NOW)))


def exporting(mode):
    return job(S.SUSPENDED_EXPORTING_SNAPSHOT, termination=Termination(mode, 7))


def prepared(**more):
    return seen(UpdatePrepared(7, UpdateJob(JobSource("b.py"), {}, "s"), Report((), None), 1, **more))


def on_members(**options):
    config = JobConfig.from_options({"auto_scaling": False} | options)
    return job(S.RUNNING, version=Version(1, JobSource("a.py"), {}, config), placement=Placement(("m1", "m2"), 2))


TOLD = {
    # What users ask for
    "cancel": (job(S.RUNNING), ask(Cancel), "User: RUNNING -> CANCELLED (Cancel)"),
    "resume": (job(S.SUSPENDED), ask(Resume), "User: SUSPENDED -> NOT_RUNNING (Resume)"),
    "bring back what was cancelled": (
        job(S.FAILED, user_cancelled=True),
        ask(Resume),
        "User: CANCELLED -> NOT_RUNNING (Resume)",
    ),
    "bring back": (job(S.FAILED), ask(Resume), "User: FAILED -> NOT_RUNNING (Resume)"),
    "update what has failed": (job(S.FAILED), ask(UpdateJob), "User: FAILED -> SUSPENDED (Update)"),
    "roll back": (new_version(), ask(Rollback), "User: STARTING -> NOT_RUNNING (Rollback)"),
    "export begins": (job(S.SUSPENDED), ask(Export), "User: SUSPENDED -> SUSPENDED_EXPORTING_SNAPSHOT (Export)"),
    "suspend": (stopping(Mode.SUSPEND), seen(Stopped()), "User: RUNNING -> SUSPENDED (Suspend)"),
    "suspend what dies": (
        stopping(Mode.SUSPEND),
        seen(GONE),
        "User: RUNNING -> SUSPENDED (Suspend: The runner's process ended)",
    ),
    "restart": (stopping(Mode.RESTART), seen(Stopped()), "User: RUNNING -> NOT_RUNNING (Restart)"),
    "cancel and export": (
        stopping(Mode.CANCEL_AND_EXPORT),
        seen(Stopped(snapshot=RECORD)),
        "User: RUNNING -> CANCELLED (Cancel and export)",
    ),
    "no snapshot, no end": (
        stopping(Mode.CANCEL_AND_EXPORT),
        seen(Stopped(error=FULL)),
        "User: RUNNING -> SUSPENDED (Cancel and export: The disk is full.)",
    ),
    "nothing known of the snapshot": (
        stopping(Mode.CANCEL_AND_EXPORT),
        seen(Stopped()),
        "User: RUNNING -> SUSPENDED (Cancel and export: the snapshot was not taken)",
    ),
    "export ends": (
        exporting(Mode.EXPORT),
        seen(Exported(7, RECORD)),
        "User: SUSPENDED_EXPORTING_SNAPSHOT -> SUSPENDED (Export)",
    ),
    "export fails": (
        exporting(Mode.EXPORT),
        seen(ExportFailed(7, FULL)),
        "User: SUSPENDED_EXPORTING_SNAPSHOT -> SUSPENDED (Export: The disk is full.)",
    ),
    "update": (updating(), seen(Stopped(snapshot=RECORD)), "User: RUNNING -> NOT_RUNNING (Update)"),
    "update without a snapshot": (
        updating(),
        seen(Stopped(error=FULL)),
        "User: RUNNING -> NOT_RUNNING (Update: The disk is full.)",
    ),
    "update of what is suspended": (
        job(S.SUSPENDED, preparation=7),
        prepared(),
        "User: SUSPENDED -> SUSPENDED_EXPORTING_SNAPSHOT (Update)",
    ),
    # What Pitstop does
    "rescale": (updating(rescales=True), seen(Stopped(snapshot=RECORD)), "Pitstop: RUNNING -> NOT_RUNNING (Rescale)"),
    "start": (job(S.NOT_RUNNING), Due(), "Pitstop: NOT_RUNNING -> STARTING (A run is started)"),
    "up": (job(S.STARTING), seen(Running(3)), "Pitstop: STARTING -> RUNNING (The run is up)"),
    "all read": (job(S.RUNNING), seen(Completed()), "Pitstop: RUNNING -> COMPLETING (All input is processed)"),
    "all read while it is to stop": (
        stopping(Mode.SUSPEND),
        seen(Completed()),
        "Pitstop: RUNNING -> COMPLETING (All input is processed)",
    ),
    "result": (job(S.COMPLETING), seen(CleanedUp()), "Pitstop: COMPLETING -> COMPLETED (The result is stored)"),
    "server ends": (
        job(S.RUNNING),
        seen(Stopped()),
        "Pitstop: RUNNING -> NOT_RUNNING (The server ended and stopped its runs)",
    ),
    "dies": (job(S.RUNNING), seen(GONE), "Pitstop: RUNNING -> NOT_RUNNING (The runner's process ended)"),
    "dies too often": (
        job(S.RUNNING, attempts=MOST_ATTEMPTS - 1),
        seen(GONE),
        f"Pitstop: RUNNING -> FAILED (The runner's process ended, {MOST_ATTEMPTS} times in a row without progress)",
    ),
    "fails": (job(S.STARTING), seen(Failed(FULL)), "Pitstop: STARTING -> FAILED (The disk is full.)"),
    "fails and is kept": (
        job(S.RUNNING, version=SUSPENDS),
        seen(Failed(FULL)),
        "Pitstop: RUNNING -> SUSPENDED (The disk is full.)",
    ),
    "the new version fails": (
        new_version(),
        seen(Failed(FULL)),
        "Pitstop: STARTING -> NOT_RUNNING (Version 2 of job 'job' failed, so version 1 goes on where it had stopped: "
        "The disk is full.)",
    ),
    "timeout": (
        job(
            S.RUNNING, start_time=0.0, version=Version(1, JobSource("a.py"), {}, JobConfig.from_options({"timeout": "1 second"}))
        ),
        Due(),
        "Pitstop: RUNNING -> FAILED (Timed out: it has run for 1 second (option timeout))",
    ),
    "a member is to leave": (
        dataclasses.replace(on_members(), termination=Termination(Mode.SUSPEND, 7, because="A member leaves.")),
        seen(Stopped(2.0)),
        "Pitstop: RUNNING -> SUSPENDED (A member leaves.)",
    ),
    "a member leaves": (
        on_members(processing_guarantee="exactly_once"),
        ClusterSeen(frozenset({"m1"})),
        "Pitstop: RUNNING -> SUSPENDED (A member that the job ran on has left the cluster, and auto_scaling is off.)",
    ),
}


@pytest.mark.parametrize(("before", "event", "told"), TOLD.values(), ids=TOLD)
def test_a_change_tells_who_brought_it_about_and_why(before, event, told):
    after = decide(before, event, NOW).job
    change = change_of(before, event, after, NOW)
    assert (change.text, change.at, change.previous, change.new) == (told, NOW, before.state, after.state)


def test_a_very_long_reason_is_cut():
    failed = Failed(Problem("ENGINE", "x" * 10 * MOST_LETTERS))
    change = change_of(job(S.RUNNING), seen(failed), decide(job(S.RUNNING), seen(failed), NOW).job, NOW)
    assert change == shown(StateChange(NOW, S.RUNNING, S.FAILED, "x" * (MOST_LETTERS - 1) + "…", False))


def events(before, event):
    return events_of(before, event, decide(before, event, NOW), NOW)


def test_a_run_that_failed_leaves_the_end_of_its_stack_trace():
    failed = Failed(Problem("ENGINE", "No such column: vin"), "first\n" + "x" * MOST_TRACE_LETTERS)
    (change,) = events(job(S.RUNNING), seen(failed))
    assert change.trace == "x" * MOST_TRACE_LETTERS
    assert events(job(S.RUNNING), seen(GONE))[0].trace is None


def test_an_event_that_changes_nothing_is_none():
    assert events(job(S.RUNNING), seen(Running(3))) == []


SAVED = SnapshotTaken(NOW, RECORD.name, RECORD.epoch, RECORD.bytes)


def shown(change, new=None):
    """The change with the words that people look at: those of its states, unless another one is given."""
    words = DisplayStatus(change.previous.value), DisplayStatus(new or change.new.value)
    return dataclasses.replace(change, display_previous=words[0], display_new=words[1])


UP = shown(StateChange(NOW, S.STARTING, S.RUNNING, "The run is up", False))


def test_a_snapshot_is_an_event_and_so_is_one_that_could_not_be_taken():
    before = job(S.RUNNING)
    assert events(before, seen(Exported(7, RECORD))) == [SAVED]
    assert events(before, seen(ExportFailed(7, FULL))) == [SnapshotTaken(NOW, None, error="The disk is full.")]
    ended = shown(StateChange(NOW, S.RUNNING, S.FAILED, "Cancel and export", True), "CANCELLED")
    assert events(stopping(Mode.CANCEL_AND_EXPORT), seen(Stopped(NOW, RECORD))) == [SAVED, ended]


def test_an_update_that_went_well_is_told_with_its_gap():
    told = events(new_version(), seen(Running(3, NOW + 1.25)))
    assert told == [VersionChange(NOW, 2, 1, None, 1.25), UP]
    assert told[0].text == "Updated from version 1 to version 2, after a gap of 1.2 s"


def test_an_update_that_failed_is_told_once_with_its_reason():
    before = new_version()
    (told, change) = events(before, seen(Failed(Problem("ENGINE", "No such table"))))
    assert (told.version, told.previous, told.gap_seconds) == (2, 1, None)
    assert told.error.startswith("Version 2 of job")
    assert "No such table" in told.error
    assert isinstance(change, StateChange)
    (called, _) = events(updating(), seen(Stopped(NOW, None, FULL)))[-2:]
    assert (called.version, called.previous, called.error) == (2, 1, "The disk is full.")


def test_a_job_that_is_rescaled_has_no_other_version():
    assert not any(isinstance(event, VersionChange) for event in events(updating(rescales=True), seen(Stopped(NOW, RECORD))))
    assert not any(isinstance(event, VersionChange) for event in events(updating(rescales=True), seen(GONE)))
