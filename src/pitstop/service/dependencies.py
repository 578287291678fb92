"""The packages that jobs need. Each set of packages has a separate folder, which is made once."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

from pitstop.errors import ArtifactError, PitstopError
from pitstop.machine.private import UMASK
from pitstop.model.data_folder import DataFolder
from pitstop.service.requirements import Needed, needed


class Installer(Protocol):
    """Installs packages from the indexes that the server allows."""

    @property
    def present(self) -> Mapping[str, str]:
        """The packages that every job finds, and that are never installed: their normal names and versions."""
        ...

    @property
    def identity(self) -> Sequence[str]:
        """The facts that decide which packages meet a requirement: Python, machine, indexes."""
        ...

    def install(self, requirements: Sequence[Needed], target: Path, scratch: Path) -> None:
        """Install packages, and the packages that they need, into the new folder ``target``, within a bounded time.

        ArtifactError, with a sentence, if that fails. ``scratch`` is a folder for temporary files.
        """
        ...


class NothingInstalled:
    """The installer of a server that installs nothing: artifacts must contain all that they need."""

    @property
    def present(self) -> Mapping[str, str]:
        return {}

    @property
    def identity(self) -> Sequence[str]:
        return ()

    def install(self, requirements: Sequence[Needed], target: Path, scratch: Path) -> None:
        names = ", ".join(one.text for one in requirements)
        raise ArtifactError(f"This server installs no packages, and the job requires {names}: put them into its archive.")


class Dependencies:
    """Provides the folder with the packages that an artifact needs. A caller waits for a folder that is being made."""

    def __init__(self, data: DataFolder, installer: Installer) -> None:
        self._data, self._installer = data, installer
        self._making: dict[str, Future[None]] = {}
        self._lock = threading.Lock()

    def folder_for(self, artifact: Path, added: Sequence[str] = ()) -> Path | None:
        """Return the folder; None if nothing is needed. ArtifactError if a requirement is wrong or cannot be installed."""
        requirements = needed(artifact, added, self._installer.present)
        if not requirements:
            return None
        digest = self._digest(requirements)
        folder = self._data.dependencies_of(digest)
        while not _is_there(folder):
            with self._lock:
                if _is_there(folder):
                    break
                made_by_other = self._making.get(digest)
                making = self._making[digest] = made_by_other or Future()
            if made_by_other is not None:
                made_by_other.result()
                continue
            try:
                self._make(folder, requirements, artifact)
            except BaseException as error:
                self._end_making(digest)
                making.set_exception(error)
                raise
            self._end_making(digest)
            making.set_result(None)
        return folder

    def _end_making(self, digest: str) -> None:
        with self._lock:
            del self._making[digest]

    def _make(self, folder: Path, requirements: Sequence[Needed], artifact: Path) -> None:
        """Make a folder that appears whole or not at all. Another server of the same data folder may be quicker."""
        scratch = folder.with_name(f".{folder.name[:16]}.{secrets.token_hex(4)}")
        try:
            scratch.mkdir(parents=True)
            new_folder = scratch / "made"
            self._installer.install(requirements, new_folder, scratch)
            _close_to_others(new_folder)
            try:
                new_folder.rename(folder)
            except OSError:
                if not folder.exists():
                    raise
        except PitstopError as error:
            raise ArtifactError(f"The requirements of {artifact.name} could not be installed: {error.message}") from error
        except OSError as error:
            raise ArtifactError(f"The requirements of {artifact.name} could not be installed: {error}.") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _digest(self, requirements: Sequence[Needed]) -> str:
        inputs = [[one.line for one in requirements], list(self._installer.identity), sorted(self._installer.present.items())]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _is_there(folder: Path) -> bool:
    """True if the folder exists. Its time is set to now: young folders are kept even if no job names them yet."""
    try:
        os.utime(folder)
    except FileNotFoundError:
        return False
    return True


def _close_to_others(folder: Path) -> None:
    """Take permissions from other users. Installers set permissions themselves, regardless of the umask of their process."""
    for path in (folder, *folder.rglob("*")):
        mode = path.lstat().st_mode
        if mode & UMASK and not path.is_symlink():
            path.chmod(mode & 0o7777 & ~UMASK)
