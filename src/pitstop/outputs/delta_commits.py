"""The commits of one sink to a Delta table, and their withdrawal: a commit more, which takes their files out of the table.

The note of a sink is written before its first commit that may have to be withdrawn. Files that were compacted into others in
between stay, for those others hold rows of anybody.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pitstop.errors import StoreError, UsageError
from pitstop.kit.lines import lines_of
from pitstop.machine.private import usual_mode
from pitstop.outputs.notes import note_once
from pitstop.outputs.table_folders import LOG_FOLDER, StoreRefusalError, TableFolder
from pitstop.pipeline.object_stores import S3Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

WORDS = "pitstop"
"""The field of a commit's information that tells job, stage, lineage and epoch."""
_SUFFIX = ".delta"
_ATTEMPTS, _PAUSE_SECONDS = 20, 0.05
log = logging.getLogger("pitstop.outputs")


@dataclass(frozen=True)
class DeltaCommits:
    """The commits of one sink on one lineage, after a version of the table."""

    folder: str
    """The folder of the table, absolute, or in S3."""
    lineage: str
    sink: str
    after: int
    store: str | None = None
    """The way to S3 as the text of an S3Store, in which secrets have names."""

    def note(self, folder: Path) -> None:
        """Note below a folder that there may be such commits, unless that is noted."""
        note_once(folder / f"{self.lineage}-{self.sink}{_SUFFIX}", dataclasses.asdict(self))

    def withdraw(self) -> int:
        """Take the files of the commits out of the table; return their number. May be cut off and done again.

        StoreError or OSError if that may work later; what never will is a warning.
        """
        try:
            from deltalake import CommitProperties, DeltaTable
            from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
        except ImportError:
            self._warn("the server has no package deltalake")
            return 0
        try:
            folder = TableFolder.of(self.folder, S3Store.from_text(self.store or "{}"))
        except UsageError as error:
            self._warn(error.message)
            return 0
        for attempt in range(_ATTEMPTS):
            time.sleep(_PAUSE_SECONDS * attempt)
            try:
                table = DeltaTable(**folder.delta)
                removals = self._removals(table, folder)
                if removals and table.metadata().configuration.get("delta.appendOnly") == "true":
                    self._warn("nothing may be removed from it (delta.appendOnly)")
                    return 0
                if removals:
                    partitions = table.metadata().partition_columns or None
                    words = CommitProperties(custom_metadata={WORDS: {"withdraws": self.lineage, "stage": self.sink}})
                    table.create_write_transaction(removals, "append", table.schema(), partitions, commit_properties=words)
                    let_others_read(folder, table.version() + 1)
                return len(removals)
            except TableNotFoundError:
                return 0
            except CommitFailedError:
                continue  # another writer was first
            except StoreRefusalError as error:
                self._warn(f"it {error}")
                return 0
            except OSError as error:
                try:
                    folder.judge(error)
                except StoreRefusalError as refusal:
                    self._warn(f"it {refusal}")
                    return 0
                raise
            except DeltaError as error:
                self._warn(str(error))
                return 0
        raise StoreError(f"The Delta table {self.folder} has other writers, which were first {_ATTEMPTS} times in a row.")

    def _removals(self, table: DeltaTable, folder: TableFolder) -> list[Any]:
        """Return the actions that remove the files of the commits that the table still has."""
        from deltalake.transaction import RemoveAction

        now = int(time.time() * 1000)
        active = set(table.get_add_actions()["path"].to_pylist())
        adds = [add for version in range(self.after + 1, table.version() + 1) for add in self._adds(version, folder)]
        return [
            RemoveAction(unquote(add["path"]), True, now, add["size"], add["partitionValues"])
            for add in adds
            if add["path"] in active
        ]

    def _adds(self, version: int, folder: TableFolder) -> list[dict[str, Any]]:
        """Return the files that a version adds, if it is a commit of this sink."""
        try:
            lines = lines_of(folder.text(f"{LOG_FOLDER}/{version:020}.json")[0])
        except FileNotFoundError:  # an old one, of which the table keeps the outcome alone
            self._warn(f"the log of the table's version {version}, which would tell them, is gone")
            return []
        actions = [json.loads(line) for line in lines if line.strip()]
        words = [action["commitInfo"].get(WORDS) or {} for action in actions if "commitInfo" in action]
        own = any((each.get("lineage"), each.get("stage")) == (self.lineage, self.sink) for each in words)
        return [action["add"] for action in actions if "add" in action] if own else []

    def _warn(self, why: str) -> None:
        log.warning(
            "rows of sink '%s' stay in the Delta table %s, though its version is gone back from: %s", self.sink, self.folder, why
        )


def noted_commits(folder: Path) -> list[DeltaCommits]:
    """Return the commits that are noted in a folder of notes."""
    return [DeltaCommits(**json.loads(note.read_text())) for note in sorted(folder.glob(f"*{_SUFFIX}"))]


def let_others_read(folder: TableFolder, first: int, data_too: bool = False) -> None:
    """Give the files of a table's log, from a version on, the permissions that the user's own would have.

    All else of a run is its user's alone. In S3 the bucket says who may read. ``data_too``: also the files they add.
    """
    if not folder.is_here:
        return
    log_folder = folder.path / LOG_FOLDER
    _open_to_others(log_folder, 0o777)
    _open_to_others(log_folder / "_last_checkpoint", 0o666)
    version = first
    while (log_folder / f"{version:020}.json").exists():
        _open_to_others(log_folder / f"{version:020}.json", 0o666)
        for path in _added(log_folder / f"{version:020}.json") if data_too else ():
            _open_to_others(folder.path / path, 0o666)
        _open_to_others(log_folder / f"{version:020}.checkpoint.parquet", 0o666)
        version += 1


def _added(version: Path) -> list[str]:
    """Return the paths of the files that a version of a table adds, below the table's folder."""
    actions = [json.loads(line) for line in lines_of(version.read_text()) if line.strip()]
    return [unquote(action["add"]["path"]) for action in actions if "add" in action]


def _open_to_others(path: Path, mode: int) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):  # not there in this version, or another user's
        path.chmod(usual_mode(mode))
