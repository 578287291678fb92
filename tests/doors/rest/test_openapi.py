"""The description at /openapi.json is complete, and says what the server does."""

import dataclasses
from collections.abc import Iterator

import pytest
from fastapi.openapi.models import OpenAPI
from fastapi.testclient import TestClient

from pitstop.errors import ConflictError
from pitstop.maps.model import Entry, JournalEvent
from pitstop.model.job import Job, JobSource, Progress
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.plan.diff import Report, StageVerdict, Verdict, Way
from pitstop.rest import models
from pitstop.rest.app import create_app
from tests.doors.doors import service as in_memory


@pytest.fixture(scope="module")
def document():
    return TestClient(create_app(in_memory())).get("/openapi.json").json()


def operations(document):
    return [(path, verb, operation) for path, item in document["paths"].items() for verb, operation in item.items()]


def references(node) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_it_is_openapi_3_1_and_every_reference_leads_somewhere(document):
    assert document["openapi"].startswith("3.1")
    OpenAPI.model_validate(document)
    for reference in references(document):
        node = document
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]


def test_it_holds_every_noun_and_verb(document):
    assert {(verb.upper(), path) for path, verb, _ in operations(document)} == {
        ("POST", "/api/v1/jobs"),
        ("GET", "/api/v1/jobs"),
        ("GET", "/api/v1/jobs/{job}"),
        ("POST", "/api/v1/jobs/{job}/suspend"),
        ("POST", "/api/v1/jobs/{job}/resume"),
        ("POST", "/api/v1/jobs/{job}/restart"),
        ("POST", "/api/v1/jobs/{job}/cancel"),
        ("POST", "/api/v1/jobs/{job}/snapshots"),
        ("POST", "/api/v1/snapshots/{name}/stages/{stage}/query"),
        ("GET", "/api/v1/snapshots/{name}/stages/{stage}/state"),
        ("PUT", "/api/v1/snapshots/{name}/stages/{stage}/state"),
        ("GET", "/api/v1/jobs/{job}/metrics"),
        ("GET", "/api/v1/jobs/{job}/logs"),
        ("POST", "/api/v1/check"),
        ("POST", "/api/v1/jobs/{job}/update"),
        ("GET", "/api/v1/snapshots"),
        ("GET", "/api/v1/snapshots/{name}"),
        ("DELETE", "/api/v1/snapshots/{name}"),
        ("GET", "/api/v1/maps"),
        ("PUT", "/api/v1/maps/{name}"),
        ("GET", "/api/v1/maps/{name}/size"),
        ("GET", "/api/v1/maps/{name}/entries"),
        ("POST", "/api/v1/maps/{name}/entries"),
        ("GET", "/api/v1/maps/{name}/entry"),
        ("DELETE", "/api/v1/maps/{name}/entry"),
        ("GET", "/api/v1/maps/{name}/journal"),
        ("GET", "/api/v1/cluster"),
        ("GET", "/metrics"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    }


def test_every_operation_is_named_described_typed_and_tells_its_errors(document):
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names)
    for path, verb, operation in operations(document):
        where = f"{verb} {path}"
        assert operation["summary"], where
        assert operation["description"], where
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), f"{where} {parameter['name']}"
        for status, response in operation["responses"].items():
            if status in ("4XX", "5XX"):
                assert list(response["content"]) == ["application/problem+json"], where
            elif status != "204":
                assert all(media["schema"] for media in response["content"].values()), where
        assert {"4XX", "5XX"} <= set(operation["responses"]), where


def test_every_field_of_every_schema_is_described(document):
    bare = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, facts in schema.get("properties", {}).items()
        if not facts.get("description")
    ]
    assert bare == []


def test_only_the_probes_need_no_token(document):
    free = {path for path, _, operation in operations(document) if not operation.get("security")}
    assert free == {"/healthz", "/readyz"}
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"


def test_both_ways_to_submit_are_described(document):
    content = document["paths"]["/api/v1/jobs"]["post"]["requestBody"]["content"]
    assert set(content) == {"application/json", "multipart/form-data"}
    assert content["multipart/form-data"]["schema"]["properties"]["request"] == content["application/json"]["schema"]
    assert content["application/json"]["schema"]["required"] == ["artifact"]


REPORT = Report((StageVerdict("a", Verdict.NEW, "starts empty", "C01"),), Way.REBUILD).to_dict()


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (models.JobModel, {f.name for f in dataclasses.fields(Job)} - {"state", "update"} | {"status", "progress"}),
        (models.SourceModel, {f.name for f in dataclasses.fields(JobSource)}),
        (models.ProgressModel, {f.name for f in dataclasses.fields(Progress)}),
        (models.SnapshotModel, {f.name for f in dataclasses.fields(SnapshotRecord)}),
        (models.ManifestModel, {f.name for f in dataclasses.fields(SnapshotManifest)}),
        (models.EntryModel, {f.name for f in dataclasses.fields(Entry)}),
        (models.EventModel, {f.name for f in dataclasses.fields(JournalEvent)}),
        (models.ReportModel, set(REPORT)),
        (models.VerdictModel, set(REPORT["lines"][0])),
        (models.Problem, {"type", "title", "status", "detail"} | set(ConflictError("").to_dict())),
    ],
)
def test_nothing_that_a_value_holds_is_left_out_on_the_way(model, names):
    assert set(model.model_fields) == names
