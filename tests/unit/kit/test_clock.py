"""Moments as text, of every year that Spark can have."""

import pytest

from pitstop.kit.clock import iso, milliseconds_of

MOMENTS = [
    (0, "1970-01-01T00:00:00.000"),
    (1_584_283_021.011, "2020-03-15T14:37:01.011"),
    (-62_135_596_800, "0001-01-01T00:00:00.000"),
    (253_402_300_799.5, "9999-12-31T23:59:59.500"),
    (253_402_300_800, "+010000-01-01T00:00:00.000"),
    # As java.time.Instant shows them, but for the number of digits.
    (1_767_225_780_000, "+057971-02-27T02:00:00.000"),
    (9_223_372_036_854.5, "+294247-01-10T04:00:54.500"),
    (-62_135_596_801, "+000000-12-31T23:59:59.000"),
    (-9_223_372_036_854, "-290308-12-21T19:59:06.000"),
]


@pytest.mark.parametrize(("seconds", "text"), MOMENTS)
def test_each_moment_has_a_text_and_the_text_means_that_moment(seconds, text):
    assert iso(seconds) == text
    assert milliseconds_of(text) == milliseconds_of(f"{text}Z") == round(seconds * 1000)


def test_what_is_no_moment_is_refused():
    assert milliseconds_of("57971-02-27T02:00:00.000Z") == 1_767_225_780_000_000, "as Spark may write it"
    assert iso(None) is None
    for text in ("", "never", "2026-01-01", "2026-13-01T00:00:00"):
        with pytest.raises(ValueError, match=r"ISO 8601|month|format"):
            milliseconds_of(text)
