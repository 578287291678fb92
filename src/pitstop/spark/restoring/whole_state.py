"""The repair of a checkpoint whose last epoch is committed without its state: it goes back by that epoch, if it can.

Releases before this one committed an epoch that no sink had read without its state. Nothing but the commit is taken back. The
epoch's plan stays, so the next run does it again with the same rows, and sinks know it by the same lineage and number.
"""

from __future__ import annotations

from pathlib import Path

from pitstop.errors import SnapshotError
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.state_files import StateFiles


def go_back_to_whole_state(checkpoint: Checkpoint) -> str | None:
    """Return a sentence about the epoch that was taken back; None if the last epoch has its state.

    SnapshotError if the epoch before has no state either, or if sinks may have an epoch after it.
    """
    epoch, state = checkpoint.committed(), StateFiles(checkpoint, _operators(checkpoint))
    missing = state.missing(epoch) if epoch >= 0 else ()
    if not missing:
        return None
    if epoch == 0 or checkpoint.committed_at(epoch - 1) is None or state.missing(epoch - 1):
        raise SnapshotError(
            f"{_said(checkpoint, epoch, missing)}, nor is that of the epoch before: start the job from a snapshot, if there is "
            "one."
        )
    if checkpoint.planned() > epoch and checkpoint.writing() > epoch:
        raise SnapshotError(
            f"{_said(checkpoint, epoch, missing)}, and sinks have begun to get epoch {epoch + 1}: start the job from a snapshot, "
            "if there is one."
        )
    checkpoint.take_back_last()
    return f"{_said(checkpoint, epoch, missing)}: the epoch is done again from the state of epoch {epoch - 1}"


def check_whole_state(checkpoint: Checkpoint, epoch: int, name: str) -> None:
    """Raise SnapshotError if a snapshot of an epoch is without a part of its state."""
    missing = StateFiles(checkpoint, _operators(checkpoint)).missing(epoch)
    if missing:
        raise SnapshotError(
            f"Snapshot '{name}' cannot be restored. {_said(checkpoint, epoch, missing)}: use another "
            "snapshot, or resume the job that it was taken of, which does the epoch again, and take a new one."
        )


def _operators(checkpoint: Checkpoint) -> int:
    return len(checkpoint.facts().get("plan", {}).get("operators", ()))


def _said(checkpoint: Checkpoint, epoch: int, missing: tuple[Path, ...]) -> str:
    slots = checkpoint.facts()["plan"]["operators"]
    stages = dict.fromkeys(f"'{slots[int(folder.parts[1])][0]}'" for folder in missing)
    places = ", ".join(str(checkpoint.path / folder) for folder in missing[:3]) + (", …" if len(missing) > 3 else "")
    return f"The state of stage {' and '.join(stages)} as of epoch {epoch} is missing in {places}"
