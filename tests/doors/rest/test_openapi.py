"""The description at /openapi.json is complete, and says what the server does."""

from collections.abc import Iterator

import pytest
from fastapi.openapi.models import OpenAPI
from fastapi.testclient import TestClient

from pitstop.client.http import HttpService
from pitstop.plan.diff import Report, StageVerdict, Verdict, Way
from pitstop.rest.access import Access
from pitstop.rest.app import create_app


@pytest.fixture(scope="module")
def document():
    return TestClient(create_app(HttpService(), Access("the-long-token", {"testserver"}))).get("/openapi.json").json()


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
        ("POST", "/api/v1/jobs/{job}/configure"),
        ("POST", "/api/v1/jobs/{job}/rollback"),
        ("POST", "/api/v1/jobs/{job}/discard"),
        ("GET", "/api/v1/kept-states"),
        ("POST", "/api/v1/jobs/{job}/snapshots"),
        ("POST", "/api/v1/adoptions"),
        ("POST", "/api/v1/snapshots/{name}/stages/{stage}/query"),
        ("GET", "/api/v1/snapshots/{name}/stages/{stage}/state"),
        ("PUT", "/api/v1/snapshots/{name}/stages/{stage}/state"),
        ("GET", "/api/v1/jobs/{job}/metrics"),
        ("GET", "/api/v1/jobs/{job}/events"),
        ("GET", "/api/v1/jobs/{job}/history"),
        ("GET", "/api/v1/jobs/{job}/graph"),
        ("GET", "/api/v1/jobs/{job}/versions"),
        ("POST", "/api/v1/jobs/{job}/versions/{version}/go-back"),
        ("GET", "/api/v1/jobs/{job}/verbs"),
        ("GET", "/api/v1/jobs/{job}/options"),
        ("GET", "/api/v1/jobs/{job}/logs"),
        ("GET", "/api/v1/jobs/{job}/execution"),
        ("POST", "/api/v1/jobs/{job}/stages/{stage}/peek"),
        ("GET", "/api/v1/artifacts"),
        ("GET", "/api/v1/me"),
        ("GET", "/api/v1/audit"),
        ("POST", "/api/v1/sign-in-links"),
        ("GET", "/sign-in"),
        ("POST", "/sign-in"),
        ("POST", "/sign-out"),
        ("GET", "/api/v1/log-levels"),
        ("PUT", "/api/v1/log-levels"),
        ("POST", "/api/v1/check"),
        ("POST", "/api/v1/jobs/{job}/update"),
        ("GET", "/api/v1/snapshots"),
        ("GET", "/api/v1/snapshots/{name}"),
        ("DELETE", "/api/v1/snapshots/{name}"),
        ("GET", "/api/v1/snapshots/{name}/diff"),
        ("GET", "/api/v1/maps"),
        ("PUT", "/api/v1/maps/{name}"),
        ("GET", "/api/v1/maps/{name}/size"),
        ("GET", "/api/v1/maps/{name}/entries"),
        ("GET", "/api/v1/maps/{name}/search"),
        ("POST", "/api/v1/maps/{name}/entries"),
        ("DELETE", "/api/v1/maps/{name}/entries"),
        ("GET", "/api/v1/maps/{name}/entry"),
        ("DELETE", "/api/v1/maps/{name}/entry"),
        ("GET", "/api/v1/maps/{name}/journal"),
        ("GET", "/api/v1/settings"),
        ("GET", "/api/v1/cluster"),
        ("GET", "/api/v1/cluster/members"),
        ("POST", "/api/v1/cluster/members"),
        ("DELETE", "/api/v1/cluster/members/{name}"),
        ("POST", "/api/v1/cluster/engines/{name}/replace"),
        ("POST", "/api/v1/backups"),
        ("POST", "/api/v1/support-bundles"),
        ("POST", "/api/v1/cluster/shutdown"),
        ("GET", "/api/v1/events"),
        ("POST", "/api/v1/sql"),
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
            elif status not in ("204", "303"):
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


def test_only_probes_and_who_signs_in_or_out_need_no_token(document):
    free = {path for path, _, operation in operations(document) if not operation.get("security")}
    assert free == {"/healthz", "/readyz", "/sign-in", "/sign-out"}
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"


def test_both_ways_to_submit_are_described(document):
    content = document["paths"]["/api/v1/jobs"]["post"]["requestBody"]["content"]
    assert set(content) == {"application/json", "multipart/form-data"}
    assert content["multipart/form-data"]["schema"]["properties"]["request"] == content["application/json"]["schema"]
    assert content["application/json"]["schema"]["required"] == ["artifact"]


REPORT = Report((StageVerdict("a", Verdict.NEW, "starts empty", "C01"),), Way.REBUILD).to_dict()
JOB = (
    "id name status submission_time start_time completion_time user_cancelled suspension_cause failure failure_details config "
    "options source token termination attempts due interruption lineage version update_failure plan progress "
    "has_state state_kept_until updating placement restarts updates failed_updates update_gap_seconds display_status"
)
PROGRESS = (
    "epoch watermark_ms input_rows rows_per_second epoch_ms bad_rows stages busy_seconds parts_ms tables_away epoch_at "
    "left_out_before waits_for"
)
MANIFEST = (
    "name job_id job_name lineage epoch created watermark_ms plan partitions provider offsets stages versions files imported "
    "unfinished format"
)


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ("JobStatus", JOB),
        ("JobSource", "artifact entry args dependencies origin"),
        ("PathOrigin", "folder home"),
        ("Progress", PROGRESS),
        ("TableAway", "stage since read_at why"),
        ("SnapshotRecord", "name job_id job_name created bytes path epoch details"),
        ("SnapshotManifest", MANIFEST),
        ("StateRows", "columns rows more"),
        ("LogPage", "lines next lost"),
        ("JobVerb", "verb refused nothing_to_do"),
        ("Artifact", "name sha256 bytes stored path used_by"),
        ("ArtifactUse", "job name version current"),
        ("LoggerLevel", "logger level scope"),
        ("KeptState", "id name user_cancelled until bytes"),
        ("MapFacts", "name size journal_capacity ttl_seconds oldest newest"),
        ("Entry", "key value created updated expires version"),
        ("JournalPage", "events lost oldest newest"),
        ("JournalEvent", "sequence kind key old_value new_value at"),
        ("ClusterInfo", "state version size members running_jobs leader ending engines"),
        ("EngineInfo", "name id jobs spares heap_bytes most_heap_bytes cores started retired"),
        ("ServerSettings", "keep"),
        ("KeepSetting", "name value usual meaning"),
        ("MemberInfo", "address uuid name version cores state joined seen jobs"),
        ("CheckModel", "plan report text warnings findings"),
        ("UpdatedModel", "version snapshot gap_seconds report text"),
        ("ReportModel", " ".join(REPORT)),
        ("StageVerdict", " ".join(REPORT["lines"][0])),
    ],
)
def test_answers_have_these_fields_whatever_the_code_calls_them(document, schema, names):
    assert list(document["components"]["schemas"][schema]["properties"]) == names.split()


def test_moments_travel_as_text_and_map_values_as_themselves(document):
    schemas = document["components"]["schemas"]
    assert schemas["JobStatus"]["properties"]["submission_time"]["format"] == "date-time"
    assert "type" not in schemas["Entry"]["properties"]["value"]
