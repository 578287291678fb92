"""The commits of one sink to an Iceberg table, and their withdrawal: a snapshot more, which takes their files out of the table.

The note of a sink is written before its first commit that may have to be withdrawn. Files that were compacted into others in
between stay, for those others hold rows of anybody.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.errors import EngineError, StoreError, UsageError
from pitstop.machine.iceberg_catalogs import errors_of_catalog, find_table, let_others_read, open_catalog
from pitstop.outputs.notes import note_once

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

LINEAGE, STAGE = "pitstop.lineage", "pitstop.stage"
"""Properties of a snapshot that tell whose it is."""
_SUFFIX = ".iceberg"
_ATTEMPTS, _PAUSE_SECONDS = 20, 0.05
log = logging.getLogger("pitstop.outputs")


@dataclass(frozen=True)
class IcebergCommits:
    """The commits of one sink on one lineage, after a snapshot of the table."""

    table: str
    catalog: dict[str, str]
    """The properties of the catalog, in which secrets have names."""
    lineage: str
    sink: str
    after: int
    """The sequence number of that snapshot; 0 if there was none."""

    def note(self, folder: Path) -> None:
        """Note below a folder that there may be such commits, unless that is noted."""
        note_once(folder / f"{self.lineage}-{self.sink}{_SUFFIX}", dataclasses.asdict(self))

    def withdraw(self) -> int:
        """Take the files of the commits out of the table; return their number. May be cut off and done again.

        StoreError if that may work later; what never will is a warning.
        """
        try:
            from pyiceberg.exceptions import CommitFailedException
        except ImportError:
            self._warn("the server has no package pyiceberg")
            return 0
        for attempt in range(_ATTEMPTS):
            time.sleep(_PAUSE_SECONDS * attempt)
            try:
                with errors_of_catalog(self.catalog):
                    return self._withdraw()
            except CommitFailedException:
                continue  # another writer was first
            except UsageError as error:
                self._warn(error.message)
                return 0
            except EngineError as error:
                if error.details.get("passing"):
                    raise StoreError(error.message) from error
                self._warn(error.message)
                return 0
        raise StoreError(f"The Iceberg table {self.table} has other writers, which were first {_ATTEMPTS} times in a row.")

    def _withdraw(self) -> int:
        table = find_table(open_catalog(self.catalog), self.table, with_history=True)
        files = list(self._files(table)) if table is not None else []
        if table is None or not files:
            return 0
        transaction = table.transaction()
        with transaction.update_snapshot(snapshot_properties={"pitstop.withdraws": self.lineage}).overwrite() as overwrite:
            for file in files:
                overwrite.delete_data_file(file)
        let_others_read(transaction.commit_transaction())
        return len(files)

    def _files(self, table: Table) -> Iterator[DataFile]:
        """Yield the files of the commits that the table still has."""
        own = set()
        for snapshot in table.metadata.snapshots:
            summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
            # Tables of format 1 do not number their snapshots: there the lineage alone tells.
            is_later = not snapshot.sequence_number or snapshot.sequence_number > self.after
            if is_later and (summary.get(LINEAGE), summary.get(STAGE)) == (self.lineage, self.sink):
                own.add(snapshot.snapshot_id)
        current = table.metadata.current_snapshot()
        if current is None:
            return
        for manifest in current.manifests(table.io):
            # Manifests of later commits may have entries of earlier ones, which keep the snapshot that added them.
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True) if own else ():
                if entry.snapshot_id in own:
                    yield entry.data_file

    def _warn(self, why: str) -> None:
        log.warning(
            "rows of sink '%s' stay in the Iceberg table %s, though its version is gone back from: %s", self.sink, self.table, why
        )


def noted_iceberg_commits(folder: Path) -> list[IcebergCommits]:
    """Return the commits that are noted in a folder of notes."""
    return [IcebergCommits(**json.loads(note.read_text())) for note in sorted(folder.glob(f"*{_SUFFIX}"))]
