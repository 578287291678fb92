"""Objects that tests make, in as few words as their pods differ by."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def container(*command: str, **also: Any) -> Object:
    """A container; its image is none that anybody has."""
    return {"name": "main", "image": "none", "command": list(command)} | also


def pod(name: str, *containers: Object, labels: dict[str, str] | None = None, **also: Any) -> Object:
    """A pod, which is not waited for at its end."""
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(*containers, **also)}


def pod_spec(*containers: Object, **also: Any) -> Object:
    """What pods of their own and those of a template have in common."""
    return {"terminationGracePeriodSeconds": 1, "containers": list(containers), **also}


def workload(kind: str, name: str, replicas: int, *containers: Object, **also: Any) -> Object:
    """A Deployment or StatefulSet whose pods have its name as their label ``app``."""
    labels = {"app": name}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod_spec(*containers)},
        **also,
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def service(name: str, port: int, target: int | str, headless: bool = False) -> Object:
    """A Service in front of the pods with its name as their label ``app``."""
    spec: Object = {"selector": {"app": name}, "ports": [{"port": port, "targetPort": target}]}
    if headless:
        spec["clusterIP"] = "None"
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def config_map(name: str, **entries: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": entries}


def secret(name: str, **entries: str) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": entries}
