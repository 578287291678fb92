"""What all reconcilers share."""

from pitstop.operator.reconciling.surroundings import Absences


def test_an_absence_is_counted_from_its_first_look_until_it_is_over():
    now = [100.0]
    absences = Absences(lambda: now[0])
    assert absences.seconds("one") == 0
    now[0] = 130.0
    assert (absences.seconds("one"), absences.seconds("two")) == (30, 0)
    absences.over("one")
    now[0] = 131.0
    assert (absences.seconds("one"), absences.seconds("two")) == (0, 1)
