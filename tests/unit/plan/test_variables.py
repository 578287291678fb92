"""Variables of a user's processor in a changed version: what Spark would take for another's value, lose, or find too late."""

import dataclasses

import pytest

from pitstop.control.going_back import check_present
from pitstop.errors import IncompatibleError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.operation import GoingBack
from pitstop.plan.diff import Verdict, Way, compare, unknown
from pitstop.plan.kinds import Fact
from pitstop.plan.model import OperatorSlot, Plan, PlanStage
from pitstop.plan.variables import Variable

FORM = "~TransformWithStateInPySpark transformWithStateUDF(key, ts-T5000ms), 1, [key], Append, NoTime, python_row"
N = Variable("n", "value", "struct<n:int>")
TWO = Variable("n", "value", "struct<a:int,b:int>")
LISTED = Variable("marks", "list", "struct<seq:bigint>")
MAPPED = Variable("seen", "map", "struct<n:int>", "struct<v:int>")


def layout(*variables, form=FORM, unread=None):
    noted = {"variables": {"op0": [variable.to_dict() for variable in variables]}} if variables else {}
    noted |= {"unread": {"op0": unread}} if unread else {}
    return StateLayout(StageKind.OPAQUE, accumulators=(("op0", form),), parameters={"text": "x", **noted}, roles=("op0", 0))


def plan(made, partitions=None):
    stage = PlanStage("T", StageKind.OPAQUE, "stateful", (), "", layout=made)
    return Plan((stage,), (OperatorSlot("T", "op0"),), (), partitions).to_dict()


def judged(old, new, **more):
    return compare(plan(old), plan(new), 2, **more)


def verdicts(report):
    return [(line.verdict, line.detail) for line in report.lines]


def test_a_processor_with_the_same_variables_goes_on():
    report = judged(layout(N, LISTED, MAPPED), layout(MAPPED, N, LISTED))
    assert (verdicts(report), report.way) == ([(Verdict.RESTORED, "its state goes on")], Way.RESUME)


def test_a_stage_whose_only_variable_is_renamed_starts_empty_and_what_is_dropped_wants_leave():
    report = judged(layout(N), layout(dataclasses.replace(N, name="count")))
    assert verdicts(report) == [
        (Verdict.NEW, "starts empty: it has none of the variables that were saved"),
        (Verdict.DROPPED, "variable 'n' is not in the new version: what is saved there is ignored"),
    ]
    assert (report.needs_allow_drop, report.drops, report.way) == (("T",), "variables in stage 'T'", Way.REBUILD)
    assert "--renamed" not in report.text(), "a stage's variables cannot be renamed by that"
    assert not judged(layout(N), layout(dataclasses.replace(N, name="count")), allow_drop=("T",)).needs_allow_drop


def test_a_variable_that_is_renamed_beside_another_is_told_as_new_and_as_dropped():
    report = judged(layout(N, LISTED), layout(dataclasses.replace(N, name="count"), LISTED))
    assert verdicts(report) == [
        (Verdict.RESTORED, "its state goes on"),
        (Verdict.NEW, "variable 'count' is not in what is saved, and begins empty"),
        (Verdict.DROPPED, "variable 'n' is not in the new version: what is saved there is ignored"),
    ]
    assert report.needs_allow_drop == ("T",)


def test_state_of_a_dropped_variable_is_written_anew_without_it_so_that_no_later_one_of_its_name_gets_it():
    assert judged(layout(N, LISTED), layout(N)).way is Way.REBUILD
    assert judged(layout(N), layout(N, LISTED)).way is Way.RESUME


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (N, Variable("n", "value", "struct<n:bigint>"), "variable 'n' was a value of n int and is now a value of n bigint"),
        (N, Variable("n", "value", "struct<n:int,m:int>"), "is now a value of n int, m int"),
        (N, Variable("n", "list", "struct<n:int>"), "was a value of n int and is now a list of n int"),
        (N, Variable("n", "value", "struct<n:int>", None, True, 5000), "is now a value of n int with a time to live"),
        (MAPPED, Variable("seen", "map", "struct<n:int>", "struct<v:string>"), "to n int and is now a map of v string"),
        (TWO, dataclasses.replace(TWO, value="struct<b:int,a:int>"), "is now a value of b int, a int"),
    ],
)  # fmt: skip
def test_what_spark_would_refuse_or_take_for_another_value_is_refused_with_the_variable_and_both_types(old, new, words):
    (verdict, detail), *more = verdicts(judged(layout(old), layout(new)))
    assert (verdict, more) == (Verdict.REFUSED, [])
    assert words in detail


def test_a_renamed_field_and_another_time_to_live_go_on_and_are_told():
    renamed = judged(layout(N), layout(Variable("n", "value", "struct<m:int>")))
    assert verdicts(renamed) == [(Verdict.RESTORED, "its state goes on; field 'n' of variable 'n' is now called 'm'")]
    lives = [Variable("n", "value", "struct<n:int>", None, True, ms) for ms in (60_000, 3_600_000)]
    assert "lives for 1 hour from its next change on, until then for 1 minute" in judged(*map(layout, lives)).text()


@pytest.mark.parametrize(
    ("saved", "lacking"), [((LISTED,), "variables in 'T'"), ((N, LISTED), None)], ids=["without-a-variable", "with-all"]
)
def test_a_version_is_not_gone_back_to_without_the_variables_that_it_keeps(saved, lacking):
    report, version = judged(layout(*saved), layout(N, LISTED)), Version(2, JobSource("x.py"), {}, JobConfig())
    job, arguments = Job("id", "job", 0.0, version, JobState.RUNNING), (GoingBack(1), report, plan(layout(N, LISTED)), (), None)
    if lacking is None:
        check_present(job, *arguments)
        return
    with pytest.raises(IncompatibleError, match=f"would start without its state: the present state lacks {lacking}"):
        check_present(job, *arguments)


def test_variables_that_cannot_be_read_are_told_and_compared_when_the_new_checkpoint_is_made():
    report = judged(layout(N), layout(unread="its init raises ValueError: no"))
    assert "its variables could not be read (its init raises ValueError: no)" in report.text()
    assert report.way is Way.REBUILD


def test_a_plan_of_a_release_that_did_not_note_variables_is_compared_by_what_its_state_has():
    old, new = layout(), layout(dataclasses.replace(N, name="count"))
    assert unknown(plan(old), plan(new), {}) == {"T": Fact.VARIABLES}
    assert unknown(plan(layout(N)), plan(new), {}) == {}
    facts = {"T": {"variables": {"op0": [N.to_dict()]}}}
    assert [line.verdict for line in judged(old, new, facts=facts).lines] == [Verdict.NEW, Verdict.DROPPED]


def test_another_delay_of_the_watermark_and_another_name_of_a_function_are_no_other_operator():
    for form in (
        FORM,
        "~FlatMapGroupsInPandasWithState step(key, ts-T5000ms), [key] over struct<key:int>",
        "~Aggregate [window-T5000ms]",
    ):
        other = form.replace("T5000ms", "T9000ms").replace("step(", "counted(")
        assert verdicts(judged(layout(form=form), layout(form=other))) == [(Verdict.RESTORED, "its state goes on")]
    assert judged(layout(form="~Aggregate [one(v)]"), layout(form="~Aggregate [two(v)]")).refused


def test_another_time_mode_is_refused_by_its_name():
    assert (
        "its processor had the time mode NoTime and now has EventTime"
        in judged(layout(), layout(form=FORM.replace("NoTime", "EventTime"))).reasons
    )
