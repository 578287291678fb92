import pytest

from pitstop.errors import UsageError
from pitstop.model.config import JobConfig, ProcessingGuarantee


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
    assert JobConfig.from_options(config.to_dict()) == config
