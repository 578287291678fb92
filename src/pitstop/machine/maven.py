"""Jars of Maven Central: fetched once into the user's cache folder, and checked whenever they are used for the first time."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.errors import PitstopError, UsageError
from pitstop.machine.cache_folder import FOLDER_VARIABLE, cache_folder

if TYPE_CHECKING:
    import httpx2

REPOSITORY_VARIABLE = "PITSTOP_MAVEN"
"""The variable that names another repository, such as a mirror, by its URL."""
REPOSITORY = "https://repo1.maven.org/maven2"
_SECONDS = 60.0


@dataclass(frozen=True)
class Jar:
    """A jar by its coordinates in Maven, with the SHA-256 of the file that was tried."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        """The path of the file in any repository."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file_name}"


def jar_folder() -> Path:
    """Return the folder of fetched jars, and make it. UsageError if the user has no cache folder."""
    folder = cache_folder()
    if folder is None:
        raise UsageError(f"Jars need a folder of the user's own to be kept in: name one in the variable {FOLDER_VARIABLE}.")
    jars = folder / "jars"
    jars.mkdir(exist_ok=True)
    return jars


def fetch_jars(jars: Iterable[Jar]) -> list[Path]:
    """Return the files of the jars, which are fetched if they are not there.

    PitstopError if one cannot be had, or is another file than the one that was tried.
    """
    folder = jar_folder()
    return [fetch_jar(jar, folder) for jar in jars]


def has_jar(jar: Jar, folder: Path) -> bool:
    """Return True if the folder has the jar as it was tried."""
    file = folder / jar.file_name
    return file.exists() and _digest(file.read_bytes()) == jar.sha256


def fetch_jar(jar: Jar, folder: Path) -> Path:
    """Return the file of a jar in the folder, fetched if it is not there. Errors are those of :func:`fetch_jars`."""
    file = folder / jar.file_name
    if file.exists():
        if _digest(file.read_bytes()) == jar.sha256:
            return file
        raise PitstopError(f"The file {file} is not the jar that Pitstop was tried with: remove it, and it is fetched anew.")
    import httpx2  # here, for most who know of jars fetch none

    url = f"{os.environ.get(REPOSITORY_VARIABLE, REPOSITORY).rstrip('/')}/{jar.path}"
    address = str(httpx2.URL(url).copy_with(userinfo=b"", query=None))
    try:
        answer = httpx2.get(url, timeout=_SECONDS, follow_redirects=True).raise_for_status()
    except httpx2.HTTPError as error:
        raise PitstopError(
            f"The jar {jar.file_name} cannot be fetched from {address} ({_reason(error)}). On a machine without a way out, "
            f"put the file into {folder}, or name a mirror in the variable {REPOSITORY_VARIABLE}."
        ) from error
    if _digest(answer.content) != jar.sha256:
        raise PitstopError(f"What {address} gives is not the jar that Pitstop was tried with (its SHA-256 is another one).")
    begun = folder / f"{jar.file_name}.{secrets.token_hex(4)}"
    begun.write_bytes(answer.content)
    begun.rename(file)
    return file


def _reason(error: httpx2.HTTPError) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"it answers {response.status_code}"
    return str(error) or type(error).__name__


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
