"""The conditions of a status: Ready, Progressing and Degraded, each with the time of its last change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from pitstop.operator.resources import ClusterPhase, Condition, ConditionStatus, JobPhase, MapState, SnapshotState


@dataclass(frozen=True)
class Outlook:
    """The meaning of a phase for a user who waits."""

    ready: bool
    """True if the resource is as it was asked for."""
    progressing: bool
    """True while the resource is being brought about."""
    degraded: bool
    """True if something is wrong and needs attention."""


GOOD, COMING, BAD, OVER = (
    Outlook(True, False, False),
    Outlook(False, True, False),
    Outlook(False, False, True),
    Outlook(False, False, False),
)

OUTLOOKS: dict[Enum, Outlook] = {
    ClusterPhase.PENDING: COMING,
    ClusterPhase.RUNNING: GOOD,
    ClusterPhase.FAILED: BAD,
    ClusterPhase.TERMINATING: OVER,
    MapState.SUCCESS: GOOD,
    MapState.FAILED: BAD,
    MapState.PENDING: COMING,
    MapState.PERSISTING: COMING,
    MapState.TERMINATING: OVER,
    JobPhase.FAILED: BAD,
    JobPhase.NOT_RUNNING: COMING,
    JobPhase.STARTING: COMING,
    JobPhase.RUNNING: GOOD,
    JobPhase.SUSPENDED: OVER,
    JobPhase.SUSPENDED_EXPORTING_SNAPSHOT: COMING,
    JobPhase.COMPLETING: COMING,
    JobPhase.EXECUTION_FAILED: BAD,
    JobPhase.COMPLETED: OVER,
    SnapshotState.WAITING: COMING,
    SnapshotState.EXPORTING: COMING,
    SnapshotState.EXPORTED: GOOD,
    SnapshotState.FAILED: BAD,
}


def conditions_of(
    phase: ClusterPhase | MapState | JobPhase | SnapshotState,
    message: str | None,
    before: Iterable[Condition],
    generation: int,
    now: datetime,
) -> list[Condition]:
    """Return the three conditions. Each keeps its time as long as its status stays. ``now`` is in whole seconds."""
    outlook, since = OUTLOOKS[phase], {each.type: each for each in before}
    found = []
    for name, holds in (("Ready", outlook.ready), ("Progressing", outlook.progressing), ("Degraded", outlook.degraded)):
        status = ConditionStatus.TRUE if holds else ConditionStatus.FALSE
        known = since.get(name)
        found.append(
            Condition(
                type=name,
                status=status,
                reason=phase.value,
                message=message or "",
                last_transition_time=known.last_transition_time if known is not None and known.status is status else now,
                observed_generation=generation,
            )
        )
    return found
