"""Marks of epochs in lake tables: a commit has the rows of an epoch, and the mark by which the epoch is known again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pitstop.errors import OtherEpochError
from pitstop.spark.sinks import EpochContext

DIGITS = 15
"""The hexadecimal digits of a digest that a mark has: those of a number of 63 bits, as the log of a Delta table has them."""


@dataclass(frozen=True)
class Mark:
    """The last epoch of one lineage that a table has."""

    epoch: int
    digest: str | None
    """The beginning of the epoch's digest; None: it is not known."""


def short_digest(context: EpochContext) -> str | None:
    """Return the beginning of the epoch's digest, as marks have it."""
    return None if context.digest is None else context.digest[:DIGITS]


def has_epoch(
    context: EpochContext, place: str, mark_of: Callable[[str], Mark | None], last_token: Callable[[], int | None]
) -> bool:
    """Return True if a table has the epoch. OtherEpochError if it has a later one, or another one of that number.

    ``mark_of`` gives the mark of a lineage, and ``last_token`` the number of the last run of the job that wrote.
    """
    run, own_digest = context.run, short_digest(context)
    for lineage, epoch in (*run.known_as, (context.lineage, context.epoch)):
        mark = mark_of(lineage)
        if mark is None or mark.epoch < epoch:
            continue
        if mark.epoch > epoch or (None not in (mark.digest, own_digest) and mark.digest != own_digest):
            raise _other_epoch(context, place, mark.epoch)
        return True
    token, newest = run.fence.token if run.fence is not None else None, last_token()
    if token is None or newest is None or newest < token:
        return False
    # Each run writes on one lineage, and later runs have higher numbers: this one has its number from an older copy of the job.
    if newest > token or mark_of(context.lineage) is None:
        raise _other_epoch(context, place, context.epoch)
    return False


def _other_epoch(context: EpochContext, place: str, epoch: int) -> OtherEpochError:
    return OtherEpochError(
        f"Sink '{context.stage}': the table {place} has another epoch {epoch} of this job: its saved state was put back from an "
        "older copy, or two servers run from one copy. Write into another table, or start the job from a snapshot under another "
        "name."
    )
