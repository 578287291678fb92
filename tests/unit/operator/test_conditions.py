from datetime import UTC, datetime, timedelta

import pytest

from pitstop.operator.conditions import OUTLOOKS, conditions_of
from pitstop.operator.resources import ClusterPhase, JobPhase, MapState, SnapshotState

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


def said(conditions):
    return {each.type: each.status.value for each in conditions}


def test_every_phase_has_an_outlook():
    assert set(OUTLOOKS) == {*ClusterPhase, *JobPhase, *MapState, *SnapshotState}


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        (JobPhase.RUNNING, {"Ready": "True", "Progressing": "False", "Degraded": "False"}),
        (JobPhase.STARTING, {"Ready": "False", "Progressing": "True", "Degraded": "False"}),
        (JobPhase.EXECUTION_FAILED, {"Ready": "False", "Progressing": "False", "Degraded": "True"}),
    ],
)
def test_conditions_say_what_a_phase_means(phase, expected):
    assert said(conditions_of(phase, None, [], 1, NOW)) == expected


def test_a_condition_keeps_the_time_since_when_it_is_so():
    first = conditions_of(JobPhase.STARTING, None, [], 1, NOW)
    then = {each.type: each for each in conditions_of(JobPhase.RUNNING, "up", first, 2, LATER)}
    assert then["Ready"].last_transition_time == then["Progressing"].last_transition_time == LATER
    assert then["Degraded"].last_transition_time == NOW
    assert (then["Ready"].reason, then["Ready"].message, then["Ready"].observed_generation) == ("Running", "up", 2)
