"""What a store of maps must do. One contract suite (tests/contract) runs against every implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pitstop.errors import OtherEpochError
from pitstop.maps.model import Entry, JournalBounds, JournalSlice, MapConfig, MapOverview


@dataclass(frozen=True)
class EpochId:
    """Marks what one sink wrote in one epoch, so that the same epoch written again changes nothing."""

    lineage: str
    sink: str
    epoch: int
    known_as: tuple[tuple[str, int], ...] = ()
    """Lineages and numbers under which versions before may have written it."""
    digest: str | None = None
    """Names what it reads (snapshots.epoch_digest); None: nothing is compared."""

    @property
    def names(self) -> tuple[tuple[str, int], ...]:
        """All lineages and numbers under which it may have been written."""
        return (*self.known_as, (self.lineage, self.epoch))

    def is_in(self, map_name: str, lineage: str, marked: int, digest: str | None) -> bool:
        """Whether that mark of its sink says that it is written: an epoch of one of its names, and its digest if it has one.

        OtherEpochError if the mark is one of another checkpoint.
        """
        number = dict(self.names)[lineage]
        if marked < number:
            return False
        # By a name that it had in versions before, their job may have gone on since.
        later = marked > number and lineage == self.lineage
        if None not in (digest, self.digest) and (later or (marked == number and digest != self.digest)):
            raise OtherEpochError(
                f"Sink '{self.sink}' has epoch {marked} in map '{map_name}' already, and it is none of this job's saved state: "
                "the data folder was put back from an older copy than the store, or another server runs a copy of it. Put back "
                "the store of the same time, or let 'pitstop update JOB' go on from the saved state, which writes again what was "
                "written since that copy (docs/backup.md)."
            )
        return True


@dataclass(frozen=True)
class EpochWritten:
    """An epoch that a map has got."""

    older: int
    """Changes that were left out, being older than what their entries hold."""


@dataclass(frozen=True)
class Fence:
    """The run that writes; refused (FencedError) if the job has a newer run."""

    job_id: str
    token: int


class MapStore(Protocol):
    """Many writers and readers in several processes. A put that returned survives SIGKILL."""

    @property
    def longest_key(self) -> int | None:
        """How many bytes of UTF-8 a key may have; None: any number."""
        ...

    def configure(self, config: MapConfig) -> None:
        """Create the map or change its settings; a smaller capacity trims the journal at once."""
        ...

    def reconfigure(self, name: str, change: Callable[[MapConfig], MapConfig]) -> None:
        """The same, out of the settings that it has: nobody else changes them in between."""
        ...

    def config(self, name: str) -> MapConfig | None: ...

    def names(self) -> list[str]: ...

    def overview(self) -> list[MapOverview]:
        """All maps, by name, as ``config``, ``size`` and ``bounds`` tell of each; many take as many queries as one."""
        ...

    def drop(self, name: str) -> bool:
        """Remove the map, its entries and its journal."""
        ...

    def put_all(self, name: str, entries: Iterable[tuple[str, str]]) -> int:
        """Write entries and journal events in one transaction, making the map if there is none; returns how many.

        UsageError for a key that is too long, as with ``put_if``.
        """
        ...

    def put_if(self, name: str, entries: Iterable[tuple[str, str]], version: int) -> None:
        """Write all of these entries if that is the version of each, 0 standing for no entry, else none, in one step: of several
        who have read them, one writes. ConflictError, with the ``key``, for the others.

        An entry that was removed and written anew begins with 1 again.
        """
        ...

    def get(self, name: str, key: str) -> Entry | None: ...

    def delete(self, name: str, key: str, version: int | None = None) -> bool:
        """False if there is none; with a version as ``put_if``."""
        ...

    def clear(self, name: str) -> int: ...

    def entries(self, name: str, prefix: str = "", after: str | None = None, limit: int | None = None) -> list[Entry]:
        """Ordered by key; ``after`` is the last key of the page before."""
        ...

    def size(self, name: str) -> int: ...

    def bounds(self, name: str) -> JournalBounds | None:
        """What the journal holds; entries whose time has run out are in it by then."""
        ...

    def journal(self, name: str, after: int, limit: int) -> JournalSlice:
        """Events with sequence > ``after``, oldest first, those of entries whose time has run out included."""
        ...

    def write_epoch(
        self,
        name: str,
        changes: Sequence[tuple[str, str | None]],
        epoch: EpochId | None,
        fence: Fence | None,
        orders: Sequence[str] | None = None,
    ) -> EpochWritten | None:
        """Apply changes in order (None removes) and mark the epoch, in one transaction.

        ``orders`` has the order of each change (maps.order), which is kept beside the entry: a change that is older than what
        the entry holds is left out. An entry that is removed leaves no order behind. Any other write takes the entry's order
        away: whoever writes next wins.

        Returns None, and changes nothing, if that epoch (or a later one) of that lineage and sink is already in; OtherEpochError
        if by its digest that is one of another checkpoint. While the fence's job may still go back from its version
        (model.job.Job.withdrawable), the old values are kept for ``withdraw``.
        """
        ...

    def update_epoch(
        self,
        name: str,
        changes: Sequence[tuple[str, str | None]],
        update: Callable[[str | None, str | None], str | None],
        epoch: EpochId | None,
        fence: Fence | None,
    ) -> EpochWritten | None:
        """As ``write_epoch``, each new value being ``update(old, new)``; None removes."""
        ...

    def withdraw(self, operation: int) -> int:
        """Make entries what they were before the new version of that update wrote them, with events in the journal as for
        other writes; returns how many were changed. What others have written after that version stays.

        May be cut off and done again; done twice, it does nothing the second time.
        """
        ...

    def forget_withdrawable(self) -> None:
        """Forget the old values of updates that no job may go back from any more."""
        ...
