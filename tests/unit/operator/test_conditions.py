from datetime import UTC, datetime, timedelta

import pytest

from pitstop.operator.conditions import GOOD, OUTLOOKS, conditions_of
from pitstop.operator.resources.cluster import ClusterPhase
from pitstop.operator.resources.job import JobPhase
from pitstop.operator.resources.map import MapState
from pitstop.operator.resources.snapshot import SnapshotState

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


def said(conditions):
    return {each.type: each.status.value for each in conditions}


def test_every_phase_has_an_outlook():
    for phases in (ClusterPhase, JobPhase, MapState, SnapshotState):
        assert set(OUTLOOKS[phases]) == set(phases)


def test_phases_that_are_called_alike_may_mean_different_things():
    """A job that cannot be submitted is tried again, a snapshot that has failed is not."""
    stalled = [said(conditions_of(phase, None, [], 1, NOW))["Stalled"] for phase in (JobPhase.FAILED, SnapshotState.FAILED)]
    assert stalled == ["False", "True"]


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        (JobPhase.RUNNING, {"Ready": "True", "Progressing": "False", "Degraded": "False", "Stalled": "False"}),
        (JobPhase.STARTING, {"Ready": "False", "Progressing": "True", "Degraded": "False", "Stalled": "False"}),
        (JobPhase.EXECUTION_FAILED, {"Ready": "False", "Progressing": "False", "Degraded": "True", "Stalled": "True"}),
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


def test_a_resource_may_mean_something_else_by_its_phase():
    """Such as a job that was cancelled because its spec says so."""
    assert said(conditions_of(JobPhase.EXECUTION_FAILED, None, [], 1, NOW, GOOD))["Ready"] == "True"
