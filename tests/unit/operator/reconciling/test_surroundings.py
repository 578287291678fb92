"""What all reconcilers share."""

from pitstop.operator.reconciling.surroundings import LATER_SECONDS, MOST_TIMES_LATER, Absences, Retries


def test_an_absence_is_counted_from_its_first_look_until_it_is_over():
    now = [100.0]
    absences = Absences(lambda: now[0])
    assert absences.seconds("one") == 0
    now[0] = 130.0
    assert (absences.seconds("one"), absences.seconds("two")) == (30, 0)
    absences.over("one")
    now[0] = 131.0
    assert (absences.seconds("one"), absences.seconds("two")) == (0, 1)


def test_what_is_missing_for_long_is_looked_for_ever_more_rarely():
    now, looks = [0.0], []
    retries = Retries(lambda: now[0])
    while now[0] < 24 * 3600:
        looks.append(now[0])
        pause = retries.still_refused("cluster", 1)
        assert retries.still_refused("cluster", 1) == pause  # whoever else looks makes it no later
        now[0] += pause
    assert looks[:4] == [0, LATER_SECONDS, 3 * LATER_SECONDS, 7 * LATER_SECONDS]
    assert looks[-1] - looks[-2] == LATER_SECONDS * MOST_TIMES_LATER
    assert len(looks) < 300  # in a day
    assert retries.still_refused("cluster", 2) == LATER_SECONDS  # another spec
