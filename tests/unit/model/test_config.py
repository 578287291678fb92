import dataclasses
from datetime import datetime

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.kit.jsonable import from_json, to_json
from pitstop.model.config import OPTIONS, Execution, JobConfig, ProcessingGuarantee


def test_options_are_read_and_none_never_overwrites():
    base = JobConfig.from_options({"processing_guarantee": "exactly_once", "snapshot_interval": "5 seconds"})
    assert base.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE
    assert base.snapshot_interval_ms == 5000
    over = JobConfig.from_options({"processing_guarantee": None, "suspend_on_failure": "true"}, base)
    assert over.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE
    assert over.suspend_on_failure


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colour": "red"}, "Unknown job option: colour"),
        ({"partitions": "many"}, "Invalid number for partitions: many"),
        ({"processing_guarantee": "twice"}, "Unsupported value for processing_guarantee: twice"),
        ({"snapshot_interval_ms": -1}, "snapshot_interval_ms can't be negative"),
        ({"suspend_on_failure": "perhaps"}, "Use true or false"),
        ({"spark": "fast"}, "'spark' is a mapping"),
        (
            {"spark": {"spark.sql.exchange.reuse": "true"}},
            "exchange.reuse is the engine's own, state depends on it: leave it out",
        ),
        ({"spark": {"spark.sql.shuffle.partitions": "9"}}, "partitions is the engine's own, .*: use the option partitions"),
        ({"state_store": "paper"}, "Unsupported value for state_store: paper. Use auto, memory or rocksdb"),
    ],
)
def test_a_wrong_option_is_named(options, message):
    with pytest.raises(UsageError, match=message):
        JobConfig.from_options(options)


def test_a_stored_config_reads_back_the_same():
    config = JobConfig.from_options({"processing_guarantee": "atLeastOnce", "partitions": 3, "spark": {"a": 1}})
    assert from_json(JobConfig, to_json(config)) == config
    assert to_json(config) == config.to_dict()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["six>=1,<2", " attrs "], ("six>=1,<2", "attrs")),
        ("six>=1,<2", ("six>=1,<2",)),
        ("six\n\nattrs; python_version > '3'\n", ("six", "attrs; python_version > '3'")),
        ('["six", "attrs"]', ("six", "attrs")),
        ("", ()),
    ],
)
def test_requirements_are_a_list_or_lines(written, read):
    config = JobConfig.from_options({"requirements": written})
    assert config.requirements == read
    assert from_json(JobConfig, to_json(config)) == config
    assert to_json(config) == config.to_dict()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (True, ("*",)),
        (" True ", ("*",)),
        ("*", ("*",)),
        (["speed", "*"], ("*",)),
        (False, ()),
        ("false", ()),
        ("", ()),
        ([], ()),
        ("speed, trips,,speed", ("speed", "trips")),
        ('["speed", "true"]', ("speed", "true")),
    ],
)
def test_what_may_be_dropped_is_a_list_or_all(written, read):
    config = JobConfig.from_options({"allow_drop": written})
    assert config.allow_drop == read
    assert from_json(JobConfig, to_json(config)) == config


def test_what_may_be_dropped_is_said_with_each_version_and_not_in_its_code():
    with pytest.raises(UsageError, match=r"^Allow drops when you submit or update a version \(--allow-drop\)"):
        ps.job(allow_drop=True)(lambda: None)


@pytest.mark.parametrize("written", [7, {"six": 1}, [7], "[", "[1]"])
def test_requirements_that_are_no_list_are_refused(written):
    with pytest.raises(UsageError, match=r"^The job option 'requirements' is "):
        JobConfig.from_options({"requirements": written})


def test_requirements_in_code_would_come_too_late():
    with pytest.raises(UsageError, match=r"^The requirements of a job are needed before its code is loaded: "):
        ps.job(requirements=["six"])(lambda: None)


def test_what_an_earlier_release_stored_is_read_with_the_defaults_of_what_it_did_not_know():
    stored = {
        "processing_guarantee": "exactly_once",
        "snapshot_interval_ms": 250,
        "initial_snapshot": None,
        "state_store": "memory",
    }
    config = from_json(JobConfig, stored)
    assert config == JobConfig.from_options(
        {"processing_guarantee": "exactly_once", "snapshot_interval": "250 ms", "state_store": "memory"}
    )
    assert isinstance(config.processing_guarantee, ProcessingGuarantee)


def test_each_field_has_one_record_in_the_table_with_the_same_default():
    assert [option.field for option in OPTIONS] == [field.name for field in dataclasses.fields(JobConfig)]
    assert JobConfig.from_options({option.name: option.default for option in OPTIONS}) == JobConfig()


@pytest.mark.parametrize(("name", "value"), [(option.name, value) for option in OPTIONS for value in option.choices])
def test_every_value_that_is_offered_is_accepted(name, value):
    assert str(to_json(JobConfig.from_options({name: value}))[name]).lower() == value


@pytest.mark.parametrize(
    ("value", "expected"), [("1 hour", 3_600_000), (0, 0), ("unlimited", None), ("UNLIMITED", None), ("none", None), (-1, None)]
)
def test_how_far_ahead_times_may_be_is_a_day_unless_somebody_says_otherwise(value, expected):
    assert JobConfig().max_ahead_ms == 86_400_000
    assert JobConfig.from_options({"max_ahead": value}).max_ahead_ms == expected
    assert from_json(JobConfig, to_json(JobConfig.from_options({"max_ahead": value}))).max_ahead_ms == expected
    from_before = {name: kept for name, kept in to_json(JobConfig()).items() if name != "max_ahead_ms"}
    assert from_json(JobConfig, from_before).max_ahead_ms == 86_400_000, "of a job of an earlier release"


def test_metrics_that_are_not_counted_cannot_be_stored():
    with pytest.raises(UsageError, match="store_metrics_after_completion needs metrics_enabled"):
        JobConfig.from_options({"store_metrics_after_completion": True, "metrics_enabled": "false"})
    counted = JobConfig.from_options({"store_metrics_after_completion": "true"})
    with pytest.raises(UsageError, match="needs metrics_enabled"):
        JobConfig.from_options({"metrics_enabled": False}, base=counted)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"snapshot_interval": "4 seconds"}, "give it 5 seconds or more"),
        ({"snapshot_interval": 0}, "give it 5 seconds or more"),
        ({"state_store": "memory"}, "leave out state_store=memory"),
        ({"engine": "shared"}, "leave out engine=shared, or set engine=own"),
    ],
)
def test_a_job_in_real_time_has_long_epochs_state_on_disk_and_an_engine_of_its_own(options, sentence):
    with pytest.raises(UsageError, match=f"^With execution=realtime, .*{sentence}, or leave the job in epochs"):
        JobConfig.from_options({"execution": "realtime"}, base=JobConfig.from_options(options))
    config = JobConfig.from_options({"execution": "realtime", "engine": "own"})
    assert (config.execution, config.engine_to_run_in) == (Execution.REALTIME, "own")
    assert JobConfig.from_options({"execution": "realtime"}).engine_to_run_in == "own"
    assert JobConfig.from_options({"engine": "shared"}).engine_to_run_in == "shared"
    assert JobConfig().engine_to_run_in is None


GOOD = {
    **{option.name: option.default if option.default is not None else 7 for option in OPTIONS},
    "initial_snapshot": "before",
    "requirements": ["six"],
    "spark": {"spark.sql.ansi.enabled": "false"},
    "renamed": "new=old",
    "allow_drop": "speed,trips",
    "seek": "orders=earliest",
}


@pytest.mark.parametrize("value", ["0", "5", "0.25", " 5 "])
def test_a_number_is_in_seconds_also_as_the_text_that_a_command_line_has(value):
    config = JobConfig.from_options({"snapshot_interval": value, "max_latency": value})
    assert (config.snapshot_interval_ms, config.max_latency_ms) == (float(value) * 1000, float(value) * 1000)


NUMBERS_OF = {"max_accumulated_records": 10**15, "partitions": 100_000, "weight": 100}
DURATIONS = (
    "snapshot_interval",
    "max_latency",
    "timeout",
    "max_ahead",
    "compile_timeout",
    "first_epoch_timeout",
    "epoch_timeout",
)
LIMITS = tuple(name for name in DURATIONS if name not in ("snapshot_interval", "max_latency", "max_ahead"))
WITHOUT_BAD_VALUES = {"initial_snapshot"}
"""Any text; whether there is a snapshot of that name is asked when the job is submitted."""
BAD_VALUES = {
    **{
        option.name: [(value, f"(Unsupported|Invalid) value for {option.name}: ") for value in ("perhaps", "", 2, [])]
        for option in OPTIONS
        if option.choices
    },
    **{
        name: [
            (0, f"{name} can't be less than 1: 0"),
            (-3, f"{name} can't be negative: -3"),
            (most + 1, f"{name} can't be more than {most:,}"),
            *((value, f"Invalid number for {name}: ") for value in ("many", 1.5, True, "", [1])),
        ]
        for name, most in NUMBERS_OF.items()
    },
    **{
        name: [
            ("soon", f"'soon' is no {name}: write a number and a unit"),
            ("5 parsecs", f"'5 parsecs' is no {name}"),
            ("-1 s", f"'-1 s' is no {name}"),
            (True, f"True is no {name}"),
            (-2, f"The {name} can't be negative"),
            ("4000000 days", f"The {name} is a hundred years at most"),
            *((value, f"{name} can't be 0, or less than a millisecond") for value in (0, "0 s", 0.0001) if name in LIMITS),
        ]
        for name in DURATIONS
    },
    "requirements": [(value, "The job option 'requirements' is ") for value in (7, {"six": 1}, [7], "[", "[1]")],
    "spark": [
        ("fast", "The job option 'spark' is a mapping"),
        ({"spark.sql.shuffle.partitions": 9}, "use the option partitions"),
    ],
    "restart": [
        *((value, "The option restart is not a strategy: ") for value in ("perhaps", "", 2, [], True)),
        ("fixed-delay tries=3", "The option restart has no parameter 'tries' for fixed-delay"),
        ({"type": "fixed-delay", "attempts": -3}, "restart, attempts, is from 1 to 1,000,000, not -3"),
    ],
    "renamed": [("new", "Write a renamed stage as new=old, not 'new'"), ("=old", "Write a renamed stage as new=old")],
    "engine": [(value, "cannot name an engine") for value in ("", "a/b", "..", "a b")],
    "allow_drop": [(value, "The job option 'allow_drop' is true, or a list") for value in (7, {"speed": True}, [7], "[", "[1]")],
    "seek": [
        (value, "The job option 'seek' is a source and its place, such as orders=2026-11-01T00:00")
        for value in (7, "orders", "orders=", "=earliest", "{", {"orders": 7}, ["orders=latest"])
    ],
}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("orders=earliest", {"orders": "earliest"}),
        ("orders=orders:0=17,orders:1=4", {"orders": "orders:0=17,orders:1=4"}),
        ('{"orders": "latest", "clicks": {"clicks": {"0": 5}}}', {"orders": "latest", "clicks": '{"clicks": {"0": 5}}'}),
        ({"orders": datetime(2026, 11, 1, 0, 30)}, {"orders": "2026-11-01T00:30:00"}),
        ({"orders": {"orders": {0: 17}}}, {"orders": '{"orders": {"0": 17}}'}),
    ],
)
def test_places_to_seek_are_read_from_text_and_mappings(written, read):
    config = JobConfig.from_options({"seek": written})
    assert config.seek == read
    assert from_json(JobConfig, to_json(config)) == config


def test_each_option_has_bad_values_here():
    assert {option.name for option in OPTIONS} == BAD_VALUES.keys() | WITHOUT_BAD_VALUES


@pytest.mark.parametrize(
    ("option", "value", "message"), [(option, value, message) for option, bad in BAD_VALUES.items() for value, message in bad]
)
def test_bad_values_are_told_with_the_option(option, value, message):
    with pytest.raises(UsageError, match=message) as refused:
        JobConfig.from_options({option: value})
    assert option in refused.value.message or option == "renamed"


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.fixed is not None], ids=lambda option: option.name)
def test_what_a_suspended_job_cannot_be_configured_with_is_refused_under_each_of_its_names(option):
    for name in option.readers:
        with pytest.raises(UsageError) as refused:
            JobConfig.refuse_fixed({name: GOOD[name]})
        assert refused.value.message == f"{option.name} is not supported for configure: {option.fixed}."


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.fixed is None], ids=lambda option: option.name)
def test_everything_else_it_can_be_configured_with(option):
    JobConfig.refuse_fixed({option.name: GOOD[option.name]})


@pytest.mark.parametrize("written", [-1, "-1", "none", "None", " none "])
@pytest.mark.parametrize("option", ["timeout", "timeout_ms", "max_accumulated_records"])
def test_an_option_that_was_set_is_taken_back(option, written):
    before = JobConfig.from_options({option: 60_000})
    assert before != JobConfig()
    assert JobConfig.from_options({option: written}, base=before) == JobConfig()


def test_what_is_given_goes_over_what_was_given_before_under_another_name():
    before = {"timeout_ms": 60_000, "partitions": 3, "timeout": "5 s"}
    for given in ({"timeout": "2 s"}, {"timeout_ms": 2000}):
        after = JobConfig.over(before, given)
        assert after == {"partitions": 3, **given}
        assert JobConfig.from_options(after).timeout_ms == 2000


def test_a_job_that_keeps_no_places_cannot_be_put_to_another_one():
    with pytest.raises(UsageError, match="a job with the guarantee none begins anew each time"):
        JobConfig.from_options({"processing_guarantee": "none", "seek": {"orders": "latest"}})
