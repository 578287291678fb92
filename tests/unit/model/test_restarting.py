"""The option ``restart``: how it is written, and how long it waits."""

import pytest

from pitstop.errors import UsageError
from pitstop.model.config import JobConfig
from pitstop.model.restarting import RestartStrategy, StrategyKind, restart_text

FIXED = RestartStrategy(StrategyKind.FIXED_DELAY, attempts=10, delay_ms=5000, longest_delay_ms=5000)


@pytest.mark.parametrize(
    "written",
    [
        "fixed-delay attempts=10 delay=5s",
        "fixed-delay, attempts = 10, delay = 5 seconds",
        "FIXED_DELAY delay=5000ms attempts=10",
        {"type": "fixed-delay", "attempts": 10, "delay": 5},
        '{"type": "fixed-delay", "attempts": "10", "delay": "5 seconds"}',
    ],
)
def test_a_strategy_is_text_a_mapping_or_json(written):
    assert RestartStrategy.parse(written) == FIXED
    assert restart_text("restart", written) == "fixed-delay attempts=10 delay=5s"
    assert JobConfig.from_options({"restart": written}).restart_strategy == FIXED


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("none", "none"),
        ("exponential-delay", "exponential-delay"),
        ("exponential-delay max-backoff=60s backoff-multiplier=1.5", "exponential-delay"),
        ("exponential-delay initial_backoff=250ms", "exponential-delay initial-backoff=250ms"),
        ("exponential-delay attempts-before-reset-backoff=3", "exponential-delay attempts-before-reset-backoff=3"),
        ("fixed-delay attempts=infinite", "fixed-delay attempts=infinite"),
        (
            "failure-rate max-failures-per-interval=3 failure-rate-interval=5min delay=10s",
            "failure-rate max-failures-per-interval=3 failure-rate-interval=5min delay=10s",
        ),
    ],
)
def test_it_is_kept_as_the_shortest_text_and_read_again_as_the_same(written, text):
    assert restart_text("restart", written) == text
    assert RestartStrategy.parse(text) == RestartStrategy.parse(written)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("often", "is not a strategy: 'often'. Use none, fixed-delay, exponential-delay or failure-rate"),
        ("", "is not a strategy: ''"),
        (True, "is not a strategy: 'True'"),
        ({"attempts": 3}, "is not a strategy: ''"),
        ("{fixed", "which is not JSON"),
        ("none attempts=3", "no parameter 'attempts' for none. There are: none"),
        ("fixed-delay tries=3", "no parameter 'tries' for fixed-delay. There are: attempts, delay"),
        ("fixed-delay attempts=0", "restart, attempts, is from 1 to 1,000,000, not 0"),
        ("fixed-delay attempts=some", "restart, attempts, is a whole number, not 'some'"),
        ("fixed-delay delay=soon", "'soon' is no restart, delay"),
        ("exponential-delay backoff-multiplier=0.5", "is from 1 to 1000, not 0.5"),
        ("exponential-delay backoff-multiplier=nan", "is from 1 to 1000, not nan"),
        ("exponential-delay jitter-factor=2", "is from 0 to 1, not 2"),
        ("exponential-delay initial-backoff=2min", "max-backoff that is shorter than its initial-backoff"),
        ("failure-rate failure-rate-interval=0s", "can't be less than 1 millisecond"),
    ],
)
def test_what_is_no_strategy_is_refused_with_what_there_is(written, said):
    with pytest.raises(UsageError) as refused:
        JobConfig.from_options({"restart": written})
    assert said in refused.value.message


def test_delays_grow_to_the_longest_and_stay_within_their_jitter():
    strategy = RestartStrategy.parse("exponential-delay")
    delays = [strategy.delay_seconds(attempt, 0.0) for attempt in (1, 2, 3, 11, 12, 100_000)]
    assert delays == pytest.approx([1.0, 1.5, 2.25, 57.665, 60.0, 60.0], abs=0.001)
    assert strategy.delay_seconds(100, 1.0) == pytest.approx(66.0) == strategy.longest_seconds
    assert strategy.delay_seconds(100, -1.0) == pytest.approx(54.0)
    assert {FIXED.delay_seconds(attempt, 1.0) for attempt in (1, 7)} == {5.0}
