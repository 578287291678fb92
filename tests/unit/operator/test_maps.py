"""What a Map asks for."""

import dataclasses
from pathlib import Path

import pytest

from pitstop.operator.maps import MapSettings, SeenMap, decide_map
from pitstop.operator.resources.cluster import Hazelcast
from pitstop.operator.resources.map import Map
from pitstop.service.map_results import MapFacts

DOCS = Path(__file__).parents[3] / "docs" / "kubernetes.md"
RUNNING = Hazelcast.model_validate({"status": {"phase": "Running"}})
PENDING = Hazelcast.model_validate({"status": {"phase": "Pending"}})


def seen(cluster=RUNNING, facts=None, **spec):
    return SeenMap("transaction", 1, Map.model_validate({"spec": {"hazelcastResourceName": "hazelcast"} | spec}), cluster, facts)


def facts(capacity, ttl=None):
    return MapFacts("transaction", 5, capacity, ttl, 1, 5)


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ({}, MapSettings(0, 0)),
        ({"eventJournal": {}}, MapSettings(10_000, 0)),
        ({"eventJournal": {"capacity": 9000}, "timeToLiveSeconds": 60}, MapSettings(9000, 60)),
        ({"eviction": {"evictionPolicy": "NONE"}, "persistenceEnabled": True}, MapSettings(0, 0)),
    ],
)
def test_a_map_that_is_not_there_is_made_as_it_is_wanted(spec, settings):
    decision = decide_map(seen(**spec))
    assert (decision.settings, decision.status.state, decision.status.message) == (settings, "Success", None)


@pytest.mark.parametrize(("found", "change"), [(facts(9000, 60.0), False), (facts(10_000, 60.0), True), (facts(9000), True)])
def test_a_map_that_is_there_is_configured_only_if_it_is_another_way(found, change):
    decision = decide_map(seen(facts=found, eventJournal={"capacity": 9000}, timeToLiveSeconds=60))
    assert (decision.settings == MapSettings(9000, 60)) is change
    assert decision.status.state == "Success"


def test_a_map_that_is_being_deleted_is_left_as_it_is():
    decision = decide_map(dataclasses.replace(seen(facts=facts(9000)), leaving=True))
    assert (decision.settings, decision.status.state) == (None, "Terminating")


@pytest.mark.parametrize(
    ("cluster", "message"), [(None, "Hazelcast 'hazelcast' not found"), (PENDING, "Hazelcast 'hazelcast' is not running")]
)
def test_a_map_waits_for_its_cluster(cluster, message):
    decision = decide_map(seen(cluster))
    assert (decision.settings, decision.status.state, decision.status.message) == (None, "Pending", message)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"maxIdleSeconds": 5}, "spec.maxIdleSeconds: "),
        ({"eventJournal": {"timeToLiveSeconds": 5}}, "spec.eventJournal.timeToLiveSeconds: "),
        ({"eviction": {"evictionPolicy": "LRU"}}, "spec.eviction: "),
        ({"eviction": {"maxSize": 100}}, "spec.eviction: "),
        ({"eviction": {"maxSizePolicy": "USED_HEAP_SIZE"}}, "spec.eviction.maxSizePolicy: "),
    ],
)
def test_what_maps_cannot_do_is_refused_and_not_left_out(spec, field):
    decision = decide_map(seen(**spec))
    assert (decision.settings, decision.status.state) == (None, "Failed")
    assert decision.status.message.startswith(field)
    assert f"`{decision.status.message.removeprefix(field)}`" in DOCS.read_text()
