"""The parts that resources of several kinds have: types of fields, conditions, what is accepted and ignored."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

GROUP, VERSION = "hazelcast.com", "v1alpha1"
USUAL_SIZE_POLICY = "PER_NODE"
USUAL_MEMBERS, USUAL_JOURNAL, USUAL_SCALE_UP_DELAY = 3, 10_000, 10_000
MOST_MEMBERS = 1000

LONGEST_NAME = 200
NAME_PATTERN = r"^[\p{L}\p{N}]([\p{L}\p{N}_.\- ]*[\p{L}\p{N}_\-])?$"
"""The rule of kit.ids.check_name as a pattern. Kubernetes refuses other names; a resource that has one can still be deleted."""
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, json_schema_extra={"pattern": NAME_PATTERN})]
"""The name of a job, map or snapshot."""
OBJECT_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
ResourceName = Annotated[str, Field(min_length=1, max_length=253, json_schema_extra={"pattern": OBJECT_PATTERN})]
"""The name of an object of Kubernetes. Of other names there is none."""
LONGEST_CLUSTER_NAME = 38
"""The longest name of a cluster: a pod of <name>-control-plane has the name of its revision, ten more letters, as a label."""
CLUSTER_PATTERN = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
"""The rule for names of Services, which is stricter than that for resources."""
QUANTITY_PATTERN = r"^[0-9]+(\.[0-9]+)?(m|k|[KMGTPE]i?)?$"
Quantity = Annotated[
    str,
    BeforeValidator(str),
    WithJsonSchema(
        {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY_PATTERN, "x-kubernetes-int-or-string": True}
    ),
]
"""An amount of a resource, which may be written as a number."""
USUAL_BASE_DIR = "/data"
Text = Annotated[str, Field(max_length=4096)]
Seconds = Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})]
Count = Annotated[int, Field(ge=0, json_schema_extra={"format": "int32"})]
Moment = Annotated[datetime, Field(json_schema_extra={"format": "date-time"})]


ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
IGNORED = "Of the Hazelcast operator; it is accepted, and changes nothing"
"""The beginning of the description of a field that manifests for the Hazelcast operator have, and that means nothing here."""


def ignored(type_: str, says: str = "", items: str = "object") -> Any:
    extra: dict[str, Any] = {"type": type_, **(ANYTHING if type_ == "object" else {})}
    if type_ == "array":
        extra["items"] = {"type": items, **(ANYTHING if items == "object" else {})}
    return Field(description=f"{IGNORED}{says}", json_schema_extra=extra)


class Part(BaseModel):
    """A part of a resource. What a later version adds is left alone."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


class ConditionStatus(StrEnum):
    """The status of a condition; Unknown until it is looked at."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Part):
    """One thing that is so or is not: Ready, Progressing, Degraded or Stalled."""

    type: Annotated[str, Field(max_length=316, description="Ready, Progressing, Degraded or Stalled")]
    status: Annotated[ConditionStatus, Field(description="Whether it is so")]
    reason: Annotated[str, Field(max_length=1024, description="Why, in one word")]
    message: Annotated[str, Field(max_length=32768, description="Why, in a sentence")] = ""
    last_transition_time: Annotated[Moment, Field(description="Since when")]
    observed_generation: Annotated[int | None, Field(description="Of the spec that this is about")] = None


class Status(Part):
    """The part that every status has."""

    observed_generation: Annotated[
        int | None, Field(description="The generation of the spec that the rest is about", json_schema_extra={"format": "int64"})
    ] = None
    conditions: Annotated[
        list[Condition],
        Field(
            description="Ready, Progressing, Degraded, Stalled",
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = []
