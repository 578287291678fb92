import pytest

from pitstop.errors import UsageError
from pitstop.kit import durations


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [("4 minutes", 240_000), ("15 s", 15_000), ("250 ms", 250), ("1.5 hours", 5_400_000), (10, 10_000), (0.5, 500)],
)
def test_durations_are_read_as_people_write_them(written, milliseconds):
    assert durations.milliseconds(written) == milliseconds


@pytest.mark.parametrize("written", ["soon", "4", "4 fortnights", "", "-3 s"])
def test_what_is_no_duration_is_refused_with_an_example(written):
    with pytest.raises(UsageError, match="such as '10 seconds'"):
        durations.milliseconds(written)


def test_negative_numbers_are_refused():
    with pytest.raises(UsageError, match="can't be negative"):
        durations.milliseconds(-1)


@pytest.mark.parametrize(("milliseconds", "text"), [(240_000, "4 minutes"), (86_400_000, "1 days"), (1, "1 milliseconds")])
def test_durations_are_told_to_spark_in_the_largest_whole_unit(milliseconds, text):
    assert durations.text(milliseconds) == text


@pytest.mark.parametrize(
    ("milliseconds", "words"), [(240_000, "4 minutes"), (3_600_000, "1 hour"), (1, "1 millisecond"), (11_000, "11 seconds")]
)
def test_people_are_told_one_hour(milliseconds, words):
    assert durations.words(milliseconds) == words
