"""The part of a cluster's spec that is about its pods: their resources, the nodes that they may be on, their labels."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from pitstop.machine.named_secrets import FOLDER
from pitstop.operator.resources.parts import ANYTHING, GROUP, Part, Quantity, Text

OWN_LABELS = tuple(f"app.kubernetes.io/{part}" for part in ("name", "instance", "component", "managed-by"))
"""The labels by which a cluster's objects are selected. A spec cannot change them."""
OWN_ANNOTATIONS = f"{GROUP}/"
"""The beginning of the annotations by which the operator compares objects."""
OWN_VARIABLES = frozenset(
    (
        *("POD_IP", "POD_NAME", "HOME", "PGPASSWORD", "SPARK_CONF_DIR", FOLDER),
        *(f"PITSTOP_{name}" for name in ("DATA", "URL", "TOKEN", "STORE", "DRIVER_HOST", "BIND_ADDRESS")),
    )
)
"""The variables that the operator gives to pods. A spec cannot change them."""


def _passed_on(type_: str, description: str) -> Any:
    """Return the field of a part that Kubernetes reads, and the operator only passes on."""
    extra: dict[str, Any] = {"type": type_, **(ANYTHING if type_ == "object" else {})}
    if type_ == "array":
        extra |= {"items": {"type": "object", **ANYTHING}, "maxItems": 64}
    return Field(description=description, json_schema_extra=extra)


class ContainerResources(Part):
    """The resources of a container."""

    requests: Annotated[dict[str, Quantity] | None, Field(description="Requests: cpu, memory")] = None
    limits: Annotated[dict[str, Quantity] | None, Field(description="Limits: cpu, memory")] = None


class Scheduling(Part):
    """The nodes that pods may be on. Each field is that of a pod."""

    node_selector: Annotated[dict[str, Text] | None, Field(description="Labels that the node must have")] = None
    tolerations: Annotated[list[Any] | None, _passed_on("array", "Taints of nodes that the pods tolerate")] = None
    affinity: Annotated[Any, _passed_on("object", "Rules about nodes, and about other pods on them")] = None
    topology_spread_constraints: Annotated[
        list[Any] | None, _passed_on("array", "Rules by which the pods spread over nodes and zones")
    ] = None


class ControlPlane(Part):
    """The pod of the server, which also runs drivers of jobs."""

    resources: Annotated[ContainerResources | None, Field(description="Its resources; else those of the chart")] = None
    scheduling: Annotated[
        Scheduling | None, Field(description="The nodes that it may be on, by the fields given here; else by spec.scheduling")
    ] = None


class Variable(Part):
    """A variable of the pods' environment."""

    name: Annotated[str, Field(min_length=1, max_length=256, description="Its name")]
    value: Annotated[str | None, Field(max_length=32768, description="Its value")] = None
    value_from: Annotated[Any, _passed_on("object", "Where its value is, such as secretKeyRef")] = None
