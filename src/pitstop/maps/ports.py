"""The protocol of stores of maps. One contract suite (tests/contract) runs against every implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pitstop.errors import OtherEpochError
from pitstop.maps.model import Entry, JournalBounds, JournalSlice, MapConfig, MapOverview


@dataclass(frozen=True)
class EpochId:
    """The mark of what one sink wrote in one epoch. Written again, the epoch changes nothing."""

    lineage: str
    sink: str
    epoch: int
    known_as: tuple[tuple[str, int], ...] = ()
    """Lineages and numbers under which earlier versions may have written the epoch."""
    digest: str | None = None
    """The digest of what the epoch reads (snapshots.epoch_digest); None: nothing is compared."""

    @property
    def names(self) -> tuple[tuple[str, int], ...]:
        """All lineages and numbers under which the epoch may have been written."""
        return (*self.known_as, (self.lineage, self.epoch))

    def is_in(self, map_name: str, lineage: str, marked: int, digest: str | None) -> bool:
        """Return True if the sink's mark in a map says that this epoch, by one of its names, is written.

        OtherEpochError if the mark is, by its digest, that of another checkpoint.
        """
        number = dict(self.names)[lineage]
        if marked < number:
            return False
        # By a name that it had in versions before, their job may have gone on since.
        later = marked > number and lineage == self.lineage
        if None not in (digest, self.digest) and (later or (marked == number and digest != self.digest)):
            raise OtherEpochError(
                f"Sink '{self.sink}' has epoch {marked} in map '{map_name}' already, and it does not belong to this job's saved "
                "state: the data folder was put back from an older copy than the store, or another server runs a copy of it. Put "
                "back the store of the same time, or let 'pitstop update JOB' go on from the saved state, which writes again "
                "what was written since that copy (docs/backup.md)."
            )
        return True


@dataclass(frozen=True)
class EpochWritten:
    """The outcome of an epoch that a map has taken in."""

    older: int
    """The number of changes that were left out because their entries hold newer values."""


@dataclass(frozen=True)
class Fence:
    """The run that writes. It is refused (FencedError) if the job has a newer run."""

    job_id: str
    token: int


class MapStore(Protocol):
    """A store of maps for many writers and readers in several processes. A put that returned survives SIGKILL."""

    @property
    def longest_key(self) -> int | None:
        """The most bytes of UTF-8 that a key may have; None: any number."""
        ...

    def configure(self, config: MapConfig) -> None:
        """Create the map or change its settings; a smaller capacity trims the journal at once."""
        ...

    def reconfigure(self, name: str, change: Callable[[MapConfig], MapConfig]) -> None:
        """Change the settings of a map by a function of the present ones, which nobody else changes in between."""
        ...

    def config(self, name: str) -> MapConfig | None: ...

    def names(self) -> list[str]: ...

    def overview(self) -> list[MapOverview]:
        """Return all maps, by name, with what ``config``, ``size`` and ``bounds`` tell. Many take as many queries as one."""
        ...

    def drop(self, name: str) -> bool:
        """Remove the map, its entries and its journal."""
        ...

    def put_all(self, name: str, entries: Iterable[tuple[str, str]]) -> int:
        """Write entries and journal events in one transaction, and make the map if there is none. Return the number of entries.

        UsageError for a key that is too long, as with ``put_if``.
        """
        ...

    def put_if(self, name: str, entries: Iterable[tuple[str, str]], version: int) -> None:
        """Write all of these entries, in one step, if each has that version; 0 stands for no entry. Else write none.

        ConflictError, with the ``key``, if a version is another one: of several writers that have read the entries, one writes.
        An entry that was removed and written anew begins with 1 again.
        """
        ...

    def get(self, name: str, key: str) -> Entry | None: ...

    def delete(self, name: str, key: str, version: int | None = None) -> bool:
        """Remove an entry; return False if there is none. With a version, check it as ``put_if`` does."""
        ...

    def clear(self, name: str) -> int: ...

    def entries(self, name: str, prefix: str = "", after: str | None = None, limit: int | None = None) -> list[Entry]:
        """Return entries, ordered by key. ``after`` is the last key of the page before."""
        ...

    def size(self, name: str) -> int: ...

    def bounds(self, name: str) -> JournalBounds | None:
        """Return the range of the journal, which then has the expiry of all entries whose time has run out."""
        ...

    def journal(self, name: str, after: int, limit: int) -> JournalSlice:
        """Return events with sequence > ``after``, oldest first, with those of entries whose time has run out."""
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

        ``orders`` has the order of each change (maps.order), which is kept beside the entry. A change that is older than the
        entry is left out. An entry that is removed leaves no order behind. Any other write removes the entry's order, so that
        the next write wins.

        Return None, and change nothing, if that epoch (or a later one) of that lineage and sink is already in; OtherEpochError
        if that epoch is, by its digest, one of another checkpoint. While the fence's job may still go back from its version
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
        """Write an epoch as ``write_epoch`` does, with ``update(old, new)`` as each new value; None removes."""
        ...

    def withdraw(self, operation: int) -> int:
        """Give entries the values that they had before the new version of that update wrote them. Return the number of changes.

        The journal gets events as for other writes. Values that others have written after that version stay. The call may be cut
        off and repeated; a second call changes nothing.
        """
        ...

    def forget_withdrawable(self) -> None:
        """Forget the old values of updates that no job may go back from any more."""
        ...
