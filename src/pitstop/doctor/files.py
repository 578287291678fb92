"""The files of a checkpoint: listed once, read by name, never written."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pitstop.doctor.numbers import is_number
from pitstop.errors import UsageError


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The size of a file, and when it was written, in seconds since the Unix epoch."""

    size: int
    modified: float


class Folder(Protocol):
    """A folder, on a disk or in an object store."""

    address: str
    unreadable: dict[str, str]
    """Path -> the reason why it is not in the listing, once that is done."""

    def listing(self) -> Iterator[tuple[str, str, FileFacts]]:
        """Yield the folder (empty for the top), name and facts of each file."""
        ...

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes of a file. OSError if it cannot be read."""
        ...


class LocalFolder:
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        self.address, self._path = str(path), path
        self.unreadable: dict[str, str] = {}

    def listing(self) -> Iterator[tuple[str, str, FileFacts]]:
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(self._path / folder) as scan:
                    entries = list(scan)
            except (FileNotFoundError, NotADirectoryError):
                if not folder:
                    raise
                continue  # removed since its parent was listed
            except OSError as error:
                if not folder:
                    raise
                self.unreadable[folder] = f"cannot be read: {error.strerror or error}"
                continue
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                        continue
                    status = entry.stat()
                except FileNotFoundError:
                    continue  # a temporary file that was renamed since, or a link that leads nowhere
                except OSError as error:
                    self.unreadable[path] = f"cannot be read: {error.strerror or error}"
                    continue
                if stat.S_ISDIR(status.st_mode):
                    self.unreadable[path] = "is a link to a folder, which the doctor does not follow"
                elif stat.S_ISREG(status.st_mode):
                    yield folder, entry.name, FileFacts(status.st_size, status.st_mtime)

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with open(f"{self.address}/{name}", "rb") as file:
            if start:
                file.seek(start)
            return file.read() if end is None else file.read(end - start)


class RemoteFolder:
    """A folder of any file system that fsspec knows."""

    def __init__(self, address: str) -> None:
        import fsspec

        self.address = address
        self.unreadable: dict[str, str] = {}
        self._system, self._path = fsspec.core.url_to_fs(address)

    def listing(self) -> Iterator[tuple[str, str, FileFacts]]:
        prefix = self._path.rstrip("/") + "/"
        with _errors_of_stores():
            files = self._system.find(self._path, detail=True)
        for path, facts in files.items():
            folder, _, name = path.removeprefix(prefix).rpartition("/")
            yield folder, name, FileFacts(int(facts.get("size") or 0), _seconds(facts))

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with _errors_of_stores():
            return bytes(self._system.cat_file(f"{self._path.rstrip('/')}/{name}", start=start or None, end=end))


@contextlib.contextmanager
def _errors_of_stores() -> Iterator[None]:
    """Raise OSError for each error of a store: each library has classes of its own for missing credentials and lost servers."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(" ".join(str(error).split()).rstrip(".") or type(error).__name__) from error


def _seconds(facts: dict[str, Any]) -> float:
    """Return when an object was written; each store has its own name and type for it."""
    moments = (facts.get(key) for key in ("mtime", "LastModified", "last_modified", "updated", "created"))
    moment = next((moment for moment in moments if moment is not None), 0.0)
    return float(moment.timestamp() if hasattr(moment, "timestamp") else moment) if not isinstance(moment, str) else 0.0


class Tree:
    """The files of a folder as they were when the tree was made."""

    def __init__(self, folder: Folder) -> None:
        self.address, self._folder = folder.address, folder
        self.folders: dict[str, dict[str, FileFacts]] = {}
        """Folder -> name -> facts; a folder that has only folders is not in it."""
        self.children: dict[str, set[str]] = {}
        """Folder -> names of the folders in it."""
        for path, name, facts in folder.listing():
            self.folders.setdefault(path, {})[name] = facts
        self.unreadable = folder.unreadable
        for path in self.folders:
            while path:
                parent, _, name = path.rpartition("/")
                names = self.children.setdefault(parent, set())
                if name in names:
                    break
                names.add(name)
                path = parent

    def names(self, folder: str) -> dict[str, FileFacts]:
        """Return the files right in a folder."""
        return self.folders.get(folder, {})

    def numbers(self, folder: str) -> list[int]:
        """Return the numbers that are names of files in a folder, in order."""
        return sorted(int(name) for name in self.names(folder) if is_number(name))

    def numbered_folders(self, folder: str) -> list[int]:
        """Return the numbers that are names of folders in a folder, in order."""
        return sorted(int(name) for name in self.children.get(folder, ()) if is_number(name))

    def facts(self, name: str) -> FileFacts | None:
        """Return the facts of a file; None if it is not there."""
        folder, _, base = name.rpartition("/")
        return self.names(folder).get(base)

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes of a file. OSError if it cannot be read."""
        return self._folder.read(name, start, end)

    def local_path(self, name: str) -> Path | None:
        """Return the absolute path of a file of this machine; None for one in an object store."""
        return Path(self.address, name).absolute() if isinstance(self._folder, LocalFolder) else None


def opened(address: str) -> Tree:
    """Return the files of the folder at a path or an address such as ``s3://bucket/folder``. UsageError if there is none."""
    try:
        tree = Tree(_folder(address))
    except ImportError as error:
        scheme = address.partition("://")[0]
        raise UsageError(
            f"{address} cannot be read: addresses of {scheme} need a library that is not installed ({error})."
        ) from None
    except ValueError as error:
        raise UsageError(f"{address} cannot be read: {error}.") from None
    except OSError as error:
        raise UsageError(f"Folder {address} cannot be read: {str(error.strerror or error).rstrip('.')}.") from None
    if not tree.folders:
        raise UsageError(f"Folder {address} has no files: give the checkpointLocation of a streaming query.")
    return tree


def _folder(address: str) -> Folder:
    if "://" in address and not address.startswith("file://"):
        return RemoteFolder(address)
    return LocalFolder(Path(address.removeprefix("file://")))
