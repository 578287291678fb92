"""Epochs are kept within the snapshot interval, but for what they cost beside their rows."""

import random

import pytest

from pitstop.spark.base.admission import COLD, SMALLEST, Admission, Costs, Epoch, Throttle, costs_of, next_share

USUAL = 400_000
"""Rows of an epoch at the whole share."""


class Machine:
    """Runs epochs of a job that always has rows to read: each takes ``rest_ms`` and ``row_ms`` a row."""

    def __init__(self, folder, interval_ms, rest_ms, row_ms=0.01):
        self.admission = Admission(folder / f"{interval_ms}.json", interval_ms)
        self.rest_ms, self.row_ms = rest_ms, row_ms
        self._planned = 1.0

    def run(self, epochs, delay=lambda: 0):
        """The rows a second of so many epochs; ``delay`` is what each takes longer for reasons of its own, in ms."""
        rows, ms = 0, 0.0
        for _ in range(epochs):
            # Spark plans an epoch before what the one before it took is known.
            brought = max(1, int(USUAL * self._planned))
            self._planned = self.admission.share
            took = self.rest_ms + self.row_ms * brought + delay()
            self.admission.epoch_took(brought, int(took))
            rows, ms = rows + brought, ms + took
            self.last_ms = took
        return rows / ms * 1000


def test_epochs_end_within_an_interval_that_leaves_their_rows_time(tmp_path):
    machine = Machine(tmp_path, 1000, rest_ms=50)
    machine.run(20)
    assert 500 < machine.last_ms <= 1000 * 1.25


@pytest.mark.parametrize("rest_ms", [100, 300, 600, 900, 1100, 2400, 10_000])
def test_a_short_interval_reads_at_four_fifths_of_the_speed_of_a_long_one(tmp_path, rest_ms):
    speeds = [Machine(tmp_path, interval_ms, rest_ms).run(60) for interval_ms in (1000, 10_000)]
    assert speeds[0] >= 0.8 * speeds[1]


def test_epochs_that_are_late_for_reasons_other_than_their_rows_do_not_shrink_the_share(tmp_path):
    machine = Machine(tmp_path, 1000, rest_ms=5000, row_ms=0.0001)
    machine.run(5)
    assert machine.admission.share == 1.0


def test_the_share_rises_again_when_the_machine_is_quick_again(tmp_path):
    machine = Machine(tmp_path, 1000, rest_ms=50, row_ms=0.5)
    machine.run(20)
    assert machine.admission.share < 0.01
    machine.row_ms = 0.001
    machine.run(20)
    assert machine.admission.share == 1.0


def test_cold_epochs_at_the_start_cost_a_step_or_two(tmp_path):
    machine, shares = Machine(tmp_path, 1000, rest_ms=400, row_ms=0.005), []
    for cold in (10_000, 6_000, 2_000, 1_000, 500, 0, 0, 0):
        machine.run(1, lambda cold=cold: cold)
        shares.append(machine.admission.share)
    assert min(shares) >= 0.25


def test_one_long_epoch_among_others_changes_little(tmp_path):
    machine = Machine(tmp_path, 1000, rest_ms=50, row_ms=0.0015)
    machine.run(10)
    assert machine.admission.share == 1.0
    machine.run(1, lambda: 60_000)
    machine.run(3)
    assert machine.admission.share == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_however_unsteady_a_machine_is_its_share_does_not_collapse(tmp_path, seed):
    drawn = random.Random(seed)
    unsteady = lambda: drawn.expovariate(1 / 800)  # noqa: E731
    short, long = Machine(tmp_path, 1000, rest_ms=600), Machine(tmp_path, 10_000, rest_ms=600)
    assert short.run(200, unsteady) >= 0.6 * long.run(200, unsteady)


def test_costs_are_those_by_which_the_epochs_were_made():
    assert costs_of([Epoch(100, 1200), Epoch(200, 1400), Epoch(400, 1800)]) == Costs(2.0, 1000.0)


def test_epochs_of_equal_rows_tell_nothing_of_a_row_and_leave_what_is_known():
    assert costs_of([Epoch(100, 1200), Epoch(100, 1200)]) == Costs(12.0, 0.0)
    assert costs_of([Epoch(100, 1200), Epoch(100, 1200)], row_ms=2.0) == Costs(2.0, 1000.0)


@pytest.mark.parametrize(
    ("share", "rows", "allowed", "expected"),
    [(1.0, 100, 70, 0.7), (1.0, 100, 10, 0.5), (SMALLEST, 100, 1, SMALLEST), (0.5, 100, 90, 0.5), (0.25, 100, 500, 0.5)],
)
def test_a_share_changes_by_half_or_to_the_double_at_most_and_not_for_little(share, rows, allowed, expected):
    assert next_share(share, rows, allowed) == expected


def test_an_interval_of_zero_asks_for_nothing(tmp_path):
    admission = Admission(tmp_path / "admission.json", 0)
    assert not admission.epoch_took(10, 1_000_000)


def test_a_source_sees_a_changed_share_and_always_brings_something(tmp_path):
    path = tmp_path / "work" / "admission.json"
    throttle, admission = Throttle(str(path)), Admission(path, 1000)
    assert throttle.limited(10_000) == 10_000
    assert [admission.epoch_took(10_000, 1_000_000) for _ in range(COLD + 1)] == [False] * COLD + [True]
    assert throttle.limited(10_000) == 5_000
    path.write_text('{"share": 0.0009765625}')
    assert throttle.limited(10) == 1
    assert Throttle(None).limited(7) == 7
