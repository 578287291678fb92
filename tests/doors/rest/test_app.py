"""The REST contract, against the application itself."""

import hashlib
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from pitstop.errors import EngineError, StoreError
from pitstop.model.job import DisplayStatus, JobState, Progress
from pitstop.model.operation import Export
from pitstop.rest.access import Access
from tests.doors.doors import application, brought_to, running

TOKEN = "the-long-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ACCESS = Access(TOKEN, frozenset({"testserver"}))
JOB = "0401-9f77-b9c0-0001"


@pytest.fixture
def http(state):
    with TestClient(application(state, ACCESS), headers=BEARER, raise_server_exceptions=False) as client:
        yield client


def problem(response):
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    assert body["detail"] == body["message"]
    assert body["type"] == f"urn:pitstop:{body['code'].lower()}"
    return body["code"], body["detail"]


def submit(http, text="", **body):
    files = {"request": (None, json.dumps({"artifact": "job.py"} | body)), "artifact": ("job.py", text.encode())}
    return http.post("/api/v1/jobs", files=files)


def test_a_job_is_submitted_with_its_file(http):
    response = submit(http, name="hello-world", args=["a", "b"], entry="m:f", options={"partitions": 2})
    assert response.status_code == 201
    job = response.json()
    assert (job["id"], job["name"], job["status"]) == (JOB, "hello-world", "NOT_RUNNING")
    assert job["submission_time"] == "2020-03-15T14:37:01.011000Z"
    source = job["source"]
    assert (Path(source["artifact"]).name, source["entry"], source["args"]) == ("job.py", "m:f", ["a", "b"])
    assert (job["config"]["partitions"], job["options"]) == (2, {"partitions": 2})
    assert job["progress"]["epoch"] == -1


def test_a_job_is_submitted_as_json_with_a_path_that_the_server_reads(http, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("# completes")
    assert http.post("/api/v1/jobs", json={"artifact": str(path)}).status_code == 201
    found = http.get("/api/v1/jobs/mine", params={"wait_for": "COMPLETED, FAILED", "timeout": 5})
    assert found.json()["status"] == "COMPLETED"


@pytest.mark.parametrize(
    "name", ["../../x.py", "/etc/cron.d/x.py", "a/../../../../x.py", "a\\..\\..\\x.py", "C:\\x.py", "~/x.py"]
)
def test_an_artifact_lies_in_the_folder_of_its_content_whatever_it_is_called(http, tmp_path, name):
    before = set(tmp_path.rglob("*.py"))
    files = {"request": (None, json.dumps({"artifact": name, "name": "named"})), "artifact": (name, b"x = 1")}
    assert http.post("/api/v1/jobs", files=files).status_code == 201
    (made,) = set(tmp_path.rglob("*.py")) - before
    assert made.parent == tmp_path / "data" / "artifacts" / hashlib.sha256(b"x = 1").hexdigest()
    assert made.name == name.rsplit("/", 1)[-1]
    assert made.resolve() == made


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("..", ".. is not an artifact: a job is a .py, .zip, .whl, .sql file."),
        ("../..", ".. is not an artifact: a job is a .py, .zip, .whl, .sql file."),
        ("..%2f..%2fx.py", "'..%2f..%2fx.py' cannot name an artifact:"),
        ("..\\..\\x.py", "cannot name an artifact:"),
        ("/.py", "'.py' cannot name an artifact:"),
        ("x.py/", " is not an artifact: a job is a .py, .zip, .whl, .sql file."),
        ("x.py\0", "is not an artifact:"),
        ("x\0.py", "cannot name an artifact:"),
        ("x\n.py", "cannot name an artifact:"),
        ("\u202eyp.x.py", "cannot name an artifact:"),
    ],
)
def test_an_artifact_whose_name_leads_elsewhere_is_refused_with_a_sentence(http, tmp_path, name, sentence):
    before = {path for path in tmp_path.rglob("*") if path.is_file() and "store" not in path.name}
    for route, more in (("/api/v1/jobs", {"name": "named"}), ("/api/v1/check", {})):
        files = {"request": (None, json.dumps({"artifact": name} | more)), "artifact": ("x.py", b"x = 1")}
        code, text = problem(http.post(route, files=files))
        assert code == "ARTIFACT"
        assert sentence in text
    assert {path for path in tmp_path.rglob("*") if path.is_file() and "store" not in path.name} == before


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"json": {"artifact": "a.py", "nmae": "x"}}, "The request is wrong at nmae: Extra inputs are not permitted."),
        ({"json": {"name": "x"}}, "The request is wrong at artifact: Field required."),
        (
            {"content": b"{", "headers": {"content-type": "application/json"}},
            "The body of the request cannot be read as JSON: EOF",
        ),
        (
            {"content": rb'{"artifact": "\ud800"}', "headers": {"content-type": "application/json"}},
            "The body of the request cannot be read as JSON: ",
        ),
        ({"content": b"x", "headers": {"content-type": "text/plain"}}, "Send application/json or multipart/form-data, not"),
        ({"files": {"request": (None, '{"artifact": "a.py"}'), "file": ("a.py", b"")}}, "The form has a part 'request'"),
        ({"files": {"artifact": ("a.py", b"")}}, "The form has a part 'request'"),
        ({"json": {"artifact": "a.py", "options": {"colour": "red"}}}, "Unknown job option: colour."),
    ],
)
def test_a_wrong_submission_is_refused_in_one_sentence(http, tmp_path, monkeypatch, sent, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").touch()
    response = http.post("/api/v1/jobs", **sent)
    code, told = problem(response)
    assert (response.status_code, code) == (400, "USAGE")
    assert told.startswith(sentence)
    assert http.get("/api/v1/jobs", params={"all": True}).json() == []


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "sentence"),
    [
        ("GET", "/api/v1/jobs/nosuch", 404, "NOT_FOUND", "No job with name or id 'nosuch' was found"),
        ("POST", "/api/v1/jobs/nosuch/cancel", 404, "NOT_FOUND", "No job with name or id 'nosuch' was found"),
        ("GET", "/api/v1/snapshots/nosuch", 404, "NOT_FOUND", "Didn't find a snapshot named 'nosuch'"),
        ("GET", "/api/v1/maps/m/entry?key=k", 404, "NOT_FOUND", "Map 'm' has no entry 'k'."),
        ("GET", "/nowhere", 404, "NOT_FOUND", "There is nothing at GET /nowhere: see /openapi.json for the routes."),
        ("GET", "/api/v1/jobs/", 404, "NOT_FOUND", "There is nothing at GET /api/v1/jobs/: see /openapi.json"),
        ("PATCH", "/api/v1/jobs", 405, "USAGE", "PATCH /api/v1/jobs is not possible: see /openapi.json for the methods."),
        ("GET", "/api/v1/jobs?all=perhaps", 400, "USAGE", "The request is wrong at all: "),
        ("GET", "/api/v1/jobs/x?wait_for=WALKING", 400, "USAGE", "'WALKING' names no job states; there are: NOT_RUNNING, "),
        ("GET", "/api/v1/jobs/x?wait_for=RUNNING&timeout=601", 400, "USAGE", "The request is wrong at timeout: "),
        ("GET", "/api/v1/maps/m/entries?limit=0", 400, "USAGE", "The request is wrong at limit: "),
    ],
)
def test_every_error_is_a_problem_with_its_code(http, method, path, status, code, sentence):
    response = http.request(method, path)
    assert response.status_code == status
    assert problem(response)[0] == code
    assert problem(response)[1].startswith(sentence)


def test_what_nobody_expected_is_a_problem_too(http, state, monkeypatch):
    def burst():
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(state, "snapshots", burst)
    response = http.get("/api/v1/snapshots")
    assert response.status_code == 500
    assert problem(response) == ("ENGINE", "The server failed on GET /api/v1/snapshots: RuntimeError: the disk is full")


def test_a_verb_answers_with_the_job_as_it_is_then(http, state):
    running(state)
    answers = [http.post(f"/api/v1/jobs/hello-world/{verb}").json()["status"] for verb in ("suspend", "resume")]
    assert answers[0] == "SUSPENDED"
    assert answers[1] in ("NOT_RUNNING", "STARTING", "RUNNING")
    waits = brought_to(state, JobState.NOT_RUNNING, "waits")
    response = http.post(f"/api/v1/jobs/{waits}/suspend")
    assert response.status_code == 409
    assert problem(response) == ("CONFLICT", "Cannot SUSPEND, job status is NOT_RUNNING, should be RUNNING")


def test_a_wait_that_is_too_long_is_told_with_its_own_status(http, state):
    brought_to(state, JobState.STARTING, "slow")
    response = http.get("/api/v1/jobs/slow", params={"wait_for": "RUNNING", "timeout": 0.05})
    assert response.status_code == 504
    assert problem(response) == ("TIMEOUT", "Job 'slow' is STARTING, not RUNNING, after 0 seconds.")


def test_a_snapshot_is_exported_listed_and_deleted(http, state):
    running(state)
    made = http.post(f"/api/v1/jobs/{JOB}/snapshots", json={"name": "s", "cancel": True})
    assert made.status_code == 201
    assert (made.json()["created"], made.json()["bytes"]) == ("2020-03-15T14:37:01.011000Z", 1196)
    assert http.get("/api/v1/snapshots").json() == [made.json()]
    assert http.get("/api/v1/snapshots/s").json() == json.loads(json.dumps(state.snapshot("s").to_dict()))
    assert http.get(f"/api/v1/jobs/{JOB}").json()["user_cancelled"] is True
    assert http.delete("/api/v1/snapshots/s").status_code == 204
    assert http.get("/api/v1/snapshots").json() == []


def test_the_log_is_paged_by_bytes(http, state):
    running(state)
    state.write_log(JOB, "ä\nb\n")
    first = http.get(f"/api/v1/jobs/{JOB}/logs", params={"limit": 1}).json()
    assert first == {"lines": ["ä"], "next": 3, "lost": 0}
    assert http.get(f"/api/v1/jobs/{JOB}/logs", params={"after": 3}).json() == {"lines": ["b"], "next": 5, "lost": 0}


def test_maps_speak_json(http):
    assert http.put("/api/v1/maps/cars", json={"journal_capacity": 2}).status_code == 204
    assert http.post("/api/v1/maps/cars/entries", json={"entries": {"a/b": {"x": [1, None]}, "c": "ä"}}).status_code == 204
    assert http.get("/api/v1/maps/cars/entry?key=a/b").json()["value"] == {"x": [1, None]}
    entry = http.get("/api/v1/maps/cars/entries", params={"after": "a/b"}).json()[0]
    moment = "2020-03-15T14:37:01.011000Z"
    assert entry == {"key": "c", "value": "ä", "created": moment, "updated": moment, "expires": None, "version": 1}
    assert http.delete("/api/v1/maps/cars/entry?key=c").json() == {"deleted": True}
    journal = http.get("/api/v1/maps/cars/journal", params={"after": 0}).json()
    assert [(e["kind"], e["old_value"], e["new_value"]) for e in journal["events"]] == [
        ("ADDED", None, "ä"),
        ("REMOVED", "ä", None),
    ]
    assert (journal["lost"], journal["oldest"], journal["newest"]) == (1, 2, 3)
    assert http.get("/api/v1/maps/cars/size").json() == {"size": 1}
    assert http.get("/api/v1/maps").json()[0]["journal_capacity"] == 2
    assert problem(http.put("/api/v1/maps/cars", json={"capacity": 2}))[0] == "USAGE"


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": TOKEN}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}]
)
def test_without_the_token_nothing_but_the_probes_answers(state, headers):
    http = TestClient(application(state, ACCESS))
    paths = [path for path, operations in http.get("/openapi.json").json()["paths"].items() if "get" in operations]
    for path in paths:
        response = http.get(path.replace("{", "").replace("}", ""), headers=headers)
        if path in ("/healthz", "/readyz", "/sign-in"):
            assert response.status_code == (400 if path == "/sign-in" else 200)
        else:
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert problem(response)[0] == "DENIED"
    assert problem(http.post("/api/v1/jobs", headers=headers))[0] == "DENIED"


def test_with_the_token_it_answers(state):
    http = TestClient(application(state, ACCESS), headers=BEARER)
    assert http.get("/api/v1/jobs").json() == []
    assert http.get("/metrics").status_code == 200


def test_the_pages_that_would_load_scripts_from_elsewhere_are_off(http):
    assert http.get("/redoc").status_code == 404
    # The documentation of Pitstop, if it is built, and never that of FastAPI.
    assert "cdn.jsdelivr.net" not in http.get("/docs/").text


def test_metrics_are_what_prometheus_reads(http, state):
    job = running(state, "a quoted name")
    stages = {"speed": {"late_rows": 7, "state_rows": 40, "state_bytes": 4096}, "cars": {"rows_in": 3}}
    state.advance(job, Progress(epoch=5, input_rows=1000, rows_per_second=12.5, epoch_ms=250, bad_rows=2, stages=stages))
    state.do(job, Export("s"))
    state.map_put("cars", {"a": "1", "b": "2"})
    ended = running(state, "ended", "# completes")
    response = http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }
    identity = (("id", job), ("job", "a quoted name"))
    assert samples["pitstop_job_epoch", identity] == 5
    assert samples["pitstop_job_input_rows_total", identity] == 1000
    assert samples["pitstop_job_rows_per_second", identity] == 12.5
    assert samples["pitstop_job_bad_rows_total", identity] == 2
    assert samples["pitstop_job_epoch_seconds", identity] == 0.25
    assert samples["pitstop_job_rows_total", tuple(sorted((*identity, ("fate", "late"))))] == 7
    of_stages = {(name, dict(labels)["stage"]): value for (name, labels), value in samples.items() if "_stage_" in name}
    assert of_stages == {
        ("pitstop_stage_late_rows_total", "speed"): 7,
        ("pitstop_stage_left_out_rows_total", "speed"): 7,
        ("pitstop_stage_state_rows", "speed"): 40,
        ("pitstop_stage_state_bytes", "speed"): 4096,
        ("pitstop_stage_rows_in_total", "cars"): 3,
    }
    reasons = {dict(labels)["reason"] for (name, labels) in samples if name == "pitstop_stage_left_out_rows_total"}
    assert reasons == {"late"}
    assert samples["pitstop_snapshot_bytes", (("job", "a quoted name"), ("snapshot", "s"))] == 1196
    assert samples["pitstop_map_entries", (("map", "cars"),)] == 2
    states = {
        dict(labels)["status"]: v
        for (name, labels), v in samples.items()
        if name == "pitstop_job_status" and identity[0] in labels
    }
    assert states == {state.value: float(state is DisplayStatus.RUNNING) for state in DisplayStatus}
    of_ended = {name: value for (name, labels), value in samples.items() if ("id", ended) in labels}
    assert of_ended == {"pitstop_job_status": 1.0}


def test_of_a_job_without_metrics_only_its_state_is_told(http, state):
    jobs = {enabled: running(state, f"counted-{enabled}", options={"metrics_enabled": enabled}) for enabled in ("true", "false")}
    for job in jobs.values():
        state.advance(job, Progress(epoch=5, input_rows=1000))
    families = text_string_to_metric_families(http.get("/metrics").text)
    told = {(sample.name, sample.labels.get("id")) for family in families for sample in family.samples}
    for name, of_all in (("pitstop_job_status", True), ("pitstop_job_epoch", False), ("pitstop_job_input_rows_total", False)):
        assert [(name, job) in told for job in jobs.values()] == [True, of_all], name


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/v1/maps/m", '{"journal_capacity": 1e30}'),
        ("PUT", "/api/v1/maps/m", '{"journal_capacity": 9223372036854775808}'),
        ("PUT", "/api/v1/maps/m", '{"ttl_seconds": 1e300}'),
        ("PUT", "/api/v1/maps/m", '{"ttl_seconds": NaN}'),
        ("PUT", "/api/v1/maps/m", '{"ttl_seconds": 1e400}'),
        ("POST", "/api/v1/maps/m/entries", '{"entries": {"k": "\\ud800"}}'),
        ("POST", "/api/v1/maps/m/entries", '{"entries": {"\\udc00": 1}}'),
        ("POST", "/api/v1/maps/m/entries", '{"entries": {"k": NaN}}'),
        ("POST", "/api/v1/maps/m/entries", '{"entries": {"k": [1e400]}}'),
        ("POST", "/api/v1/maps/m/entries", '{"entries": {"k": ' + "[" * 5000 + "]" * 5000 + "}}"),
        ("GET", "/api/v1/maps/m/journal?after=9223372036854775808", ""),
        ("GET", "/api/v1/jobs/x/logs?after=9223372036854775808", ""),
        ("GET", "/api/v1/jobs/x?wait_for=RUNNING&timeout=NaN", ""),
        ("POST", "/api/v1/jobs", '{"artifact": "a\\u0000.py"}'),
        ("POST", "/api/v1/jobs", '{"artifact": "' + "x" * 300 + '.py"}'),
        ("POST", "/api/v1/jobs", '{"artifact": "\\ud800.py"}'),
        ("POST", "/api/v1/jobs", '{"artifact": "ARTIFACT", "options": {"snapshot_interval": 1e308}}'),
        ("POST", "/api/v1/jobs", '{"artifact": "ARTIFACT", "options": {"snapshot_interval": 1e400}}'),
        ("POST", "/api/v1/jobs", '{"artifact": "ARTIFACT", "options": {"snapshot_interval": "9e999 days"}}'),
        ("POST", "/api/v1/jobs", '{"artifact": "ARTIFACT", "options": {"snapshot_interval_ms": 1e30}}'),
        ("POST", "/api/v1/jobs", '{"artifact": "ARTIFACT", "options": {"partitions": 99999999999999999999}}'),
        ("POST", "/api/v1/jobs", '{"artifact": "ARTIFACT", "name": "0401-9f77-b9c0-0001"}'),
    ],
)
def test_what_cannot_be_kept_is_refused_and_leaves_nothing(http, tmp_path, method, path, body):
    """Each of these once was an error of the server, or made every later read one."""
    artifact = tmp_path / "a.py"
    artifact.touch()
    content = body.replace("ARTIFACT", str(artifact))
    response = http.request(method, path, content=content, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert problem(response)[0] in ("USAGE", "ARTIFACT")
    for read in ("/api/v1/maps", "/api/v1/maps/m/entries", "/api/v1/maps/m/journal", "/api/v1/jobs?all=true", "/metrics"):
        assert http.get(read).status_code == 200
    assert http.get("/api/v1/jobs?all=true").json() == []


def test_the_largest_settings_of_a_map_can_be_read_again(http):
    most = {"journal_capacity": 1_000_000_000, "ttl_seconds": 100 * 366 * 86_400}
    assert http.put("/api/v1/maps/m", json=most).status_code == 204
    assert http.post("/api/v1/maps/m/entries", json={"entries": {"k": 1}}).status_code == 204
    assert http.get("/api/v1/maps/m/entries").json()[0]["expires"].startswith("2120-")


def test_a_store_that_an_older_release_has_poisoned_can_be_read(http, state):
    http.post("/api/v1/maps/m/entries", json={"entries": {"k": 1}})
    with state.registry._database.write_rows() as cursor:
        cursor.execute("UPDATE maps SET ttl_seconds = 1e300, journal_capacity = 9000000000000000000")
        cursor.execute("UPDATE map_entries SET expires = 1e300, value = 'NaN'")
    entry = http.get("/api/v1/maps/m/entries").json()[0]
    assert (entry["value"], entry["expires"][:4]) == ("NaN", "9999")
    assert http.get("/api/v1/maps").status_code == http.get("/api/v1/maps/m/journal").status_code == 200
    assert http.get("/api/v1/maps/m/entry?key=k").json()["value"] == "NaN"


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/jobs?all=true", f"/api/v1/jobs/{JOB}", "/api/v1/jobs/hello-world"])
def test_what_is_answered_quickly_is_what_the_routes_would_answer(http, state, path):
    """A parameter that changes nothing leads past the quick answer, through the routes."""
    running(state)
    longer = f"{path}{'&' if '?' in path else '?'}nothing=1"
    assert http.get(path).json() == http.get(longer).json()
    assert http.get(path).headers["content-type"] == http.get(longer).headers["content-type"]


def test_a_store_that_cannot_be_read_is_told_by_the_quick_answers_too(http, state, monkeypatch):
    def away(*arguments, **named):
        raise EngineError("The store is away.")

    for name in ("overview", "overview_of"):
        monkeypatch.setattr(state.registry, name, away)
    for path in ("/api/v1/jobs", f"/api/v1/jobs/{JOB}"):
        response = http.get(path)
        assert response.status_code == 500
        assert problem(response) == ("ENGINE", "The store is away.")


def test_an_entry_of_a_map_comes_with_its_version_and_times(http, state):
    state.map_configure("cars", ttl_seconds=60)
    assert http.post("/api/v1/maps/cars/entries", json={"entries": {"a": {"n": None}}, "expected_version": 0}).status_code == 204
    at, gone = "2020-03-15T14:37:01.011000Z", "2020-03-15T14:38:01.011000Z"
    found = http.get("/api/v1/maps/cars/entry?key=a").json()
    assert found == {"key": "a", "value": {"n": None}, "created": at, "updated": at, "expires": gone, "version": 1}
    refused = http.post("/api/v1/maps/cars/entries", json={"entries": {"a": 1}, "expected_version": 0})
    assert (refused.status_code, *problem(refused)) == (
        409,
        "CONFLICT",
        "Somebody else has written entry 'a' of map 'cars' meanwhile: it has version 1, and was expected to have "
        "version 0, which is none. Read it again.",
    )
    assert refused.json()["details"] == {"key": "a", "found": 1, "expected": 0}
    assert http.delete("/api/v1/maps/cars/entry?key=a&version=2").status_code == 409
    assert http.delete("/api/v1/maps/cars/entry?key=a&version=1").json() == {"deleted": True}


@pytest.mark.parametrize("version", [-1, 2**63, "x", 1.5])
def test_a_version_that_none_can_be_is_told(http, version):
    body = {"entries": {"a": 1}, "expected_version": version}
    assert problem(http.post("/api/v1/maps/cars/entries", json=body))[0] == "USAGE"
    assert problem(http.delete("/api/v1/maps/cars/entry", params={"key": "a", "version": version}))[0] == "USAGE"


def test_who_asks_without_a_token_whether_it_is_ready_learns_nothing_of_the_store(state, monkeypatch):
    def away():
        raise StoreError("The store postgresql://me@host/db?passfile=/d cannot be used: no route.")

    monkeypatch.setattr(state, "server_info", away)
    answer = TestClient(application(state, ACCESS)).get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["message"] == "The store does not answer: the log of the server says why."
    assert "postgresql" not in answer.text
