"""What Kubernetes is told of our kinds. That it understands and enforces it is shown in tests/kubernetes."""

import re
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from pydantic import Field, TypeAdapter, ValidationError

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name
from pitstop.operator.crds import KINDS, definitions, structural, template, written
from pitstop.operator.resources.job import JetJob

COMMITTED = Path(__file__).parents[3] / "deploy" / "kubernetes" / "crds.yaml"
COLUMNS = {
    "Hazelcast": ["Status", "Members"],
    "Map": ["Status"],
    "JetJob": ["Status", "Id", "SubmissionTime", "CompletionTime"],
    "JetJobSnapshot": ["State", "CreationTime"],
}
SHORT = {"Hazelcast": ["hz"], "Map": [], "JetJob": ["jj"], "JetJobSnapshot": ["jjs"]}
DEFAULTS = {
    ("Hazelcast", "clusterSize"): 3,
    ("Hazelcast", "jet", "enabled"): True,
    ("Hazelcast", "jet", "resourceUploadEnabled"): False,
    ("Hazelcast", "jet", "instance", "losslessRestartEnabled"): False,
    ("Hazelcast", "jet", "instance", "scaleUpDelayMillis"): 10000,
    ("Map", "eventJournal", "capacity"): 10000,
    ("Map", "eventJournal", "timeToLiveSeconds"): 0,
    ("Map", "timeToLiveSeconds"): 0,
    ("Map", "maxIdleSeconds"): 0,
    ("Map", "persistenceEnabled"): False,
    ("JetJob", "state"): "Running",
    ("JetJobSnapshot", "cancelJob"): False,
}
REQUIRED = {
    "Hazelcast": None,
    "Map": ["hazelcastResourceName"],
    "JetJob": ["hazelcastResourceName", "jarName"],
    "JetJobSnapshot": ["jetJobResourceName"],
}


@pytest.fixture(params=[kind.name for kind in KINDS])
def kind(request):
    return request.param


def version_of(kind):
    (found,) = [each for each in definitions() if each["spec"]["names"]["kind"] == kind]
    (version,) = found["spec"]["versions"]
    return found["spec"], version


def spec_of(kind):
    return version_of(kind)[1]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def parts(schema):
    yield schema
    for part in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        yield from parts(part)


def test_the_committed_definitions_are_those_of_the_models():
    assert list(yaml.safe_load_all(COMMITTED.read_text())) == list(yaml.safe_load_all(written())), "run 'make pictures'"


def test_names_and_columns_are_the_documented_ones(kind):
    spec, version = version_of(kind)
    assert (spec["group"], spec["scope"], version["name"], version["subresources"]["status"]) == (
        "hazelcast.com",
        "Namespaced",
        "v1alpha1",
        {},
    )
    assert spec["names"]["shortNames"] == SHORT[kind]
    assert [column["name"] for column in version["additionalPrinterColumns"] if "priority" not in column] == COLUMNS[kind]


def test_fields_and_their_defaults_are_the_documented_ones(kind):
    assert spec_of(kind).get("required") == REQUIRED[kind]
    for (of, *path), value in DEFAULTS.items():
        if of == kind:
            part = spec_of(kind)
            for name in path:
                part = part["properties"][name]
            assert part["default"] == value, path


def test_every_part_has_one_type_and_every_field_a_description(kind):
    schema = version_of(kind)[1]["schema"]["openAPIV3Schema"]
    assert set(schema["properties"].pop("metadata")) == {"type", "properties"}  # nothing else may be said of it
    for part in parts(schema):
        assert isinstance(part["type"], str)
        assert not {"anyOf", "$ref", "$defs", "title", "const"} & part.keys()
        assert all(field["description"] for field in part.get("properties", {}).values())
        # Fields are called as who writes a manifest knows them.
        texts = " ".join(field["description"] for field in part.get("properties", {}).values())
        assert not re.search(r"\b(?!processing_guarantee)[a-z]+_[a-z]+", texts), texts


@pytest.mark.parametrize("kind", ["Map", "JetJob", "JetJobSnapshot"], indirect=True)
@pytest.mark.parametrize(
    "name",
    [
        *("transactions", "Über-1", "a b.c_d-e", "日本", "a", "x" * 200),
        *("", "a/b", "../a", ".a", "-a", "_a", "a.", "a ", "a\n", "a\tb", "x" * 201, "a%b", "a:b"),
    ],
)
def test_a_name_is_admitted_if_and_only_if_the_server_takes_it(kind, name):
    field = spec_of(kind)["properties"]["name"]
    rule = TypeAdapter(Annotated[str, Field(pattern=field["pattern"])])
    admitted = field["minLength"] <= len(name) <= field["maxLength"] and not raises(rule.validate_python, name)
    assert admitted is not raises(check_name, "map", name)


def test_a_cluster_is_admitted_only_with_a_name_that_its_services_and_pods_can_have():
    (rule,) = version_of("Hazelcast")[1]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"]
    pattern = re.search(r"matches\('(.+?)'\)", rule["rule"])[1]
    longest = int(re.search(r"<= (\d+)", rule["rule"])[1])
    assert rule["rule"].startswith("oldSelf.hasValue() || (")  # those that are there can still be deleted

    def admitted(name):
        return re.search(pattern, name) is not None and len(name) <= longest

    assert all(map(admitted, ("hazelcast", "a", "a1", "my-cluster", "x" * 38)))
    assert not any(map(admitted, ("1cluster", "my.cluster", "-a", "a-", "A", "x" * 39, "")))
    # As Kubernetes makes the label controller-revision-hash, of 63 letters at most.
    assert len("x" * longest + "-control-plane" + "-" + "0123456789") == 63


def test_objects_are_named_as_kubernetes_does():
    for kind_name, field in (("JetJob", "hazelcastResourceName"), ("Hazelcast", "licenseKeySecretName")):
        pattern = spec_of(kind_name)["properties"][field]["pattern"]
        assert all(re.search(pattern, name) for name in ("a", "1a", "my.secret-2"))
        assert not any(re.search(pattern, name) for name in ("../../x/secrets/y", "a/b", "A", "-a", "a.", ""))


def raises(ask, *arguments):
    try:
        ask(*arguments)
    except (UsageError, ValidationError):
        return True
    return False


def test_whoever_is_scaled_by_kubectl_says_how_many_there_are():
    _, version = version_of("Hazelcast")
    assert version["subresources"]["scale"] == {
        "specReplicasPath": ".spec.clusterSize",
        "statusReplicasPath": ".status.members",
        "labelSelectorPath": ".status.selector",
    }
    assert "selector" in version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]


def test_a_suspended_job_may_be_cancelled_and_code_is_replaced_but_not_removed():
    """That Kubernetes does so is shown in tests/kubernetes/test_resources.py."""
    schema = version_of("JetJob")[1]["schema"]["openAPIV3Schema"]
    states = [rule["rule"] for rule in schema["x-kubernetes-validations"] if rule.get("fieldPath") == ".spec.state"]
    assert any("self.spec.state == 'Canceled' && " in rule and "== 'Suspended'" in rule for rule in states)
    places = [each for each in spec_of("JetJob")["x-kubernetes-validations"] if each["fieldPath"] == ".bucketConfig"]
    assert [each["message"] for each in places] == [
        "field cannot be updated",
        "can be changed, or replaced by remoteURL, and not be removed",
    ]


def test_a_part_that_may_be_null_or_left_out_has_its_own_type_alone():
    schema = {
        "$defs": {"Part": {"title": "Part", "type": "object", "properties": {"n": {"default": 1, "type": "integer"}}}},
        "type": "object",
        "properties": {
            "one": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}], "default": None, "description": "One"},
            "other": {"$ref": "#/$defs/Part", "default": {"n": 1}},
        },
    }
    part = {"type": "object", "properties": {"n": {"default": 1, "type": "integer"}}}
    assert structural(schema) == {
        "type": "object",
        "properties": {"one": part | {"description": "One"}, "other": part | {"default": {}}},
    }


def test_a_resource_of_a_later_version_is_read_without_what_this_one_does_not_know():
    document = {
        "metadata": {"name": "transaction-v1"},
        "spec": {"hazelcastResourceName": "hazelcast", "jarName": "jobs.zip", "remoteURL": "http://a/b", "later": 1},
        "status": {"phase": "Running", "id": 741632319877545985, "submissionTime": "2023-08-09T12:22:04Z", "later": {}},
    }
    job = JetJob.model_validate(document)
    assert (job.spec.remote_url, job.spec.state, job.status.id) == ("http://a/b", "Running", 741632319877545985)


def test_the_chart_has_the_same_definitions():
    chart = Path(__file__).parents[3] / "deploy" / "helm" / "pitstop" / "templates" / "crds.yaml"
    assert chart.read_text() == template(), "run 'make pictures'"
