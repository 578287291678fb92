"""What a server whose settings are not the usual ones answers."""

import pytest
from fastapi.testclient import TestClient

from pitstop.model.job import JobState
from pitstop.model.job_event import StateChange
from pitstop.model.retention import KEPT, USUAL, Retention
from pitstop.rest.access import Access
from tests.doors import doors
from tests.doors.doors import MOMENT, running

OPERATOR, VIEWER = "the-long-token", "the-token-of-viewers"
ACCESS = Access(OPERATOR, frozenset({"testserver"}), VIEWER)
DAY = 86_400
SET = Retention(20, 30 * DAY, 5400, 15, 3, 500, 60, 2 * DAY)
WRITTEN = ["20", "30 days", "90 minutes", "15", "3", "500", "1 minute", "2 days"]


@pytest.fixture
def state(tmp_path):
    found = doors.service(tmp_path / "data", SET)
    yield found
    found.close()


@pytest.fixture
def http(state):
    with TestClient(doors.application(state, ACCESS), headers={"Authorization": f"Bearer {VIEWER}"}) as client:
        yield client


def test_everybody_who_may_look_sees_what_is_in_force_and_what_is_usual(http):
    answer = http.get("/api/v1/settings")
    assert answer.status_code == 200
    usual = USUAL.written()
    assert answer.json() == {
        "keep": [
            {"name": kept.name, "value": value, "usual": usual[kept.name], "meaning": kept.meaning}
            for kept, value in zip(KEPT, WRITTEN, strict=True)
        ]
    }
    assert http.get("/api/v1/settings", headers={"Authorization": "Bearer wrong"}).status_code == 401


@pytest.mark.parametrize(("cancelled", "until"), [(True, "2020-03-15T16:07:01.011"), (False, "2020-04-14T14:37:01.011")])
def test_a_job_tells_until_when_the_settings_let_it_keep_its_state(http, state, cancelled, until):
    job = running(state, text="# stage: speed bigint")
    state.put(job, state=JobState.FAILED, failure="x", completion_time=MOMENT, user_cancelled=cancelled)
    assert http.get(f"/api/v1/jobs/{job}").json()["state_kept_until"].startswith(until)
    (kept,) = http.get("/api/v1/kept-states").json()
    assert kept["until"].startswith(until)


def test_events_beyond_what_the_settings_keep_are_told_as_lost(http, state):
    job = running(state)
    for _ in range(30):
        state.registry.add_event(job, StateChange(MOMENT, JobState.RUNNING, JobState.NOT_RUNNING, "again", False))
    page = http.get(f"/api/v1/jobs/{job}/events", params={"after": 1}).json()
    assert len(page["events"]) == 15
    assert page["lost"] == page["next"] - 15 - 1
