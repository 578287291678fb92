"""Lists in pages: nothing is lost or given twice, whatever comes and goes between them."""

import pytest
from fastapi.testclient import TestClient

from pitstop.model.operation import Cancel, Export
from pitstop.rest.access import Access
from tests.doors.doors import application, request, running

TOKEN = "the-long-token"
ACCESS = Access(TOKEN, frozenset({"testserver"}))


@pytest.fixture
def http(state):
    with TestClient(application(state, ACCESS), headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client


def pages(http, path, between=lambda: None):
    """All pages of a list."""
    while path is not None:
        answer = http.get(path)
        assert answer.status_code == 200, answer.text
        yield answer.json()
        path = answer.links.get("next", {}).get("url")
        between()


def test_jobs_come_in_pages_that_are_the_list(http, state):
    ids = [running(state, f"job-{number}") for number in range(5)]
    whole = [job["id"] for job in http.get("/api/v1/jobs").json()]
    assert sorted(whole) == ids
    found = [[job["id"] for job in page] for page in pages(http, "/api/v1/jobs?limit=2")]
    assert ([len(page) for page in found], [job for page in found for job in page]) == ([2, 2, 1], sorted(whole))


def test_what_is_there_all_the_time_comes_once_whatever_goes_meanwhile(http, state):
    for number in range(6):
        state.map_put(f"map-{number}", {"a": 1})
    state.map_put("other", {"a": 1})
    path, found = "/api/v1/maps?limit=2&name=map", []
    first = http.get(path)
    found += [facts["name"] for facts in first.json()]
    state.map_put("map-00", {"a": 1})
    state.map_put("map-11", {"a": 1})
    for page in pages(http, first.links["next"]["url"]):
        found += [facts["name"] for facts in page]
    assert found == ["map-0", "map-1", "map-11", "map-2", "map-3", "map-4", "map-5"]


def test_artifacts_come_in_pages_that_are_the_list_also_where_several_have_one_name(http, state):
    for number in range(5):
        running(state, f"job-{number}", f"# {number}")
    whole = http.get("/api/v1/artifacts").json()
    assert [artifact["name"] for artifact in whole] == ["job.py"] * 5
    found = list(pages(http, "/api/v1/artifacts?limit=2&name=job"))
    assert ([len(page) for page in found], [artifact for page in found for artifact in page]) == ([2, 2, 1], whole)
    assert http.get("/api/v1/artifacts?name=nosuch").json() == []


def test_what_ended_jobs_keep_comes_in_pages_the_largest_first(http, state):
    ids = [running(state, f"job-{number}") for number in range(5)]
    for number, job in enumerate(ids):
        state.do(job, Cancel())
        lineage = state.job(job).lineage
        (state.log_of(job).parent / f"checkpoint-{lineage}" / "more").write_bytes(b" " * (number % 3) * 1_000)
    whole = http.get("/api/v1/kept-states").json()
    assert [kept["bytes"] for kept in whole] == sorted((kept["bytes"] for kept in whole), reverse=True)
    assert [kept["id"] for kept in whole] == [ids[number] for number in (2, 1, 4, 0, 3)]
    found = list(pages(http, "/api/v1/kept-states?limit=2"))
    assert ([len(page) for page in found], [kept for page in found for kept in page]) == ([2, 2, 1], whole)


def test_versions_come_in_pages_the_newest_first(http, state):
    job = running(state)
    for text in ("# 2", "# 3", "# 4"):
        state.update(job, request(text=text))
    found = list(pages(http, f"/api/v1/jobs/{job}/versions?limit=3"))
    assert [[version["number"] for version in page] for page in found] == [[4, 3, 2], [1]]


def test_members_come_in_pages_by_name(http, state):
    for _ in range(4):
        state.add_member()
    whole = http.get("/api/v1/cluster").json()["members"]
    found = list(pages(http, "/api/v1/cluster/members?limit=2"))
    assert [len(page) for page in found] == [2, 2, 1]
    assert [member for page in found for member in page] == sorted(whole, key=lambda member: member["name"])


def test_lists_are_narrowed_by_state_name_and_job(http, state):
    first, second = running(state, "cars"), running(state, "cars-too")
    state.do(second, Cancel())
    for name, job in (("one", first), ("two", first)):
        state.do(job, Export(name))

    def names(path, key="name"):
        return [found[key] for found in http.get(path).json()]

    assert names("/api/v1/jobs?name=cars") == ["cars"]
    assert sorted(names("/api/v1/jobs?name=cars&all=true")) == ["cars", "cars-too"]
    assert names("/api/v1/jobs?status=FAILED") == ["cars-too"]
    assert names("/api/v1/jobs?status=SUSPENDED&status=RUNNING", "id") == [first]
    assert names(f"/api/v1/jobs?name={second}&all=true") == ["cars-too"]
    assert names("/api/v1/snapshots?job=cars&name=tw") == names(f"/api/v1/snapshots?job={first}&name=tw") == ["two"]
    assert names("/api/v1/snapshots?job=nobody") == []


@pytest.mark.parametrize(
    "cursor", ["x", "", "bm9uZQ", "W10", "eyJhIjoxfQ", "W251bGxd", "\u00e4", "W1tbW1tb" * 200, "W3siYSI6MX1d"]
)
@pytest.mark.parametrize("path", ["jobs", "maps", "snapshots", "artifacts", "kept-states", "cluster/members"])
def test_a_cursor_that_is_none_is_told(http, state, path, cursor):
    job = running(state)
    state.do(job, Export("one"))
    state.map_put("cars", {"a": 1})
    state.do(running(state, "ended"), Cancel())
    answer = http.get(f"/api/v1/{path}", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (400, "USAGE")
    assert http.get(f"/api/v1/{path}", params={"limit": 0}).status_code == 400
