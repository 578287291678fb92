"""Which stages are idle, and where their watermarks go."""

from pitstop.spark.lowering.clock_time import ClockTime
from pitstop.spark.running.idle import IdleClock


def clock(**timeouts):
    return IdleClock(timeouts, now=100.0)


def test_an_idle_stage_follows_the_lowest_of_the_others():
    it = clock(a=30, b=0, c=0)
    for stage, watermark in (("a", 1000), ("b", 5000), ("c", 7000)):
        it.saw(stage, watermark, 110.0)
    assert it.raised(139.9) == {}
    assert it.raised(140.0) == {"a": 5000}
    assert it.idle == {"a"}
    assert it.raised(141.0) == {}
    it.saw("b", 6000, 142.0)
    assert it.raised(142.0) == {"a": 6000}


def test_a_stage_that_never_had_rows_counts_until_its_timeout_is_over_since_the_start():
    it = clock(a=30, b=30)
    it.saw("b", 5000, 129.0)
    assert it.raised(129.0) == {}
    assert it.raised(130.0) == {"a": 5000}
    without = clock(a=0, b=30)
    without.saw("b", 5000, 129.0)
    assert without.raised(1000.0) == {}


def test_a_stage_with_rows_again_counts_again_and_does_not_go_back():
    it = clock(a=30, b=0)
    it.saw("b", 5000, 120.0)
    assert it.raised(130.0) == {"a": 5000}
    it.saw("a", 2000, 131.0)
    it.saw("b", 9000, 131.0)
    assert it.raised(131.0) == {}
    assert it.idle == set()
    assert it.raised(161.0) == {"a": 9000}


def test_when_all_are_idle_they_go_up_to_the_highest_once():
    it = clock(a=10, b=10, c=10)
    it.saw("a", 1000, 100.0)
    it.saw("b", 5000, 105.0)
    assert it.raised(115.0) == {"a": 5000, "c": 5000}
    assert it.raised(1000.0) == {}
    assert clock(a=10).raised(1000.0) == {}


def test_a_stage_that_is_not_known_counts_and_is_never_idle():
    it = clock(a=10)
    it.saw("of the user's own", 3000, 100.0)
    it.saw("a", 1000, 100.0)
    assert it.raised(1000.0) == {"a": 3000}
    assert it.idle == {"a"}


def test_a_query_that_takes_the_place_of_another_knows_when_rows_came():
    before = clock(a=30, b=0)
    before.saw("a", 1000, 105.0)
    it = IdleClock({"a": 30, "b": 0}, 130.0, before.last_rows)
    it.saw("b", 5000, 131.0)
    assert it.raised(134.0) == {}
    assert it.raised(135.0) == {"a": 5000}


def test_a_stage_of_ingestion_time_follows_the_clock_when_asked_to_and_never_goes_back():
    it = IdleClock({"a": 0, "b": 10}, 100.0, by_clock=frozenset({"a"}))
    it.saw("a", 1000, 101.0)
    it.saw("b", 500, 101.0)
    assert it.raised(105.0) == {}
    assert it.raised(105.0, 3000) == {"a": 3000}
    assert it.raised(106.0, 2000) == {}
    assert it.raised(111.0, 4000) == {"a": 4000, "b": 4000}
    assert it.idle == {"b"}


def test_state_may_end_when_the_clock_has_passed_the_end_of_a_window():
    it = ClockTime(frozenset({"a"}), (60_000, 10_000), (True,))
    assert [it.passes(119_999, now) for now in (119_999, 120_000)] == [False, True]
    assert [it.passes(120_000, now) for now in (129_999, 130_000)] == [False, True]
    assert it.look_seconds == 10.0
    assert ClockTime(frozenset({"a"}), (200,), (True,)).look_seconds == 0.5
