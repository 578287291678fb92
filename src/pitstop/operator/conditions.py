"""The conditions of a status: Ready, Progressing, Degraded and Stalled, each with the time of its last change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from pitstop.operator.resources.cluster import ClusterPhase
from pitstop.operator.resources.job import JobPhase
from pitstop.operator.resources.map import MapState
from pitstop.operator.resources.parts import Condition, ConditionStatus
from pitstop.operator.resources.snapshot import SnapshotState


@dataclass(frozen=True)
class Outlook:
    """The meaning of a phase for a user who waits."""

    ready: bool
    """True if the resource is as it was asked for."""
    progressing: bool
    """True while the resource is being brought about."""
    degraded: bool
    """True if something is wrong and needs attention."""
    stalled: bool = False
    """True if it stays so: nothing is tried again before somebody changes the resource. Tools that wait then give up."""


GOOD, COMING, BAD, LOST, OVER, ENDED = (
    Outlook(True, False, False),
    Outlook(False, True, False),
    Outlook(False, False, True),
    Outlook(False, False, True, True),
    Outlook(False, False, False),
    Outlook(False, False, False, True),
)
"""ENDED: by somebody's wish, but not by that of the resource."""


@dataclass(frozen=True)
class Remark:
    """A condition of its own beside the four, which is there only while it is true."""

    type: str
    reason: str
    message: str


CONDITIONS = ("Ready", "Progressing", "Degraded", "Stalled")
OUTLOOKS: dict[type[Enum], dict[Enum, Outlook]] = {
    ClusterPhase: {
        ClusterPhase.PENDING: COMING,
        ClusterPhase.RUNNING: GOOD,
        ClusterPhase.FAILED: BAD,
        ClusterPhase.TERMINATING: OVER,
    },
    MapState: {
        MapState.SUCCESS: GOOD,
        MapState.FAILED: LOST,
        MapState.PENDING: COMING,
        MapState.PERSISTING: COMING,
        MapState.TERMINATING: OVER,
    },
    JobPhase: {
        JobPhase.FAILED: BAD,
        JobPhase.NOT_RUNNING: COMING,
        JobPhase.STARTING: COMING,
        JobPhase.RUNNING: GOOD,
        JobPhase.SUSPENDED: COMING,
        JobPhase.SUSPENDED_EXPORTING_SNAPSHOT: COMING,
        JobPhase.COMPLETING: COMING,
        JobPhase.EXECUTION_FAILED: LOST,
        JobPhase.COMPLETED: GOOD,
    },
    SnapshotState: {
        SnapshotState.WAITING: COMING,
        SnapshotState.EXPORTING: COMING,
        SnapshotState.EXPORTED: GOOD,
        SnapshotState.FAILED: LOST,
    },
}
"""The outlook of each phase, by its kind: phases of several kinds have the same word, and are then equal."""


def ignored_remark(fields: Sequence[str]) -> list[Remark]:
    """Return the remark that names the fields of a spec that change nothing; none if there are no such fields."""
    text = f"they change nothing here: {', '.join(fields)}"
    return [Remark("FieldsIgnored", "OfHazelcast", text)] if fields else []


def usual_outlook(phase: ClusterPhase | MapState | JobPhase | SnapshotState) -> Outlook:
    """Return the meaning of a phase, if nothing else is known."""
    return OUTLOOKS[type(phase)][phase]


def conditions_of(
    phase: ClusterPhase | MapState | JobPhase | SnapshotState,
    message: str | None,
    before: Iterable[Condition],
    generation: int,
    now: datetime,
    outlook: Outlook | None = None,
    remarks: Sequence[Remark] = (),
) -> list[Condition]:
    """Return the conditions. ``outlook`` is that of the phase if it is left out.

    Each keeps its time as long as its status stays. ``now`` is in whole seconds.
    """
    meaning, since = outlook or usual_outlook(phase), {each.type: each for each in before}
    conditions: list[Condition] = []

    def add(name: str, holds: bool, reason: str, message: str) -> None:
        status, previous = ConditionStatus.TRUE if holds else ConditionStatus.FALSE, since.get(name)
        changed_at = previous.last_transition_time if previous is not None and previous.status is status else now
        conditions.append(
            Condition(
                type=name,
                status=status,
                reason=reason,
                message=message,
                last_transition_time=changed_at,
                observed_generation=generation,
            )
        )

    for name, holds in zip(CONDITIONS, (meaning.ready, meaning.progressing, meaning.degraded, meaning.stalled), strict=True):
        add(name, holds, phase.value, message or "")
    for remark in remarks:
        add(remark.type, True, remark.reason, remark.message)
    return conditions
