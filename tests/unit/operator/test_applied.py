"""Objects that are as they should be, as the API server gives them back: with defaults, in its own way of writing, and more."""

import copy

import pytest

from pitstop.operator.applied import APPLIED, is_as_wanted, marked
from pitstop.operator.children import children
from pitstop.operator.settings import Image
from tests.unit.operator.test_children import named

IMAGE = Image(member_memory="2048Mi", control_plane_cores="0.5", storage="1024Mi")


def with_defaults(found):
    """Return an object as an API server keeps it: every part has fields of its own besides."""
    if isinstance(found, dict):
        return {key: with_defaults(value) for key, value in found.items()} | {"addedByDefault": 1}
    return [with_defaults(each) for each in found] if isinstance(found, list) else found


def all_of(**spec):
    return [marked(each) for _, each in children(named(**spec), IMAGE, "mark")]


@pytest.mark.parametrize("spec", [{}, {"storeSecretName": "store"}, {"spark": {"master": "k8s", "serviceAccountName": "spark"}}])
def test_an_object_with_defaults_is_as_wanted(spec):
    for each in all_of(**spec):
        assert is_as_wanted(each, with_defaults(each))


def member():
    (found,) = [each for each in all_of() if each["metadata"]["name"] == "hazelcast" and "replicas" in each["spec"]]
    return found


def changed(found, *path, to):
    made = copy.deepcopy(found)
    place = made
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = to
    return made


def container(found):
    return found["spec"]["template"]["spec"]["containers"][0]


def test_quantities_are_compared_by_what_they_mean():
    there = with_defaults(member())
    container(there)["resources"] = {"requests": {"cpu": "1000m", "memory": "2Gi"}, "limits": {"memory": str(2 << 30)}}
    assert is_as_wanted(member(), there)
    container(there)["resources"]["limits"]["memory"] = "2G"
    assert not is_as_wanted(member(), there)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("spec", "replicas"), 7),
        (("metadata", "labels"), {}),
        (("metadata", "ownerReferences"), []),
        (("metadata", "annotations", APPLIED), "what a release before has asked for"),
        (("spec", "template", "spec", "containers", 0, "image"), "other"),
        (("spec", "template", "spec", "containers", 0, "args"), ["member"]),
        (("spec", "template", "spec", "volumes"), []),
    ],
)
def test_what_was_changed_by_hand_is_not_as_wanted(path, to):
    assert not is_as_wanted(member(), changed(with_defaults(member()), *path, to=to))


def test_what_others_add_to_a_list_of_theirs_and_ours_is_left_alone():
    there = with_defaults(member())
    container(there)["env"].insert(0, {"name": "HTTPS_PROXY", "value": "http://proxy"})
    there["spec"]["template"]["spec"]["containers"].append({"name": "sidecar"})
    assert is_as_wanted(member(), there)


def test_a_hole_in_the_network_policy_is_not_as_wanted():
    (policy,) = [each for each in all_of() if "ingress" in each["spec"]]
    there = copy.deepcopy(policy)
    there["spec"]["ingress"].append({})
    assert is_as_wanted(policy, policy)
    assert not is_as_wanted(policy, there)


def test_what_is_wanted_no_more_is_told_by_the_mark():
    before = marked({"metadata": {"name": "a"}, "spec": {"one": 1, "two": 2}})
    assert not is_as_wanted(marked({"metadata": {"name": "a"}, "spec": {"one": 1}}), before)
