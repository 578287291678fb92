"""The judge of an update: one case a rule that is decided by comparing plans."""

import dataclasses

import pytest

from pitstop.errors import UsageError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.report import SourceFate
from pitstop.plan.diff import Verdict, Way, compare, unknown
from pitstop.plan.kinds import Fact
from pitstop.plan.model import OperatorSlot, Plan, PlanStage, SourceSlot

LAYOUT = StateLayout(
    StageKind.WINDOW,
    keys=(("vin", "string"),),
    accumulators=(("n__0", "bigint"), ("avg__0", "double"), ("avg__1", "bigint")),
    aggregates=(("n", "sum"), ("avg", "sum,sum")),
    parameters={"size_ms": 1000, "slide_ms": 1000, "text": "tumbling(1 seconds)"},
)


def plan(stateful, sources=("alpha",), partitions=None):
    stages = [PlanStage(name, StageKind.SOURCE, "source", (), "csv_tail") for name in sources]
    stages += [PlanStage(name, StageKind.WINDOW, "window_aggregate", (), "", layout=layout) for name, layout in stateful.items()]
    operators = tuple(OperatorSlot(name, "frames") for name in stateful)
    slots = tuple(SourceSlot(name, "") for name in sources)
    return Plan(tuple(stages), operators, slots, partitions).to_dict()


def verdicts(report):
    return {line.stage: (line.verdict.value, line.rule) for line in report.lines}


def test_the_same_pipeline_is_resumed():
    report = compare(plan({"speed": LAYOUT}), plan({"speed": LAYOUT}), 2)
    assert report.way is Way.RESUME
    assert verdicts(report) == {"alpha": ("restored", "C03"), "speed": ("restored", "C03")}


def test_added_and_removed_stages_and_sources_rebuild_and_keep_the_rest():
    report = compare(
        plan({"speed": LAYOUT, "old": _other("max")}, ("alpha", "beta")),
        plan({"new": _other("min"), "speed": LAYOUT}, ("alpha", "gamma")),
    )
    assert report.way is Way.REBUILD
    assert verdicts(report) == {
        "alpha": ("restored", "C03"),
        "beta": ("dropped", "C05"),
        "gamma": ("new", "C04"),
        "speed": ("restored", "C03"),
        "new": ("new", "C01"),
        "old": ("dropped", "C02"),
    }
    assert not report.refused


def test_state_whose_schema_was_kept_otherwise_is_moved_under_a_new_one():
    noted = LAYOUT.noting_never_null(())
    assert compare(plan({"speed": noted}), plan({"speed": noted}), 2).way is Way.RESUME
    report = compare(plan({"speed": LAYOUT}), plan({"speed": noted}), 2)
    assert (report.way, verdicts(report)["speed"]) == (Way.REBUILD, ("restored", "C03"))


def test_state_that_a_filter_had_made_strict_is_moved_under_a_schema_that_no_filter_does():
    noted = dataclasses.replace(
        LAYOUT, kind=StageKind.JOIN, parameters={"text": "join", "how": "inner", "within_ms": 1}
    ).noting_never_null(())
    assert compare(plan({"joined": noted}), plan({"joined": noted.noting_any_null()}), 2).way is Way.REBUILD
    assert compare(plan({"joined": noted.noting_any_null()}), plan({"joined": noted.noting_any_null()}), 2).way is Way.RESUME


def test_state_beside_what_spark_can_only_resume_keeps_its_schema():
    limit = StateLayout(StageKind.OPAQUE, accumulators=(("op0", "GlobalLimit 5"),), parameters={"text": "x", "fixed": "a limit"})
    noted = limit.noting_never_null(())
    assert compare(plan({"few": limit}), plan({"few": noted}), 2).way is Way.RESUME
    with_columns = limit.noting_never_null(["op0: x"])
    assert compare(plan({"few": with_columns}), plan({"few": noted.noting_any_null()}), 2).way is Way.RESUME


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (None, ["op0: k"], "restored"),
        ([], [], "restored"),
        (["op0: k"], [], "restored"),
        ([], ["op0: k"], "refused"),
    ],
)
def test_own_code_must_not_make_never_null_what_is_saved_as_null(before, after, verdict):
    code = StateLayout(StageKind.OPAQUE, accumulators=(("op0", "Aggregate [k]"),), parameters={"text": "x"})
    old = code if before is None else code.noting_never_null(before)
    report = compare(plan({"mine": old}), plan({"mine": code.noting_never_null(after)}), 2)
    assert verdicts(report)["mine"][0] == verdict


def test_another_number_of_partitions_rebuilds():
    assert compare(plan({"speed": LAYOUT}), plan({"speed": LAYOUT}, partitions=3), 2).way is Way.REBUILD


def _other(kind):
    return dataclasses.replace(LAYOUT, accumulators=(("x__0", "double"),), aggregates=(("x", kind),))


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        (dataclasses.replace(LAYOUT, keys=(("city", "string"),)), "C25"),
        (dataclasses.replace(LAYOUT, keys=(("vin", "bigint"),)), "C25"),
        (dataclasses.replace(LAYOUT, kind=StageKind.SESSION), "C19"),
        (dataclasses.replace(LAYOUT, kind=StageKind.OPAQUE), "C20"),
        (dataclasses.replace(LAYOUT, accumulators=(("n__0", "double"), *LAYOUT.accumulators[1:])), "C20"),
        (dataclasses.replace(LAYOUT, aggregates=(("n", "max"), ("avg", "sum,sum"))), "C20"),
    ],
)
def test_a_change_that_would_be_silently_wrong_is_refused_with_its_rule(changed, rule):
    report = compare(plan({"speed": LAYOUT}), plan({"speed": changed}))
    assert report.refused
    assert verdicts(report)["speed"] == ("refused", rule)


def test_aggregates_that_come_and_go_convert_the_stage():
    fewer = dataclasses.replace(
        LAYOUT, accumulators=(("n__0", "bigint"), ("top__0", "double")), aggregates=(("n", "sum"), ("top", "max"))
    )
    report = compare(plan({"speed": LAYOUT}), plan({"speed": fewer}))
    assert report.of(Verdict.CONVERTED) == ("speed",)
    assert "top counts from now on; avg is dropped" in report.text()


def test_a_renamed_stage_is_recognised_and_refused():
    report = compare(plan({"speed": LAYOUT}), plan({"velocity": LAYOUT}))
    assert report.refused
    assert "looks renamed to 'velocity'" in report.text()


DROPPING = (
    plan({"speed": LAYOUT, "old": _other("max")}, ("alpha", "beta")),
    plan({"speed": LAYOUT}, ("alpha",)),
)


@pytest.mark.parametrize(
    ("allowed", "needs"),
    [((), ("old", "beta")), (("old",), ("beta",)), (("beta", "old"), ()), (("*",), ()), (("speed",), ("old", "beta"))],
)
def test_what_is_dropped_needs_leave_by_name_or_for_all(allowed, needs):
    report = compare(*DROPPING, allow_drop=allowed)
    assert (report.needs_allow_drop, report.refused, report.of(Verdict.DROPPED)) == (needs, False, ("beta", "old"))
    assert ("--allow-drop=" in report.text()) is bool(needs)


def test_the_report_tells_what_an_update_would_drop_and_how_to_let_it():
    report = compare(*DROPPING)
    assert report.text().splitlines()[-1] == (
        "An update that would drop stage 'old' and source 'beta' is refused: if that is meant, say --allow-drop=old,beta (option "
        "allow_drop, in SQL allowDrop)."
    )
    assert report.to_dict()["needs_allow_drop"] == ["old", "beta"]


def test_of_something_new_beside_what_is_dropped_it_is_told_that_it_may_have_been_renamed():
    before, after = plan({"speed": LAYOUT}, ("alpha", "beta")), plan({"speed": LAYOUT}, ("alpha", "gamma"))
    assert "for a stage that only has another name, give --renamed NEW=OLD" in compare(before, after).leave_to_drop
    renamed = compare(before, after, renamed={"gamma": "beta"})
    assert renamed.needs_allow_drop == ()


def test_a_version_that_takes_nothing_over_looks_like_another_job():
    report = compare(plan({"speed": LAYOUT}), plan({"other": _other("min")}, ("beta",)))
    assert report.takes_over_nothing
    assert "Nothing saved is taken over: this looks like another job." in report.text()
    assert not compare(*DROPPING).takes_over_nothing
    assert not compare(plan({}, ()), plan({"speed": LAYOUT})).takes_over_nothing


def test_what_is_not_there_cannot_be_dropped():
    with pytest.raises(UsageError, match=r"^The saved state has no stage or source 'spede' that could be dropped"):
        compare(*DROPPING, allow_drop=("spede",))


def test_a_plan_reads_back_the_same():
    data = plan({"speed": LAYOUT})
    assert Plan.from_dict(data).to_dict() == data


def test_state_that_spark_cannot_move_is_refused_when_the_plan_around_it_changes():
    limit = StateLayout(StageKind.OPAQUE, accumulators=(("op0", "GlobalLimit 5"),), parameters={"text": "x", "fixed": "a limit"})
    assert verdicts(compare(plan({"few": limit}), plan({"few": limit}), 2))["few"] == ("restored", "C03")
    for changed in (plan({"few": limit, "speed": LAYOUT}), plan({"few": limit}, partitions=3)):
        report = compare(plan({"few": limit}), changed, 2)
        assert verdicts(report)["few"] == ("refused", "C20")
        assert "has a limit, whose state Spark can go on with only while" in report.reasons


def test_what_spark_cannot_move_is_not_begun_beside_state_that_goes_on_either():
    limit = StateLayout(StageKind.OPAQUE, accumulators=(("op0", "GlobalLimit 5"),), parameters={"text": "x", "fixed": "a limit"})
    report = compare(plan({"speed": LAYOUT}), plan({"speed": LAYOUT, "few": limit}))
    assert verdicts(report)["few"] == ("refused", "C20")
    assert "has a limit, which Spark cannot begin beside state that goes on" in report.reasons
    assert not compare(plan({"old": LAYOUT}), plan({"few": limit})).refused, "all state is new"


def test_a_schema_that_changes_beside_what_spark_cannot_move_is_refused():
    limit = StateLayout(StageKind.OPAQUE, accumulators=(("op0", "GlobalLimit 5"),), parameters={"text": "x", "fixed": "a limit"})
    code = StateLayout(StageKind.OPAQUE, accumulators=(("op0", "Deduplicate [k]"),), parameters={"text": "y"})
    stages = [{"few": limit.noting_never_null(()), "mine": code.noting_never_null(strict)} for strict in (["op0: k"], [])]
    assert verdicts(compare(*map(plan, stages), 2))["few"] == ("refused", "C20")


def migrating(layout, migration):
    made = plan({"speed": layout})
    made["stages"][-1]["migration"] = migration
    return made


def with_parameters(**parameters):
    return dataclasses.replace(LAYOUT, parameters=LAYOUT.parameters | parameters)


OTHER_KEY = dataclasses.replace(LAYOUT, keys=(("city", "string"),))
LONGER = with_parameters(size_ms=2000, slide_ms=2000, text="tumbling(2 seconds)")
KEPT = StateLayout(StageKind.MAPPED, (("vin", "string"),), (("total", "bigint"),), (), {"ttl_ms": None, "text": "state"})
FOR_AN_HOUR = dataclasses.replace(KEPT, parameters={"ttl_ms": 3_600_000, "text": "state, ttl 1 hours"})


@pytest.mark.parametrize("changed", [OTHER_KEY, _other("min"), LONGER], ids=["key", "aggregates", "window"])
def test_a_migration_that_the_saved_version_did_not_have_is_used_for_a_state_of_another_form(changed):
    for before in (None, "earlier"):
        (*_, line) = compare(migrating(LAYOUT, before), migrating(changed, "by_city")).lines
        assert (line.verdict, line.detail) == (Verdict.CONVERTED, "its state is migrated by 'by_city'")


@pytest.mark.parametrize("changed", [_other("min"), LONGER], ids=["aggregates", "window"])
def test_a_migration_that_is_still_there_is_not_used_on_what_it_has_made(changed):
    (*_, line) = compare(migrating(LAYOUT, "by_city"), migrating(changed, "by_city")).lines
    assert line.verdict is Verdict.CONVERTED
    assert "its state is migrated" not in line.detail
    assert line.detail.endswith(
        "'by_city' was there when its state was saved and is not used again: a new migration needs a new name"
    )


def test_a_migration_of_the_same_name_that_is_written_anew_is_used_for_what_no_rule_converts():
    (*_, line) = compare(migrating(LAYOUT, "by_city"), migrating(OTHER_KEY, "by_city")).lines
    assert (line.verdict, line.detail) == (Verdict.CONVERTED, "its state is migrated by 'by_city'")


def test_a_renamed_stage_does_not_use_the_migration_that_has_made_its_state():
    after = migrating(LONGER, "by_city")
    after["stages"][-1]["name"] = "pace"
    (*_, line) = compare(migrating(LAYOUT, "by_city"), after, renamed={"pace": "speed"}).lines
    assert "its state is migrated" not in line.detail


def test_another_time_to_live_is_no_other_form_that_would_be_migrated():
    (*_, line) = compare(migrating(KEPT, None), migrating(FOR_AN_HOUR, "in_euros")).lines
    assert (line.verdict.value, line.rule) == ("converted", "C15")
    assert "in_euros" not in line.detail
    assert "takes the time to live 1 hour from each key's last event" in line.detail


def own_code(form):
    return StateLayout(StageKind.OPAQUE, accumulators=(("op0", form),), parameters={"text": "own code"})


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("struct<a:int,b:int>", "struct<a:int,b:int>", Verdict.RESTORED),
        ("struct<a:int,b:int>", "struct<a:int,b:string>", Verdict.REFUSED),
        ("struct<a:int,... 2 more fields>", "struct<a:int,b:int,c:string>", Verdict.RESTORED),
        ("struct<a:int,... 2 more fields>", "struct<a:string,b:int,c:string>", Verdict.REFUSED),
        ("struct<a:int,... 2 more fields>, struct<b:int>", "struct<a:int,b:int,c:int>, struct<c:int>", Verdict.REFUSED),
    ],
)
def test_spark_code_of_ones_own_goes_on_if_its_form_is_what_a_release_that_cut_it_short_has_written_down(before, after, verdict):
    made = [plan({"own": own_code(f"Deduplicate [key] over {form}")}) for form in (before, after)]
    (*_, line) = compare(*made).lines
    assert line.verdict is verdict


def test_a_window_after_the_last_year_that_python_knows_is_told_with_its_date():
    (*_, line) = compare(plan({"speed": LAYOUT}), plan({"speed": LONGER}), watermark_ms=253_402_300_799_000).lines
    assert line.verdict is Verdict.CONVERTED
    assert "windows that end until +010000-01-01T00:00:01Z may lack or repeat events" in line.detail


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ("file:///data/2024/", "file:///mount/2024/", True),
        ("file:///data/2024/", "file:///data/", False),
        ("file:///data/", "file:///data/2024/", False),
        ("file:///data/2024/", "file:///data/20/", True),
        ("file:///data/day%3D1/", "file:///data/day=1/", False),
        ("file:///data/day%3D1/", "file:///data/day=2/", True),
        ("file:///data/day%3D1/a/", "file:///data/day=1/", False),
        (None, "file:///data/", False),
    ],
)
def test_a_folder_of_files_is_moved_if_neither_lies_within_the_other(before, after, moved):
    assert ("moved to" in compare(reading(before), reading(after)).lines[0].detail) is moved


def reading(folder):
    return Plan((PlanStage("in", StageKind.SOURCE, "source", (), "files", folder=folder),)).to_dict()


def placed(kind, place):
    stage = PlanStage("it", StageKind[kind], kind.lower(), (), "csv_tail" if kind == "SOURCE" else "sink files", place=place)
    return Plan((stage,)).to_dict()


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        (
            "SOURCE",
            "source, goes on from the saved offset, in the folder /home/ann/in and no longer in the folder /srv/in: unread "
            "data there is read from the beginning",
        ),
        ("SINK", "sink, writes into the folder /home/ann/in from now on, and no longer into the folder /srv/in"),
    ],
)
def test_a_source_and_a_sink_that_have_another_folder_tell_both(kind, detail):
    report = compare(placed(kind, "the folder /srv/in"), placed(kind, "the folder /home/ann/in"))
    assert [(line.verdict, line.detail) for line in report.lines] == [(Verdict.RESTORED, detail)]
    assert not report.refused
    assert report.way is Way.RESUME


@pytest.mark.parametrize(
    ("before", "after"),
    [("the folder /srv/in", "the folder /srv/in"), (None, "the folder /srv/in"), ("the folder /srv/in", None)],
)
def test_the_same_folder_and_one_that_an_older_plan_does_not_tell_are_no_news(before, after):
    assert not any("no longer" in line.detail for line in compare(placed("SOURCE", before), placed("SOURCE", after)).lines)
    assert compare(placed("SINK", before), placed("SINK", after)).lines == ()


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ("sink map", "sink map, newest by ts", False),
        ("sink map, newest by ts", "sink map, newest by seq", False),
        ("sink map", "sink files", True),
    ],
)
def test_a_sink_keeps_its_kind_under_its_name_and_may_order_its_rows_in_another_way(before, after, refused):
    def written(description):
        stages = (PlanStage("out", StageKind.SINK, "sink", (), description, transactional=True),)
        return Plan(stages, (), (), None).to_dict()

    report = compare(written(before), written(after), 2)
    assert verdicts(report) == ({"out": ("refused", "C24")} if refused else {})


def taking(**taken):
    """The layout of LAYOUT with what its aggregates take in: (as it is said, as it is lifted)."""
    return with_parameters(taken={"n": ["count()", "CAST(1 AS BIGINT)"], "avg": ["avg(v)", "v, one"]} | taken)


@pytest.mark.parametrize(
    ("taken", "verdict"),
    [
        (["sum(v)", "v"], "refused"),
        (["count(v)", "CASE WHEN v"], "refused"),
        (["counts()", "CAST(1 AS BIGINT)"], "restored"),
        (["count()", "1"], "restored"),
        (["count(CAST(v AS INT))", "CAST(v AS INT)"], "refused"),
    ],
    ids=["other-kind", "other-input", "kind-of-equal-parts", "release-that-lifts-otherwise", "cast"],
)
def test_an_aggregate_that_takes_in_something_else_is_refused(taken, verdict):
    report = compare(plan({"speed": taking()}), plan({"speed": taking(n=taken)}))
    assert verdicts(report)["speed"][0] == verdict
    if verdict == "refused":
        assert f"aggregate 'n' took in count() and now takes in {taken[0]}" in report.reasons


def test_what_a_release_before_did_not_note_of_its_aggregates_is_taken_for_equal():
    assert verdicts(compare(plan({"speed": LAYOUT}), plan({"speed": taking()})))["speed"] == ("restored", "C03")


def top(most, **more):
    return with_parameters(limits={"avg__0": most} if most else {}, **more)


@pytest.mark.parametrize(("before", "after", "verdict"), [(3, 5, "refused"), (5, 3, "restored"), (None, 5, "restored")])
def test_an_aggregate_that_keeps_more_rows_than_before_is_refused(before, after, verdict):
    report = compare(plan({"speed": top(before)}), plan({"speed": top(after)}))
    assert verdicts(report)["speed"][0] == verdict
    if verdict == "refused":
        said = "aggregate 'avg' kept 3 rows of each key and now keeps 5: those that it has left out are not in its state"
        assert said in report.reasons


def test_an_aggregate_of_ones_own_that_is_combined_in_another_way_is_refused():
    old, new = (with_parameters(combined={"avg__1": f"{merge}(avg__1)"}) for merge in ("sum", "max"))
    report = compare(plan({"speed": old}), plan({"speed": new}))
    assert verdicts(report)["speed"][0] == "refused"
    assert "aggregate 'avg' was combined by sum(avg__1) and now is by max(avg__1), and its state would mix both" in report.reasons
    assert verdicts(compare(plan({"speed": LAYOUT}), plan({"speed": new})))["speed"] == ("restored", "C03")


def test_a_migration_may_say_what_becomes_of_an_aggregate_that_takes_in_something_else():
    (*_, line) = compare(migrating(taking(), None), migrating(taking(n=["sum(v)", "v"]), "as_sum")).lines
    assert (line.verdict, line.detail) == (Verdict.CONVERTED, "its state is migrated by 'as_sum'")


def keeping(kind, combining="min"):
    return dataclasses.replace(LAYOUT, accumulators=(("x__0", kind),), aggregates=(("x", combining),))


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("struct<by:int,value:int>", "struct<by:int,value:bigint>", "converted"),
        ("struct<by:int,value:struct<a:float>>", "struct<by:bigint,value:struct<a:double>>", "converted"),
        ("struct<by:int,value:bigint>", "struct<by:int,value:int>", "refused"),
        ("struct<by:int,value:int>", "struct<by:int,other:int>", "refused"),
        ("struct<by:int,value:int>", "struct<by:int,value:string>", "refused"),
        ("bigint", "decimal(38,2)", "converted"),
        ("bigint", "decimal(20,2)", "refused"),
        ("int", "decimal(10,0)", "converted"),
        ("double", "decimal(38,10)", "refused"),
        ("map<string,int>", "map<string,bigint>", "converted"),
        ("map<int,int>", "map<bigint,int>", "refused"),
    ],
)
def test_types_widen_within_others_too(old, new, verdict):
    assert verdicts(compare(plan({"speed": keeping(old)}), plan({"speed": keeping(new)})))["speed"][0] == verdict


def test_lists_of_a_rolling_aggregate_widen():
    layouts = [
        dataclasses.replace(
            keeping(f"array<struct<by:int,value:{kind}>>", "top"), kind=StageKind.ROLLING, parameters={"text": "x"}
        )
        for kind in ("int", "bigint")
    ]
    assert verdicts(compare(*[plan({"speed": layout}) for layout in layouts]))["speed"][0] == "converted"


def test_a_stage_that_takes_over_the_state_of_another_does_not_drop_its_own_without_a_word():
    old = {"R": keeping("int"), "W": LAYOUT}
    report = compare(plan(old), plan({"R": LAYOUT, "R2": keeping("int")}), renamed={"R": "W"})
    assert "stage 'R' looks renamed to 'R2', which would start empty: say renamed R2=R to carry its state [C21]" in report.reasons
    report = compare(plan(old), plan({"R": LAYOUT, "R2": keeping("string")}), renamed={"R": "W"})
    assert [(line.stage, line.verdict.value) for line in report.lines[1:]] == [("R", "restored"), ("R2", "new"), ("R", "dropped")]


def test_stages_may_exchange_their_names_and_their_state_is_moved():
    both = {"R": keeping("int"), "W": keeping("int")}
    report = compare(plan(both), plan(both), 2, renamed={"R": "W", "W": "R"})
    assert report.way is Way.REBUILD
    assert report.of(Verdict.RESTORED) == ("alpha", "R", "W")


def from_sources(layout=LAYOUT, **settings):
    """A plan whose stage reads these sources: name -> digest of what is told to its reader."""
    made = plan({"speed": layout}, tuple(settings))
    for stage in made["stages"]:
        if stage["name"] in settings:
            stage["settings"] = settings[stage["name"]]
        else:
            stage["inputs"] = list(settings)
    return made


def test_a_source_that_only_changes_its_name_is_looked_for_as_a_stage_is():
    report = compare(from_sources(a="1"), from_sources(events="1"))
    assert verdicts(report)["a"] == ("refused", "C21")
    assert "looks renamed to 'events', which would read all from its configured start again: keep the name 'a'" in report.reasons
    assert not compare(from_sources(a="1"), from_sources(events="1"), renamed={"events": "a"}).refused


def test_a_table_of_a_hash_join_may_have_another_name():
    before, after = from_sources(a="1"), from_sources(events="1")
    for made in (before, after):
        made["source_slots"] = []
    assert not compare(before, after).refused


def test_a_new_source_before_saved_state_tells_that_this_has_rows_already():
    report = compare(from_sources(a="1"), from_sources(a="1", more="2"))
    assert verdicts(report)["more"] == ("new", "C04")
    assert "stage 'speed' has saved state already: what that holds of these rows is counted twice" in report.text()
    assert not compare(from_sources(a=None), from_sources(b="2")).refused, "an older release noted nothing of its sources"


TEN, TWENTY = 10_000, 20_000


def sized(size, slide):
    return with_parameters(size_ms=size, slide_ms=slide, text=f"{size}/{slide}")


@pytest.mark.parametrize(
    ("old", "new", "watermark", "last", "until"),
    [
        ((TWENTY, TWENTY), (TWENTY, TEN), 24_000, 40_000, "00:00:50"),
        ((TWENTY, TWENTY), (TEN, TEN), 99_000, 160_000, "00:02:40"),
        ((30_000, TEN), (30_000, 5_000), 99_000, 160_000, "00:03:05"),
        ((TWENTY, TWENTY), (TEN, TEN), 99_000, 100_000, "00:01:49"),
        ((TEN, TEN), (TWENTY, TWENTY), 99_000, 160_000, "00:01:59"),
    ],
)
def test_the_time_until_windows_may_be_wrong_covers_saved_frames_ahead_of_the_watermark(old, new, watermark, last, until):
    layouts, facts = [plan({"speed": sized(*each)}) for each in (old, new)], {"speed": {"last_frame_ms": last}}
    (*_, line) = compare(*layouts, watermark_ms=watermark, facts=facts).lines
    assert f"windows that end until 1970-01-01T{until}Z may lack or repeat" in line.detail


def test_without_that_fact_the_time_is_told_as_the_least():
    old, new = plan({"speed": sized(TWENTY, TWENTY)}), plan({"speed": sized(TEN, TEN)})
    assert unknown(old, new, {}) == {"speed": Fact.LAST_FRAME}
    assert unknown(new, old, {}) == {}
    assert "until 1970-01-01T00:01:49Z, or later where saved rows are ahead" in compare(old, new, watermark_ms=99_000).text()


ELSEWHERE = SourceFate("is put to latest: 3 messages are skipped, 0 are read again", sought=True)


def test_a_source_that_is_put_elsewhere_drops_its_place_alone_and_needs_leave():
    both = plan({"speed": LAYOUT}, ("alpha", "beta"))
    report = compare(both, both, fates={"beta": ELSEWHERE})
    assert verdicts(report) == {"alpha": ("restored", "C03"), "beta": ("dropped", "C32"), "speed": ("restored", "C03")}
    assert (report.way, report.needs_allow_drop, report.drops) == (Way.RESUME, ("beta",), "source 'beta'")
    assert compare(both, both, fates={"beta": ELSEWHERE}, allow_drop=("beta",)).needs_allow_drop == ()
    alone = plan({}, ("beta",))
    assert not compare(alone, alone, fates={"beta": ELSEWHERE}).takes_over_nothing


def test_the_place_of_a_renamed_source_may_be_left_by_its_new_name():
    before, after = plan({}, ("alpha",)), plan({}, ("gamma",))
    report = compare(before, after, renamed={"gamma": "alpha"}, fates={"gamma": ELSEWHERE}, allow_drop=("gamma",))
    assert (verdicts(report), report.needs_allow_drop) == ({"gamma": ("dropped", "C32")}, ())


def test_a_place_that_means_nothing_any_more_is_refused_and_what_its_kind_tells_goes_on_the_line():
    alone = plan({}, ("alpha", "beta"))
    report = compare(
        alone, alone, fates={"alpha": SourceFate("is of another cluster", refused=True), "beta": SourceFate("all well")}
    )
    assert [(line.stage, line.verdict, line.detail) for line in report.lines] == [
        ("alpha", Verdict.REFUSED, "is of another cluster"),
        ("beta", Verdict.RESTORED, "source, goes on from the saved offset, all well"),
    ]
    assert report.refused


def test_a_source_that_only_feeds_a_table_has_no_offset_to_go_on_from():
    with_table = plan({}, ("alpha", "table"))
    with_table["source_slots"] = with_table["source_slots"][:1]
    report = compare(with_table, with_table)
    assert [(line.stage, line.verdict, line.detail) for line in report.lines] == [
        ("alpha", Verdict.RESTORED, "source, goes on from the saved offset"),
        ("table", Verdict.RESTORED, "source of a table, read whole again"),
    ]
