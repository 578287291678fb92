"""Epochs are kept within the snapshot interval."""

import pytest

from pitstop.spark.base.admission import SMALLEST, Admission, Throttle, next_share


@pytest.mark.parametrize(
    ("share", "took", "expected"),
    [(1.0, 12_000, 0.5), (0.5, 12_000, 0.25), (SMALLEST, 12_000, SMALLEST), (0.5, 7_000, 0.5), (0.5, 4_000, 1.0), (1.0, 10, 1.0)],
)
def test_slow_epochs_halve_the_share_and_quick_ones_double_it(share, took, expected):
    assert next_share(share, took, 10_000) == expected


def test_an_interval_of_zero_asks_for_nothing():
    assert next_share(1.0, 1_000_000, 0) == 1.0


def test_a_source_sees_a_changed_share_and_always_brings_something(tmp_path):
    path = tmp_path / "work" / "admission.json"
    throttle, admission = Throttle(str(path)), Admission(path, 1000)
    assert throttle.limited(10_000) == 10_000
    assert admission.epoch_took(1500)
    assert throttle.limited(10_000) == 5_000
    while admission.share > SMALLEST:
        admission.epoch_took(1500)
    assert throttle.limited(10) == 1
    assert Throttle(None).limited(7) == 7
