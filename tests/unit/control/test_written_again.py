"""A new job that writes again what one that has ended has written, and could go on with."""

import dataclasses

import pytest

from pitstop.control.life import decide
from pitstop.control.written_again import concerned, with_concerns
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Progress, Version
from pitstop.model.layout import StageKind
from pitstop.model.run import Compiled, NoteConcern, Observation
from pitstop.plan.model import Plan, PlanStage
from tests.doubles.registry import MemoryRegistry

HERE, THERE = "the folder /rows", "the folder /other"


def plan(place=HERE, adds=True, name="out"):
    sink = PlanStage(name, StageKind.SINK, "sink", ("in",), "sink files", "job.py:7", place=place, adds=adds)
    return Plan((PlanStage("in", StageKind.SOURCE, "source", (), "rate"), sink)).to_dict()


def job(name="payments", stored=None, state=JobState.FAILED, job_id=None, **more):
    version = Version(1, JobSource("a.py"), {}, JobConfig(), stored, "one", bounded=more.pop("bounded", False))
    facts = {"completion_time": 5.0, "user_cancelled": True} if state.terminal else {}
    return Job(job_id or f"id-of-{name}", name, more.pop("at", 0.0), version, state, token=3, **facts | more)


def ended(name="payments", stored=None, epoch=4, **more):
    return job(name, stored or plan(), **more), Progress(epoch=epoch)


def concerns(stored, *others):
    return Plan.from_dict(with_concerns(stored, lambda: others)).concerns


def test_a_new_job_is_told_whose_rows_it_writes_again_and_what_goes_on_instead():
    assert concerns(plan(), ended()) == (
        "Sink 'out' (job.py:7) writes into the folder /rows, as job 'payments' (id-of-payments) did, which is CANCELLED and "
        "keeps its state: a new job begins without state, so rows of the same input are written again beside those that are "
        "there. 'pitstop update payments FILE' or 'pitstop resume payments' goes on where that job stopped; or give the sink a "
        "place of its own.",
    )
    assert "which is FAILED and keeps its state" in concerns(plan(), ended(user_cancelled=False))[0]


@pytest.mark.parametrize(
    "other",
    [
        ended(state_dropped=True),
        ended(state=JobState.COMPLETED, state_dropped=True),
        ended(state=JobState.RUNNING),
        ended(state=JobState.SUSPENDED),
        ended(bounded=True),
        ended(epoch=-1),
        ended(stored=plan(THERE)),
        ended(stored=plan("the folder /rows/late")),
        ended(stored=plan(None)),
        (job(), Progress(epoch=4)),
    ],
    ids=[
        "its state is dropped",
        "it is completed",
        "it runs again",
        "it was brought back suspended",
        "it was a batch",
        "it has written no epoch",
        "it has written elsewhere",
        "it has written below",
        "of an older release",
        "it was never compiled",
    ],
)
def test_nothing_is_told_of_a_job_that_would_not_go_on_there(other):
    assert concerns(plan(), other) == ()


def test_a_sink_whose_rows_take_the_place_of_others_and_one_without_a_place_are_no_concern_and_nobody_is_asked():
    def never():
        raise AssertionError("the jobs were read")

    for stored in (plan(adds=False), plan(None), plan(name="rows", place=None)):
        assert with_concerns(stored, never) == stored


def test_of_several_jobs_the_one_that_ended_last_is_named():
    first, last = ended("first", completion_time=7.0), ended("last", completion_time=9.0)
    for others in ((first, last), (last, first)):
        (concern,) = concerns(plan(), *others)
        assert "as job 'last' (id-of-last) did" in concern


def test_commands_name_a_job_by_its_id_where_another_job_has_its_name():
    old = ended(job_id="old", at=1.0)
    for other in (job(state=JobState.RUNNING, job_id="new", at=0.0), job(stored=plan(THERE), job_id="new", at=2.0)):
        (concern,) = concerns(plan(), (other, Progress()), old)
        assert "'pitstop update old FILE' or 'pitstop resume old' goes on" in concern
    (concern,) = concerns(plan(), (job(stored=plan(THERE), job_id="older", at=0.5), Progress()), old)
    assert "'pitstop resume payments' goes on" in concern
    assert "'pitstop resume id-without' goes on" in concerns(plan(), ended(name=None, job_id="id-without"))[0]


def compiled(new, options=None, stored=None):
    """The observation that a new job is compiled, as it counts beside one that has ended."""
    registry, (old, progress) = MemoryRegistry(), ended()
    for each in (old, new):
        registry.add_job(each)
    registry._progress[old.id] = progress
    event = Observation(new.id, 3, Compiled(stored or plan(), "two", JobConfig.from_options(options or {})))
    return event, concerned(new, event, registry)


def test_a_new_job_that_is_compiled_has_the_concern_in_its_plan_and_in_its_log():
    new = job(state=JobState.STARTING, job_id="new", at=1.0)
    _, event = compiled(new)
    decision = decide(new, event, 9.0)
    (concern,) = Plan.from_dict(decision.job.version.plan).concerns
    assert concern.endswith(
        "To go on where that job stopped, cancel this one, then 'pitstop update id-of-payments FILE' or 'pitstop resume "
        "id-of-payments'; or give the sink a place of its own."
    )
    assert [action.order for action in decision.actions] == [NoteConcern(concern)]


NEW = job(state=JobState.STARTING, job_id="new", at=1.0)


@pytest.mark.parametrize(
    ("new", "options"),
    [
        (NEW, {"allow_shared": True}),
        (NEW, {"initial_snapshot": "monday"}),
        (dataclasses.replace(NEW, version=dataclasses.replace(NEW.version, plan=plan())), {}),
        (dataclasses.replace(NEW, version=dataclasses.replace(NEW.version, number=2)), {}),
        (dataclasses.replace(NEW, token=4), {}),
    ],
    ids=["it says that it shares", "it starts from a snapshot", "it starts again", "it is an update", "of an older run"],
)
def test_a_job_that_means_it_or_begins_with_state_is_compiled_without_a_concern(new, options):
    event, taken = compiled(new, options)
    assert taken is event
