"""What the log says of event times."""

from datetime import datetime

from pitstop.spark.running.concerns import Concerns

NOW = 1_767_268_800
DAY_MS = 86_400_000


def concerns():
    told = []
    return Concerns(lambda level, logger, message: told.append(message), lambda: NOW), told


def test_late_rows_are_told_at_the_first_and_whenever_they_have_doubled():
    it, told = concerns()
    before = 100  # in earlier runs
    for dropped in (0, 3, 1, 2, 0, 50):
        it.left_out({"s": {"late_rows": before + dropped}, "t": {}}, {"s": {"late_rows": before}}, NOW * 1000)
        before += dropped
    assert [int(message.split(" has dropped ")[1].split()[0]) for message in told] == [3, 6, 56]
    assert told[0] == "stage 's' has dropped 3 late rows in this run: they are behind the watermark (2026-01-01T12:00:00.000)"


def test_a_watermark_a_day_ahead_of_the_clock_is_told_once():
    it, told = concerns()
    for watermark in (None, 0, -5, NOW * 1000, NOW * 1000 + DAY_MS - 1):
        it.watermark(watermark)
    assert told == []
    it.watermark(253_402_300_799_000)
    it.watermark(253_402_300_799_001)
    assert len(told) == 1
    days = (datetime(9999, 12, 31, 23, 59, 59) - datetime(2026, 1, 1, 12)).days
    assert f"the watermark is at 9999-12-31T23:59:59.000, {days:,} days or more ahead of the clock" in told[0]
    assert "max_ahead" in told[0]
