"""Places that jobs write into, as the control loop takes its events."""

import dataclasses

import pytest

from pitstop.control.places import refuse_shared, sinks_of, unless_shared, why_no_job
from pitstop.errors import ConflictError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Starting, Update, Version, Watched
from pitstop.model.layout import StageKind
from pitstop.model.operation import Operation, Resume
from pitstop.model.run import Compiled, Failed, Observation
from pitstop.plan.model import Plan, PlanStage
from tests.doubles.registry import MemoryRegistry

HERE, THERE = "the map 'm'", "the folder /rows"


def plan(**places):
    stages = [
        PlanStage(name, StageKind.SINK, "sink", ("in",), "sink map, newest by ts", "job.py:7", place=place)
        for name, place in places.items()
    ]
    return Plan((PlanStage("in", StageKind.SOURCE, "source", (), "rate"), *stages)).to_dict()


def circle(*sinks, source="in"):
    """A plan whose source reads what these sinks of its own write."""
    stored = plan(**dict.fromkeys(sinks, THERE))
    stored["stages"][0] |= {"name": source, "location": "job.py:3", "reads_sinks": list(sinks)}
    return stored


def version(stored, number=1, **options):
    return Version(number, JobSource("a.py"), options, JobConfig.from_options(options), stored, "one")


def job(stored, job_id="id", state=JobState.RUNNING, **more):
    return Job(job_id, job_id, 0.0, version(stored), state, token=3, **more)


def refusal(one, stored, *others):
    with pytest.raises(ConflictError) as refused:
        refuse_shared(one, stored, others)
    return refused.value.message


def test_a_plan_tells_the_places_of_its_sinks_and_an_older_one_tells_none():
    assert [(sink.name, sink.connector, sink.place) for sink in sinks_of(plan(out=HERE, more=None))] == [
        ("out", "sink map", HERE),
        ("more", "sink map", None),
    ]
    assert sinks_of(None) == []
    assert Plan.from_dict(plan(out=HERE)).to_dict() == plan(out=HERE)
    assert Plan.from_dict(circle("out")).to_dict() == circle("out")


@pytest.mark.parametrize("state", [state for state in JobState if not state.terminal])
def test_the_place_of_an_active_job_is_taken(state):
    assert refusal(job(None), plan(out=HERE), job(plan(theirs=HERE), "other", state)).startswith(
        "Sink 'out' (job.py:7) of job 'id' writes into the map 'm', as job 'other' (other) does, "
    )


@pytest.mark.parametrize(
    "other",
    [
        job(plan(theirs=HERE), "other", JobState.FAILED),
        job(plan(theirs=HERE), "other", JobState.COMPLETED),
        job(plan(theirs=HERE)),
        job(plan(out=THERE), "other"),
        job(plan(out=None), "other"),
        job(None, "other"),
    ],
    ids=["failed", "completed", "itself", "elsewhere", "of an older release", "not compiled"],
)
def test_a_place_is_free_that_no_other_active_job_writes_into(other):
    refuse_shared(job(None), plan(out=HERE), [other])


@pytest.mark.parametrize(
    ("mine", "theirs", "how"),
    [
        ("the folder /rows/a", THERE, "which is below the folder /rows of job 'other' (other), which is RUNNING"),
        (THERE, "the folder /rows/a/b", "above the folder /rows/a/b of job 'other' (other), which is RUNNING"),
        ("the folder /", THERE, "above the folder /rows of job 'other' (other), which is RUNNING"),
    ],
)
def test_a_folder_within_one_of_another_job_and_one_around_it_are_taken(mine, theirs, how):
    message = refusal(job(None), plan(out=mine), job(plan(theirs=theirs), "other"))
    assert message == (
        f"Sink 'out' (job.py:7) of job 'id' writes into {mine}, {how}: give it a place of its own, or let both write there by "
        "--allow-shared (option allow_shared, in SQL allowShared)."
    )


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("the folder /rows-2", THERE),
        ("the folder /other/rows", THERE),
        ("the map 'a/b'", "the map 'a'"),
        ("a table /rows/a", THERE),
    ],
)
def test_places_that_only_look_alike_do_not_meet(mine, theirs):
    refuse_shared(job(None), plan(out=mine), [job(plan(theirs=theirs), "other")])


def test_a_folder_below_another_job_s_that_the_job_has_already_is_its_own():
    other = job(plan(theirs=THERE), "other")
    refuse_shared(job(plan(out="the folder /rows/a")), plan(out="the folder /rows/a"), [other])
    assert refusal(job(plan(out="the folder /rows/a")), plan(out="the folder /rows/b"), other)


def test_a_source_that_reads_what_a_sink_of_its_job_writes_is_refused():
    assert refusal(job(None), circle("out")) == (
        "Source 'in' (job.py:3) of job 'id' reads what its sink 'out' writes into the folder /rows, so each epoch makes rows for "
        "the next one: give the sink another place, or the source a narrower pattern, or allow it by --allow-shared (option "
        "allow_shared, in SQL allowShared)."
    )


def test_a_job_that_is_not_there_yet_is_told_what_would_let_it_fail():
    other = job(plan(theirs=HERE), "other")
    taken = "Sink 'out' (job.py:7) writes into the map 'm', as job 'other' (other) does"
    assert why_no_job(plan(out=HERE), [other]).startswith(taken)
    assert why_no_job(circle("out"), []).startswith("Source 'in' (job.py:3) reads what its sink 'out' writes into")
    assert why_no_job(plan(out=THERE), [other]) is None


def test_a_circle_that_a_job_has_already_goes_on_and_no_other_one():
    refuse_shared(job(circle("out")), circle("out"), [])
    assert refusal(job(circle("out")), circle("out", "more"))
    assert refusal(job(circle("out")), circle("out", source="new"))


def test_a_source_of_an_older_release_s_plan_which_does_not_say_what_it_reads_goes_on():
    silent, telling = plan(out=THERE), circle("out")
    assert "reads_sinks" not in silent["stages"][0]
    refuse_shared(job(silent), telling, [])
    telling["stages"][0]["reads_sinks"] = []
    assert refusal(job(telling), circle("out"))


@pytest.mark.parametrize(("theirs", "refused"), [("the folder /rows", True), ("the folder /rows/late", False)])
def test_a_failed_job_comes_back_below_another_one_and_not_where_it_writes_itself(theirs, refused):
    registry = MemoryRegistry()
    registry.add_job(job(plan(theirs=theirs), "other"))
    failed, resume = job(plan(out=THERE), state=JobState.FAILED), Operation(7, "id", Resume())
    if not refused:
        assert unless_shared(failed, resume, registry) is resume
        return
    with pytest.raises(ConflictError) as error:
        unless_shared(failed, resume, registry)
    assert error.value.message.endswith("or update it with --allow-shared (option allow_shared, in SQL allowShared).")


@pytest.mark.parametrize("phase", [Starting, Watched])
def test_the_place_of_a_version_that_may_be_gone_back_to_is_taken_and_is_its_job_s_own(phase):
    update = Update(9, 60.0, phase(version(plan(out=HERE)), 10.0))
    other = job(plan(out=THERE), "other", update=update)
    assert refusal(job(None), plan(out=HERE), other)
    assert refusal(job(None), plan(out=THERE), other)
    refuse_shared(dataclasses.replace(other, id="id"), plan(back=HERE), [job(plan(out=HERE), "third")])


def test_a_place_that_a_job_has_is_its_own_under_any_name_whoever_was_let_in_later():
    other = job(plan(out=HERE), "other")
    refuse_shared(job(plan(out=HERE)), plan(new=HERE), [other])
    assert refusal(job(plan(out=THERE)), plan(out=HERE), other)


def test_a_sink_of_an_older_release_has_written_where_its_namesake_does():
    other = job(plan(out=HERE), "other")
    refuse_shared(job(plan(out=None)), plan(out=HERE), [other])
    assert refusal(job(plan(out=None)), plan(new=HERE), other)
    files = plan(out=None)
    files["stages"][1]["description"] = "sink files"
    assert refusal(job(files), plan(out=HERE), other)


def compiled(of, stored, **options):
    registry = MemoryRegistry()
    registry.add_job(of)
    registry.add_job(job(plan(theirs=HERE), "other"))
    event = Observation(of.id, 3, Compiled(stored, "one", JobConfig.from_options(options), bounded=False))
    return event, unless_shared(of, event, registry)


@pytest.mark.parametrize(("options", "goes_on"), [({}, False), ({"allow_shared": True}, True)], ids=str)
def test_a_circle_fails_once_it_is_compiled_unless_it_is_allowed(options, goes_on):
    event, taken = compiled(job(None, state=JobState.STARTING), circle("out"), **options)
    assert (taken is event) == goes_on
    assert goes_on or "reads what its sink 'out' writes" in taken.fact.error.message


def test_a_version_that_is_compiled_fails_without_another_attempt_where_its_place_is_taken():
    event, taken = compiled(job(None, state=JobState.STARTING), plan(out=HERE))
    assert isinstance(taken.fact, Failed)
    assert (taken.fact.restartable, taken.fact.away, taken.token) == (False, False, event.token)
    assert "writes into the map 'm', as job 'other'" in taken.fact.error.message


@pytest.mark.parametrize(
    ("before", "options"), [(None, {"allow_shared": True}), (plan(out=None), {}), (plan(out=HERE), {})], ids=str
)
def test_a_version_that_may_share_or_was_accepted_before_is_compiled(before, options):
    event, taken = compiled(job(before, state=JobState.STARTING), plan(out=HERE), **options)
    assert taken is event


def test_what_an_older_run_tells_changes_nothing():
    of = dataclasses.replace(job(None, state=JobState.STARTING), token=4)
    event, taken = compiled(of, plan(out=HERE))
    assert taken is event
