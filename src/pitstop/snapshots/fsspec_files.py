"""Files in any file system that fsspec reaches: object stores, HDFS, memory."""

from __future__ import annotations

from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

from pitstop.snapshots.files import FileFacts


class FsspecFiles:
    """snapshots.files.Files over a fsspec file system, whose paths are those of the port.

    An object appears whole with its last byte, and is never changed, so copies are the store's own and share nothing.
    """

    def __init__(self, file_system: Any) -> None:
        self._fs = file_system

    def open(self, path: Path) -> BufferedIOBase:
        return cast(BufferedIOBase, self._fs.open(str(path), "rb"))

    def write(self, path: Path, content: bytes) -> None:
        self._fs.makedirs(str(path.parent), exist_ok=True)
        self._fs.pipe_file(str(path), content)

    def names(self, folder: Path) -> list[str]:
        if not self._fs.isdir(str(folder)):
            return []
        return [Path(name).name for name in self._fs.ls(str(folder), detail=False)]

    def walk(self, folder: Path) -> list[Path]:
        # Object stores have no leading slash in the names that they list.
        depth = len(folder.relative_to(folder.anchor).parts)
        below = (Path(name) for name in self._fs.find(str(folder)))
        return sorted(Path(*path.relative_to(path.anchor).parts[depth:]) for path in below)

    def facts(self, path: Path) -> FileFacts | None:
        try:
            info = self._fs.info(str(path))
            if info["type"] != "file":
                return None
            return FileFacts(int(info["size"]), float(self._fs.modified(str(path)).timestamp()))
        except FileNotFoundError:
            return None

    def copy(self, source: Path, target: Path) -> None:
        self._fs.makedirs(str(target.parent), exist_ok=True)
        self._fs.cp_file(str(source), str(target))

    def remove(self, path: Path) -> None:
        if self._fs.exists(str(path)):
            # Manifests go before the files that they name.
            for file in self.walk(path):
                if len(file.parts) == 1:
                    self._fs.rm_file(str(path / file))
            if self._fs.exists(str(path)):
                self._fs.rm(str(path), recursive=True)

    def publish(self, folder: Path, target: Path) -> None:
        self.remove(target)
        for path in sorted(self.walk(folder), key=lambda path: len(path.parts), reverse=True):
            self.copy(folder / path, target / path)
        self.remove(folder)
