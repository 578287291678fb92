"""The adoption of a checkpoint of Spark: its request's answer."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.kit.wire import described
from pitstop.model.snapshot import SnapshotRecord


@described
@dataclass(frozen=True)
class AdoptedOperator:
    """A stateful operator of the checkpoint, and the stage that takes over its state."""

    number: int
    """Its number in the checkpoint."""
    what: str
    """Its kind and keys."""
    stage: str
    """The stage."""
    rows: int | None = None
    """The rows of state that the snapshot has of it; null: nothing was moved yet."""
    converted: bool = False
    """True if its state is converted into the form of a stage of Pitstop; else it goes on as it is."""


@described
@dataclass(frozen=True)
class AdoptedSource:
    """A source of the checkpoint, and the source of the job that goes on in its place."""

    number: int
    """Its number in the checkpoint."""
    kind: str
    """Its kind, by its offsets."""
    place: str
    """The place up to which it was read, in words."""
    source: str | None
    """The source of the job; null: the query had not begun to read it."""
    at: str | None = None
    """The offset at which it goes on, as a function of the job gives it; null: that of the checkpoint."""


@described
@dataclass(frozen=True)
class Adoption:
    """The adoption of a checkpoint as a snapshot, or the plan of one."""

    checkpoint: str
    """The checkpoint's folder."""
    spark: str
    """The releases of Spark that can have written it."""
    epoch: int
    """The last committed epoch, with which the snapshot ends."""
    watermark_ms: int
    """The watermark of the epoch to come, in milliseconds since the epoch; 0: none."""
    partitions: int
    """The number of partitions of the state."""
    operators: list[AdoptedOperator]
    """The operators whose state goes on."""
    sources: list[AdoptedSource]
    """The sources that go on."""
    begins_empty: list[str]
    """Stages with state that the checkpoint has nothing of."""
    begins_anew: list[str]
    """Sources of the job that the checkpoint has no place of."""
    warnings: list[str]
    """Sentences about what to look at."""
    snapshot: SnapshotRecord | None = None
    """The snapshot; null: this is only a plan."""
