"""The layout of a Structured Streaming checkpoint (Spark 4.3, offset log v1), as files.

``offsets/N`` the plan of epoch N: version, metadata JSON, then one line a source, in the query's order, with its
offset or ``-``. Which stage each line belongs to stands in ``pitstop.json``: Spark can name sources itself (offset
log v2), but then refuses a query in which two branches read one source; each branch is a line of its own.
``commits/N`` says that epoch N is done, and the watermark of the next one; ``state/<operator>/<partition>/``
immutable files named by state version (epoch + 1); ``sources/<line>/`` logs of file sources. ``pitstop.json`` is
ours: which plan wrote it.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.errors import SnapshotError
from pitstop.kit.lines import lines_of
from pitstop.snapshots.epoch_digest import digest_of
from pitstop.snapshots.files import LOCAL_FILES, Files, read_text, write_text

FACTS = "pitstop.json"
TABLES = "tables"
"""The folder with the tables of hash joins as they were last read (table_copies), which is no part of a snapshot."""
WRITING = "writing"
"""The file with the number of the epoch that sinks last began to get."""
_AS_BEFORE = "unfinished"
_VERSION = re.compile(r"\.?(\d+)(?:_[^.]*)?\.(?:changelog|zip|delta|snapshot)(?:\..+)?")


NO_OFFSET = "-"


@dataclass(frozen=True)
class OffsetLog:
    """One file of the offset log."""

    metadata: dict[str, Any]
    offsets: tuple[str | None, ...]
    """The offset of each source as JSON text, in the query's order; None: it has not begun."""

    def text(self) -> str:
        lines = ["v1", _compact(self.metadata)]
        return "\n".join([*lines, *(NO_OFFSET if offset is None else offset for offset in self.offsets)])

    @classmethod
    def parse(cls, text: str, where: Path) -> OffsetLog:
        lines = lines_of(text)
        if len(lines) < 2 or lines[0] != "v1":
            raise SnapshotError(f"{where} is no offset log of version 1: the checkpoint is damaged or not ours.")
        return cls(json.loads(lines[1]), tuple(None if line == NO_OFFSET else line for line in lines[2:]))


@dataclass(frozen=True)
class EpochOfBefore:
    """An epoch that earlier versions have begun, so that sinks may have it."""

    epoch: int
    """Its number in this checkpoint."""
    known_as: tuple[tuple[str, int], ...]
    """Lineages and numbers under which it was begun: sinks know it by these."""
    digest: str | None = None
    """The digest by which sinks know what it reads (snapshots.epoch_digest); None: an older release has begun it."""


class Checkpoint:
    """A checkpoint folder. Nothing is cached, because another process may be writing it."""

    def __init__(self, path: Path, files: Files = LOCAL_FILES) -> None:
        self.path, self.files = path, files

    def committed(self) -> int:
        """Return the last committed epoch, -1 if there is none."""
        return max(self._epochs("commits"), default=-1)

    def committed_at(self, epoch: int) -> float | None:
        """Return the time at which an epoch was committed, in seconds since the epoch; None if it was not, or is forgotten."""
        facts = self.files.facts(self.path / "commits" / str(epoch))
        return facts.modified if facts is not None else None

    def planned(self) -> int:
        """Return the last planned epoch, -1 if there is none; one more than committed if it was cut off."""
        return max(self._epochs("offsets"), default=-1)

    def planned_at(self, epoch: int) -> int:
        """Return the time at which an epoch was planned, in milliseconds since the Unix epoch.

        It is the epoch's clock, also when it runs again.
        """
        return int(self.offsets(epoch).metadata["batchTimestampMs"])

    def offsets(self, epoch: int) -> OffsetLog:
        """Return the offsets up to which epoch ``epoch`` has read."""
        path = self.path / "offsets" / str(epoch)
        return OffsetLog.parse(read_text(self.files, path), path)

    def offsets_by_source(self, epoch: int) -> dict[str, dict[str, str]]:
        """Return stage -> its reader -> offset as JSON text, for the sources that have begun (see plan.model.SourceSlot)."""
        slots = self.facts().get("sources", [])
        offsets = self.offsets(epoch).offsets
        if len(slots) != len(offsets):
            raise SnapshotError(f"{self.path}: epoch {epoch} has {len(offsets)} sources, its plan {len(slots)}: damaged.")
        by_source: dict[str, dict[str, str]] = {}
        for (stage, reader), offset in zip(slots, offsets, strict=True):
            if offset is not None:
                by_source.setdefault(stage, {})[reader] = offset
        return by_source

    def write_offsets(self, epoch: int, log: OffsetLog) -> None:
        self._write("offsets", epoch, log.text())

    def next_watermark(self, epoch: int) -> int:
        """Return the watermark (ms) with which the epoch after ``epoch`` runs."""
        return int(self._commit(epoch).get("nextBatchWatermarkMs", 0))

    def write_commit(self, epoch: int, watermark_ms: int) -> None:
        """Mark an epoch as done; the next one runs with this watermark."""
        existing = self._commit(epoch) if self.committed_at(epoch) is not None else {}
        text = _compact(existing | {"nextBatchWatermarkMs": watermark_ms})
        self._write("commits", epoch, f"v1\n{text}")

    def as_if_committed(self, epoch: int, folder: Path) -> Checkpoint:
        """Return a view, in ``folder``, in which ``epoch`` is the only one and committed.

        Its state is written, its commit is not yet. Spark's readers of state refuse an epoch without a commit. Works for
        checkpoints on a local disk only: state that Spark is writing is not copied, but seen through a symbolic link.
        """
        self.files.remove(folder)
        view = Checkpoint(folder, self.files)
        view.write_offsets(epoch, self.offsets(epoch))
        view.write_commit(epoch, 0)
        self.files.copy(self.path / "metadata", folder / "metadata")
        (folder / "state").symlink_to(self.path.resolve() / "state", target_is_directory=True)
        return view

    def rename_query(self) -> None:
        """Give a copy its own query id: Spark ends a query in its process that bears the same one."""
        self.files.remove(self.path / ".metadata.crc")
        write_text(self.files, self.path / "metadata", json.dumps({"id": str(uuid.uuid4())}))

    def copy_logs(self, target: Path) -> None:
        """Make ``target`` a checkpoint of these epochs without their state, of another query, that knows how state is kept."""
        for folder in ("offsets", "commits"):
            for path in self.files.walk(self.path / folder):
                self.files.copy(self.path / folder / path, target / folder / path)
        Checkpoint(target, self.files).rename_query()
        Checkpoint(target, self.files).write_facts(self.facts())

    def drop_after(self, epoch: int) -> None:
        """Forget planned and committed epochs beyond ``epoch``."""
        self._drop(lambda number: number > epoch)

    def drop_before(self, epoch: int) -> None:
        """Forget that epochs before ``epoch`` were planned and committed."""
        self._drop(lambda number: number < epoch)

    def go_back_to(self, epoch: int) -> None:
        """Forget all that was planned, or written into the state, after a committed epoch.

        An epoch in real time that is done anew ends elsewhere: a file of its first attempt would be taken for one of the second.
        """
        self.drop_after(epoch)
        if epoch < 0:
            self.files.remove(self.path / "state")  # Spark begins in no folder that has some
            return
        states = [Path("state", path) for path in self.files.walk(self.path / "state")]
        for path in states:
            if not self._belongs(path.parent, path.name, epoch):
                self.files.remove(self.path / path)

    def _drop(self, is_dropped: Callable[[int], bool]) -> None:
        for folder in ("offsets", "commits"):
            for number in filter(is_dropped, self._epochs(folder)):
                self._remove(folder, number)

    def take_back_last(self) -> None:
        """Turn the last committed epoch into one that is only planned, which the next run does again; its commit is set aside.

        Plans of later epochs are forgotten. This may be cut off and done again.
        """
        epoch = self.committed()
        # First: Spark goes on with the last plan there is, and would leave out the epoch that has lost its commit.
        for number in filter(lambda number: number > epoch, self._epochs("offsets")):
            self._remove("offsets", number)
        text = read_text(self.files, self.path / "commits" / str(epoch))
        write_text(self.files, self.path / "commits" / f".{epoch}.taken-back", text)
        self._remove("commits", epoch)

    def partitions(self) -> int:
        """Return the number of shuffle partitions with which the checkpoint was written."""
        conf = self.offsets(max(self.committed(), 0)).metadata.get("conf", {})
        return int(conf.get("spark.sql.shuffle.partitions", "200"))

    def provider(self) -> str:
        conf = self.offsets(max(self.committed(), 0)).metadata.get("conf", {})
        return str(conf.get("spark.sql.streaming.stateStore.providerClass", ""))

    def facts(self) -> dict[str, Any]:
        """Return the facts that the runner wrote down about it: job, plan, lineage, rows of each stage."""
        try:
            return dict(json.loads(read_text(self.files, self.path / FACTS)))
        except FileNotFoundError:
            return {}

    def write_facts(self, facts: dict[str, Any]) -> None:
        write_text(self.files, self.path / FACTS, json.dumps(facts))

    def begin_writing(self, epoch: int) -> None:
        """Note, without delay, that sinks begin to get an epoch. The note outlives the process, not a power cut.

        A run that has lost its job without knowing it takes back no note of its successor.
        """
        if self.writing() < epoch:
            aside = self.path / f".{WRITING}.{os.getpid()}.tmp"
            aside.write_text(str(epoch))
            aside.replace(self.path / WRITING)

    def writing(self) -> int:
        """Return the last epoch that sinks have begun to get, -1 if that is not known."""
        try:
            return int(read_text(self.files, self.path / WRITING) or -1)
        except FileNotFoundError:
            return -1

    def epoch_of_before(self) -> EpochOfBefore | None:
        """Return the epoch that is done first, if another version has begun it."""
        facts = self.facts().get(_AS_BEFORE)
        if not facts:
            return None
        return EpochOfBefore(facts["epoch"], tuple((name, number) for name, number in facts["known_as"]), facts.get("digest"))

    def begin_with(self, before: EpochOfBefore | None) -> None:
        """Note the epoch that another version has begun, or that there is none."""
        facts = {name: fact for name, fact in self.facts().items() if name != _AS_BEFORE}
        self.write_facts(facts | ({_AS_BEFORE: vars(before)} if before is not None else {}))

    def unfinished(self) -> dict[str, Any] | None:
        """Return a snapshot's facts about an epoch that was planned and not committed, if sinks may have it."""
        epoch, before = self.planned(), self.epoch_of_before()
        known_as = before.known_as if before is not None and before.epoch == epoch else ()
        if self.writing() == epoch:
            known_as = (*known_as, (self.facts()["lineage"], epoch))
        if epoch != self.committed() + 1 or not known_as:
            return None
        return {
            "known_as": known_as,
            "offsets": self.offsets_by_source(epoch),
            "metadata": self.offsets(epoch).metadata,
            "digest": digest_of(self, epoch),
        }

    def relocate(self, target: Path) -> None:
        """Make it usable at ``target``: Spark notes the absolute paths of some operators' schemas (transformWithState)."""
        operators = self.files.names(self.path / "state")
        for path in (path for operator in operators for path in self._notes(operator)):
            version, text = read_text(self.files, path).split("\n", 1)
            metadata = json.loads(text)
            for store in metadata["stateStoreInfo"]:
                store["stateSchemaFilePaths"] = [_moved(schema, target) for schema in store["stateSchemaFilePaths"]]
            self._write(str(path.parent.relative_to(self.path)), int(path.name), f"{version}\n{_compact(metadata)}")

    def schema_files(self, operator: int) -> dict[str, list[str]]:
        """Return store -> paths of its schema, for an operator whose metadata tell them; nothing for others."""
        notes = list(self._notes(str(operator)))
        if not notes:
            return {}
        stores = json.loads(read_text(self.files, notes[-1]).split("\n", 1)[1])["stateStoreInfo"]
        return {store["storeName"]: store["stateSchemaFilePaths"] for store in stores}

    def files_of(self, epoch: int) -> list[Path]:
        """Return the relative paths of all files that belong to the state as of a committed epoch.

        State files have versions epoch + 1 and older; a log's hidden checksum follows its file.
        """
        return [path for path in self.files.walk(self.path) if self._belongs(path.parent, path.name, epoch)]

    def _belongs(self, folder: Path, name: str, epoch: int) -> bool:
        # Spark writes a file of any version, also one long past, under a name like .40.zip.<uuid>.tmp first.
        if name.endswith((".tmp", ".tmp.crc")) or (not folder.parts and name == WRITING):
            return False
        top = folder.parts[0] if folder.parts else ""
        if top == TABLES:
            return False
        if top in ("offsets", "commits") or (top == "state" and folder.parts[-2:] == ("_metadata", "v2")):
            number = name.lstrip(".").split(".")[0]
            return number.isdigit() and int(number) <= epoch
        if top == "state" and "_metadata" not in folder.parts:
            match = _VERSION.fullmatch(name)
            return match is None or int(match.group(1)) <= epoch + 1
        return True

    def _epochs(self, folder: str) -> list[int]:
        return [int(name) for name in self.files.names(self.path / folder) if name.isdigit()]

    def _commit(self, epoch: int) -> dict[str, Any]:
        lines = lines_of(read_text(self.files, self.path / "commits" / str(epoch)))
        return dict(json.loads(lines[1])) if len(lines) > 1 else {}

    def _write(self, folder: str, epoch: int, text: str) -> None:
        self._remove(folder, epoch)
        write_text(self.files, self.path / folder / str(epoch), text)

    def _remove(self, folder: str, epoch: int) -> None:
        # Hadoop's local file system checks a file against its hidden .crc: they go together.
        for name in (str(epoch), f".{epoch}.crc"):
            self.files.remove(self.path / folder / name)

    def _notes(self, operator: str) -> Iterator[Path]:
        """Yield the metadata of an operator by epoch."""
        folder = f"state/{operator}/_metadata/v2"
        return (self.path / folder / str(epoch) for epoch in sorted(self._epochs(folder)))


def _compact(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _moved(path: str, target: Path) -> str:
    """Return a path below some checkpoint's ``state`` folder as it is below that of ``target``."""
    parts = Path(path).parts
    state = len(parts) - 1 - parts[::-1].index("_stateSchema") - 2
    return f"file:{target.absolute().joinpath(*parts[state:])}"
