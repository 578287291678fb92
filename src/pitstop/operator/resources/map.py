"""Map: a map of a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from pitstop.operator.resources.parts import (
    USUAL_JOURNAL,
    USUAL_SIZE_POLICY,
    Count,
    Name,
    Part,
    ResourceName,
    Seconds,
    Status,
    ignored,
)

# Map


class EventJournal(Part):
    """The last changes of a map, from which jobs read."""

    capacity: Annotated[
        int, Field(ge=1, description="How many changes are kept; cannot be changed later", json_schema_extra={"format": "int32"})
    ] = USUAL_JOURNAL
    time_to_live_seconds: Annotated[Seconds, Field(description="For how long each is kept; 0: no limit")] = 0


class EvictionPolicy(StrEnum):
    """The order in which entries leave a full map."""

    NONE = "NONE"
    LRU = "LRU"
    LFU = "LFU"
    RANDOM = "RANDOM"


class Eviction(Part):
    """The handling of a full map."""

    eviction_policy: Annotated[EvictionPolicy, Field(description="Which entries go first; NONE: none")] = EvictionPolicy.NONE
    max_size: Annotated[Count, Field(description="How many entries it holds; 0: no limit")] = 0
    max_size_policy: Annotated[str, Field(max_length=64, description="What maxSize counts; refused without one")] = (
        USUAL_SIZE_POLICY
    )


class MapSpec(Part):
    """A map as it is wanted."""

    name: Annotated[Name | None, Field(description="Its name; else that of this resource. Cannot be changed later")] = None
    hazelcast_resource_name: Annotated[
        ResourceName, Field(description="The Hazelcast resource whose map it is. Cannot be changed later")
    ]
    event_journal: Annotated[EventJournal | None, Field(description="The last changes of the map")] = None
    time_to_live_seconds: Annotated[Seconds, Field(description="Seconds after a write when an entry expires; 0: never")] = 0
    max_idle_seconds: Annotated[Seconds, Field(description="Seconds after the last use when an entry expires; 0: never")] = 0
    eviction: Annotated[Eviction | None, Field(description="Behaviour when the map is full")] = None
    persistence_enabled: Annotated[
        bool,
        Field(description="Changes nothing: every map survives all pods of its cluster, and goes with the Hazelcast resource"),
    ] = False
    backup_count: Annotated[Any, ignored("integer", ": maps are kept on the volume")] = None
    async_backup_count: Annotated[Any, ignored("integer", ": maps are kept on the volume")] = None
    indexes: Annotated[Any, ignored("array", ": maps are read by key, or whole")] = None
    in_memory_format: Annotated[Any, ignored("string", ": maps are kept on the volume")] = None
    near_cache: Annotated[Any, ignored("object", ": clients keep no copies")] = None
    entry_listeners: Annotated[Any, ignored("array", ": jobs read the journal of a map")] = None


class MapState(StrEnum):
    """The state of a map."""

    SUCCESS = "Success"
    FAILED = "Failed"
    PENDING = "Pending"
    PERSISTING = "Persisting"
    TERMINATING = "Terminating"


class MapStatus(Status):
    """A map as it is."""

    state: Annotated[MapState | None, Field(description="How it is")] = None
    message: Annotated[str | None, Field(description="What is wrong, and what to do")] = None


class Map(Part):
    """A map, with the journal from which jobs read its changes."""

    spec: Annotated[MapSpec, Field(description="As it is wanted")]
    status: Annotated[MapStatus | None, Field(description="As it is")] = None
