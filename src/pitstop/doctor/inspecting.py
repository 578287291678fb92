"""Reads files of a checkpoint and tells their flaws, with whatever checksums lie beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pitstop.doctor.files import Tree
from pitstop.doctor.flaws import SST_END, ZIP_ERRORS, Flaw, hadoop_flaw, note_flaw, spark_flaw, stream_flaw, zip_flaw
from pitstop.doctor.logs import UnreadableError
from pitstop.doctor.numbers import whole

T = TypeVar("T")
USUAL_BYTES = 64 << 20
"""The bytes of state files of which checksums are computed, unless all are asked for."""
_LZ4_END = b"LZ4Block"
_END_BYTES = 21


@dataclass
class Coverage:
    """The state files that were looked at: whole, or only at both ends and by size."""

    whole: int = 0
    whole_bytes: int = 0
    by_ends: int = 0
    by_ends_bytes: int = 0


@dataclass
class Inspector:
    """Reads files of a tree. ``most_bytes`` of state files are read whole; None: all."""

    tree: Tree
    most_bytes: int | None = USUAL_BYTES
    codec: str = "lz4"
    coverage: Coverage = field(default_factory=Coverage)

    def parsed(self, name: str, parse: Callable[[bytes], T]) -> T:
        """Return the content of a small file by ``parse``. UnreadableError if it is missing or has a flaw."""
        content = self.read(name)
        value = parse(content)
        if flaw := self._sum_flaw(name, content):
            raise UnreadableError(flaw)
        return value

    def read(self, name: str) -> bytes:
        """Return the bytes of a small file. UnreadableError if it is missing or cannot be read."""
        if self.tree.facts(name) is None:
            raise UnreadableError(Flaw.MISSING)
        try:
            return self.tree.read(name)
        except OSError as error:
            raise UnreadableError(Flaw.UNREADABLE, error.strerror or str(error)) from None

    def state_flaw(self, name: str) -> Flaw | None:
        """Return the flaw of a snapshot or changelog; None if it is whole, as far as it is read."""
        facts = self.tree.facts(name)
        if facts is None:
            return Flaw.MISSING
        try:
            if not self._may_read(facts.size):
                return self._flaw_by_ends(name, facts.size)
            content = self.tree.read(name)
        except OSError:
            return Flaw.UNREADABLE
        if name.endswith(".sst"):
            flaw = None if content.endswith(SST_END) else Flaw.CUT if content else Flaw.EMPTY
        else:
            flaw = zip_flaw(content) if name.endswith(".zip") else stream_flaw(content, self.codec)
        return flaw or self._sum_flaw(name, content)

    def note_flaw(self, name: str) -> tuple[str, Flaw] | None:
        """Return the name and flaw of the note with the checksum of a state file, which Spark 4.1 and later write beside it."""
        note = f"{name}.crc"
        if self.tree.facts(note) is None:
            return None
        try:
            flaw = note_flaw(self.tree.read(note))
        except OSError:
            flaw = Flaw.UNREADABLE
        return (note, flaw) if flaw is not None else None

    def tables_of(self, name: str) -> tuple[dict[str, int], int | None, str | None]:
        """Return what a RocksDB snapshot says: its tables with their bytes, the number of keys, and the version of RocksDB.

        UnreadableError if it does not say so.
        """
        import io
        import zipfile

        try:
            with zipfile.ZipFile(io.BytesIO(self.read(name))) as packed:
                text = packed.read("metadata").decode()
                options = next((entry for entry in packed.namelist() if entry.startswith("OPTIONS")), None)
                settings = packed.read(options)[:4000].decode(errors="replace") if options else ""
            facts: dict[str, Any] = json.loads(text.partition("\n")[2])
            files = {str(file["dfsSstFileName"]): whole(file["sizeBytes"]) for file in facts.get("sstFiles") or ()}
            files |= {str(file["dfsLogFileName"]): -1 for file in facts.get("logFiles") or ()}
            keys = whole(facts["numKeys"]) if "numKeys" in facts else None
        except (*ZIP_ERRORS, TypeError, AttributeError) as error:
            raise UnreadableError(Flaw.GARBAGE, f"its metadata cannot be read ({error})") from None
        _, _, version = settings.partition("rocksdb_version=")
        return files, keys, version.partition("\n")[0].strip() if version else None

    def _may_read(self, size: int) -> bool:
        coverage = self.coverage
        if self.most_bytes is None or coverage.whole_bytes + size <= self.most_bytes:
            coverage.whole, coverage.whole_bytes = coverage.whole + 1, coverage.whole_bytes + size
            return True
        coverage.by_ends, coverage.by_ends_bytes = coverage.by_ends + 1, coverage.by_ends_bytes + size
        return False

    def _flaw_by_ends(self, name: str, size: int) -> Flaw | None:
        head, tail = self.tree.read(name, 0, 64), self.tree.read(name, max(0, size - 64), size)
        if name.endswith(".sst"):
            return None if tail.endswith(SST_END) else Flaw.CUT
        if name.endswith(".zip"):
            return None if head.startswith(b"PK") and b"PK\x05\x06" in tail else Flaw.CUT
        # A first block that is longer than the head is no cut: its frame says how long it is.
        if (flaw := stream_flaw(head, self.codec)) not in (None, Flaw.CUT):
            return flaw
        return Flaw.CUT if self.codec == "lz4" and not tail[-_END_BYTES:].startswith(_LZ4_END) else None

    def _sum_flaw(self, name: str, content: bytes) -> Flaw | None:
        folder, _, base = name.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        names = self.tree.names(folder)
        for sums, flaw_by in ((f".{base}.crc", hadoop_flaw), (f"{base}.crc", spark_flaw)):
            if sums in names:
                try:
                    flaw = flaw_by(content, self.tree.read(prefix + sums))
                except OSError:
                    continue
                if flaw is not None:
                    return flaw
        return None
