"""The health that Argo CD (deploy/kubernetes/argocd-health.yaml) and Flux see in the statuses that the operator writes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from lupa import lua51  # Argo CD runs scripts in Lua 5.1

from pitstop.operator.conditions import BAD, ENDED, GOOD, OUTLOOKS, Remark, conditions_of, ignored_remark
from pitstop.operator.resources.cluster import ClusterPhase
from pitstop.operator.resources.job import JobPhase
from pitstop.operator.resources.map import MapState
from pitstop.operator.resources.snapshot import SnapshotState

SCRIPTS = yaml.safe_load((Path(__file__).parents[2] / "deploy" / "kubernetes" / "argocd-health.yaml").read_text())["data"]
KINDS = {ClusterPhase: "Hazelcast", MapState: "Map", JobPhase: "JetJob", SnapshotState: "JetJobSnapshot"}
GENERATION = 3

HEALTHY, PROGRESSING, DEGRADED, SUSPENDED = (
    ("Healthy", "Current"),
    ("Progressing", "InProgress"),
    ("Degraded", "Failed"),
    ("Suspended", "Current"),
)
BROKEN = ("Degraded", "InProgress")
"""Somebody has to look, and it may become ready: Flux waits for that, as long as it is told to."""
EXPECTED = {
    ClusterPhase: {
        ClusterPhase.PENDING: PROGRESSING,
        ClusterPhase.RUNNING: HEALTHY,
        ClusterPhase.FAILED: BROKEN,
        ClusterPhase.TERMINATING: PROGRESSING,
    },
    MapState: {
        MapState.PENDING: PROGRESSING,
        MapState.PERSISTING: PROGRESSING,
        MapState.SUCCESS: HEALTHY,
        MapState.FAILED: DEGRADED,
        MapState.TERMINATING: PROGRESSING,
    },
    JobPhase: {
        JobPhase.FAILED: BROKEN,
        JobPhase.NOT_RUNNING: PROGRESSING,
        JobPhase.STARTING: PROGRESSING,
        JobPhase.RUNNING: HEALTHY,
        JobPhase.SUSPENDED: PROGRESSING,
        JobPhase.SUSPENDED_EXPORTING_SNAPSHOT: PROGRESSING,
        JobPhase.COMPLETING: PROGRESSING,
        JobPhase.EXECUTION_FAILED: DEGRADED,
        JobPhase.COMPLETED: HEALTHY,
    },
    SnapshotState: {
        SnapshotState.WAITING: PROGRESSING,
        SnapshotState.EXPORTING: PROGRESSING,
        SnapshotState.EXPORTED: HEALTHY,
        SnapshotState.FAILED: DEGRADED,
    },
}
"""The health of each phase, by its kind: phases of several kinds have the same word, and are then equal."""
PHASES = [(phase, health) for healths in EXPECTED.values() for phase, health in healths.items()]
CASES = [pytest.param(phase, None, health, id=f"{KINDS[type(phase)]}-{phase.name}") for phase, health in PHASES] + [
    pytest.param(JobPhase.SUSPENDED, GOOD, SUSPENDED, id="a job that its spec suspends"),
    pytest.param(JobPhase.EXECUTION_FAILED, GOOD, HEALTHY, id="a job that its spec cancels"),
    pytest.param(JobPhase.EXECUTION_FAILED, ENDED, DEGRADED, id="a job that somebody else has cancelled"),
    pytest.param(JobPhase.FAILED, BAD, BROKEN, id="a job whose name is taken"),
]


def resource(phase, outlook=None, observed=GENERATION, message="in words"):
    now = datetime(2026, 11, 29, tzinfo=UTC)
    remarks = [*ignored_remark(["spec.nothing"]), Remark("PodsWait", "Unschedulable", "in words")]
    conditions = conditions_of(phase, message, (), observed, now, outlook, remarks)
    status = {"observedGeneration": observed, "conditions": [each.model_dump(mode="json", by_alias=True) for each in conditions]}
    return {"kind": KINDS[type(phase)], "metadata": {"generation": GENERATION}, "status": status}


def argo(about):
    """The health that the script for a resource's kind returns, and its message."""
    lua = lua51.LuaRuntime()
    script = SCRIPTS[f"resource.customizations.health.hazelcast.com_{about['kind']}"]
    health = lua.execute(f"return function(obj)\n{script}\nend")(lua.table_from(about, recursive=True))
    return health["status"], health["message"]


def kstatus(about):
    """Flux's rule: that of kstatus in sigs.k8s.io/cli-utils for kinds that it does not know, and their condition Ready."""
    status = about.get("status", {})
    if status.get("observedGeneration", GENERATION) != about["metadata"]["generation"]:
        return "InProgress"
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    if conditions.get("Reconciling") == "True":
        return "InProgress"
    if conditions.get("Stalled") == "True":
        return "Failed"
    return "Current" if conditions.get("Ready", "True") == "True" else "InProgress"


def test_there_is_a_script_for_each_kind_and_an_expectation_for_each_phase():
    assert {name.rpartition("_")[2] for name in SCRIPTS} == set(KINDS.values())
    assert {kind: set(healths) for kind, healths in EXPECTED.items()} == {kind: set(kind) for kind in OUTLOOKS}


@pytest.mark.parametrize(("phase", "outlook", "health"), CASES)
def test_each_phase_has_the_health_that_people_expect(phase, outlook, health):
    about = resource(phase, outlook)
    assert (argo(about)[0], kstatus(about)) == health
    assert argo(about)[1] == "in words"
    assert argo(resource(phase, outlook, message=None))[1] == phase.value


@pytest.mark.parametrize("phase", [phase for phase, _ in PHASES], ids=lambda phase: f"{KINDS[type(phase)]}-{phase.name}")
def test_a_status_of_an_older_spec_is_progress(phase):
    about = resource(phase, observed=GENERATION - 1)
    assert (argo(about)[0], kstatus(about)) == PROGRESSING


@pytest.mark.parametrize("kind", KINDS.values())
@pytest.mark.parametrize("status", [{}, {"status": {}}, {"status": {"conditions": []}}])
def test_a_resource_that_the_operator_has_not_seen_yet_is_progress_to_argo(kind, status):
    assert argo({"kind": kind, "metadata": {"generation": 1}, **status}) == ("Progressing", "it has yet to be looked at")
