"""Checkpoints and snapshots in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from io import BufferedIOBase, BytesIO
from pathlib import Path

from pitstop.snapshots.files import FileFacts

Content = tuple[bytes, float]
"""The bytes of a file, and the time when they were written (seconds since the epoch)."""


class MemoryFiles:
    """A snapshots.files.Files in dicts of dicts: folder -> name -> content. ``now`` stamps each write."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._folders: dict[str, dict[str, Content | None]] = {}
        """The files by path; None stands for a folder."""

    def open(self, path: Path) -> BufferedIOBase:
        return BytesIO(self._content(path)[0])

    def write(self, path: Path, content: bytes) -> None:
        self._put(path, (content, self._now()))

    def names(self, folder: Path) -> list[str]:
        return list(self._folders.get(str(folder), {}))

    def walk(self, folder: Path) -> list[Path]:
        return sorted(path.relative_to(folder) for path in self._below(folder))

    def facts(self, path: Path) -> FileFacts | None:
        content = self._folders.get(str(path.parent), {}).get(path.name)
        return FileFacts(len(content[0]), content[1]) if content is not None else None

    def copy(self, source: Path, target: Path) -> None:
        self._put(target, self._content(source))

    def remove(self, path: Path) -> None:
        above = f"{path}/"
        for folder in [folder for folder in self._folders if folder == str(path) or folder.startswith(above)]:
            del self._folders[folder]
        self._folders.get(str(path.parent), {}).pop(path.name, None)

    def publish(self, folder: Path, target: Path) -> None:
        moved = [(target / path.relative_to(folder), self._content(path)) for path in self._below(folder)]
        self.remove(target)
        for path, content in moved:
            self._put(path, content)
        self.remove(folder)

    def _content(self, path: Path) -> Content:
        content = self._folders.get(str(path.parent), {}).get(path.name)
        if content is None:
            raise FileNotFoundError(path)
        return content

    def _put(self, path: Path, content: Content) -> None:
        self._folder(path.parent)[path.name] = content

    def _folder(self, path: Path) -> dict[str, Content | None]:
        names = self._folders.get(str(path))
        if names is None:
            names = self._folders[str(path)] = {}
            if path.parent != path:
                self._folder(path.parent)[path.name] = None
        return names

    def _below(self, folder: Path) -> list[Path]:
        files = []
        for name, content in self._folders.get(str(folder), {}).items():
            files += self._below(folder / name) if content is None else [folder / name]
        return files
