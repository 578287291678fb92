"""Plans: for each job that there may be and each wish of the file, the steps that lead there."""

from dataclasses import replace

import pytest

from pitstop.cli.apply_file import DesiredJob
from pitstop.cli.apply_plan import PresentJob, Step, plan_job, plan_pruned
from pitstop.model.job import DisplayStatus, JobState

CREATE, UPDATE, RESUME, SUSPEND, DELETE = Step
WISH = DesiredJob("speeds", "/here/speeds.py", args=("/data",), options={"partitions": 4})
PRESENT = PresentJob(
    "id",
    "speeds",
    DisplayStatus.RUNNING,
    JobState.RUNNING,
    True,
    "speeds.py",
    "sha",
    None,
    ("/data",),
    {"partitions": "4", "renamed": {}},
)


def present(state, cancelled=False, **changes):
    return replace(PRESENT, state=state, status=DisplayStatus.of(state, cancelled), **changes)


@pytest.mark.parametrize(
    ("state", "running", "suspended"),
    [
        (JobState.NOT_RUNNING, (), (SUSPEND,)),
        (JobState.STARTING, (), (SUSPEND,)),
        (JobState.RUNNING, (), (SUSPEND,)),
        (JobState.SUSPENDED, (RESUME,), ()),
        (JobState.SUSPENDED_EXPORTING_SNAPSHOT, (RESUME,), ()),
        (JobState.FAILED, (RESUME,), ()),
        (JobState.COMPLETED, (), ()),
    ],
)
def test_a_job_as_the_file_has_it_is_brought_into_its_state_alone(state, running, suspended):
    job = present(state)
    assert plan_job(WISH, "sha", [job]).steps == running
    assert plan_job(replace(WISH, suspended=True), "sha", [job]).steps == suspended


@pytest.mark.parametrize(
    ("state", "running", "suspended"),
    [
        (JobState.RUNNING, (UPDATE,), (UPDATE, SUSPEND)),
        (JobState.SUSPENDED, (UPDATE, RESUME), (UPDATE,)),
        (JobState.FAILED, (UPDATE, RESUME), (UPDATE,)),
        (JobState.COMPLETED, (CREATE,), (CREATE, SUSPEND)),
    ],
)
def test_a_job_whose_code_has_changed_is_updated_first(state, running, suspended):
    job = present(state)
    assert plan_job(WISH, "other", [job]).steps == running
    assert plan_job(replace(WISH, suspended=True), "other", [job]).steps == suspended


def test_a_job_that_is_not_there_is_made():
    assert plan_job(WISH, "sha", []).steps == (CREATE,)
    assert plan_job(replace(WISH, suspended=True), "sha", []).steps == (CREATE, SUSPEND)


def test_a_job_without_state_has_nothing_to_go_on_from():
    assert plan_job(WISH, "sha", [present(JobState.FAILED, has_state=False)]).steps == (CREATE,)


def test_the_active_job_of_a_name_counts_and_else_the_newest():
    old, active = present(JobState.FAILED), present(JobState.RUNNING, id="active")
    assert plan_job(WISH, "sha", [old, active]).job_id == "active"
    gone = present(JobState.FAILED, has_state=False, id="newest")
    assert plan_job(WISH, "sha", [gone, old]).steps == (CREATE,)


@pytest.mark.parametrize(
    ("wish", "digest", "what"),
    [
        ({}, "other", ["artifact"]),
        ({"artifact": "/here/speeds_v2.py"}, "other", ["artifact"]),
        ({"args": ("/data", "5")}, "sha", ["args"]),
        ({"args": ()}, "sha", []),
        ({"entry": "m:f"}, "sha", ["entry"]),
        ({"options": {"partitions": 8}}, "sha", ["option partitions"]),
        ({"options": {"partitions": "4"}}, "sha", []),
        ({"options": {"partitions": 4, "metrics_enabled": False}}, "sha", ["option metrics_enabled"]),
        ({"options": {"partitions": 4, "renamed": {"a": "b"}, "allow_drop": ["c"]}}, "sha", []),
        ({"options": {}}, "sha", []),
        ({"artifact": "https://host/speeds.py"}, None, []),
        ({"artifact": "https://host/v2.py"}, None, ["artifact"]),
        ({"initial_snapshot": "s"}, "sha", []),
    ],
)
def test_a_change_is_told_by_what_has_changed(wish, digest, what):
    plan = plan_job(replace(WISH, **wish), digest, [PRESENT])
    assert [change.what for change in plan.changes] == what
    assert (UPDATE in plan.steps) == bool(what)


def test_options_that_the_file_leaves_out_are_told():
    plan = plan_job(replace(WISH, options={}), "sha", [PRESENT])
    assert plan.notes == ("keeps options that the file does not name: partitions=4",)


def test_pruning_is_about_active_jobs_with_a_name():
    jobs = [
        PRESENT,
        present(JobState.RUNNING, name="other", id="2"),
        present(JobState.SUSPENDED, name="third", id="3"),
        present(JobState.FAILED, name="gone", id="4"),
        present(JobState.RUNNING, name=None, id="5"),
    ]
    assert [(plan.name, plan.steps, plan.job_id) for plan in plan_pruned([WISH], jobs)] == [
        ("other", (DELETE,), "2"),
        ("third", (DELETE,), "3"),
    ]
