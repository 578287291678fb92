"""The kinds of objects that the operator knows: its own, and those that make up a cluster."""

from __future__ import annotations

from pitstop.operator.kube.api import Kind
from pitstop.operator.resources.parts import GROUP, VERSION

HAZELCAST = Kind(GROUP, VERSION, "Hazelcast", "hazelcasts", built_in=False)
MAP = Kind(GROUP, VERSION, "Map", "maps", built_in=False)
JET_JOB = Kind(GROUP, VERSION, "JetJob", "jetjobs", built_in=False)
JET_JOB_SNAPSHOT = Kind(GROUP, VERSION, "JetJobSnapshot", "jetjobsnapshots", built_in=False)
OWN = (HAZELCAST, MAP, JET_JOB, JET_JOB_SNAPSHOT)

STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")
SERVICE = Kind("", "v1", "Service", "services")
CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
CHILDREN = (STATEFUL_SET, SERVICE, CLAIM, NETWORK_POLICY, DISRUPTION_BUDGET, CONFIG_MAP)
"""The kinds of a cluster's objects that are watched. An object that is changed or removed is restored a moment later."""

POD = Kind("", "v1", "Pod", "pods")
SECRET = Kind("", "v1", "Secret", "secrets")
EVENT = Kind("", "v1", "Event", "events")
