import dataclasses

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.kit.jsonable import from_json, to_json
from pitstop.model.config import OPTIONS, JobConfig, ProcessingGuarantee


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
        ({"state_store": "paper"}, "Unsupported value for state_store: paper. Use rocksdb or memory"),
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


@pytest.mark.parametrize("written", [7, {"six": 1}, [7], "[", "[1]"])
def test_requirements_that_are_no_list_are_refused(written):
    with pytest.raises(UsageError, match=r"^The job option 'requirements' is "):
        JobConfig.from_options({"requirements": written})


def test_requirements_in_code_would_come_too_late():
    with pytest.raises(UsageError, match=r"^What a job requires is needed before its code is loaded: "):
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


def test_metrics_that_are_not_counted_cannot_be_stored():
    with pytest.raises(UsageError, match="store_metrics_after_completion needs metrics_enabled"):
        JobConfig.from_options({"store_metrics_after_completion": True, "metrics_enabled": "false"})
    counted = JobConfig.from_options({"store_metrics_after_completion": "true"})
    with pytest.raises(UsageError, match="needs metrics_enabled"):
        JobConfig.from_options({"metrics_enabled": False}, base=counted)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("timeout", "-1 s", "is no timeout"),
        ("timeout", -1, "The timeout can't be negative"),
        ("max_accumulated_records", 0, "max_accumulated_records can't be less than 1: 0"),
        ("max_accumulated_records", "many", "Invalid number for max_accumulated_records: many"),
        ("metrics_enabled", "perhaps", "Invalid value for metrics_enabled: perhaps. Use true or false."),
        ("require_snapshot_before_processing", 2, "Invalid value for require_snapshot_before_processing: 2. Use true or false."),
    ],
)
def test_bad_values_are_told_with_the_option(option, value, message):
    with pytest.raises(UsageError, match=message):
        JobConfig.from_options({option: value})
