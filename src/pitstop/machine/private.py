"""Files and folders that nobody but their owner may look into."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from pitstop.errors import UsageError

UMASK = 0o077
"""The mask of a process's new files that takes away the permissions of all other users."""

_USUAL = "PITSTOP_USUAL_UMASK"


def keep_private() -> None:
    """Keep the files that this process and its children make from now on from other users.

    The earlier mask is remembered, also for those processes, for files that others are to read (:func:`usual_mode`).
    """
    before = os.umask(UMASK)
    os.environ.setdefault(_USUAL, f"{before:o}")


def usual_mode(mode: int) -> int:
    """Return permissions under the umask that the user has set."""
    usual = os.environ.get(_USUAL)
    if usual is None:  # nobody has called keep_private, so it is the one in force, which can only be read by setting it
        usual = f"{(umask := os.umask(UMASK)):o}"
        os.umask(umask)
    return mode & ~int(usual, 8)


def private_folder(path: Path) -> Path:
    """Make a folder that is the owner's alone, or close an open one to others; UsageError if it is somebody else's."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {path} cannot be created ({error.strerror}): choose another folder.") from error
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise UsageError(f"The folder {path} belongs to another user: choose another folder.")
    if status.st_mode & UMASK:
        path.chmod(stat.S_IMODE(status.st_mode) & ~UMASK)
    return path


def read_private(path: Path, what: str) -> str:
    """Return the text of a file; UsageError if others may read or change it, or it is no text. FileNotFoundError if missing."""
    try:
        with path.open() as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in (os.geteuid(), 0) or status.st_mode & UMASK:
                raise UsageError(f"The {what} {path} may be read by other users: make it private (chmod 600 {path}).")
            return file.read()
    except UnicodeDecodeError:
        raise UsageError(f"The {what} {path} cannot be read: it is not text.") from None


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read; it appears whole or not at all."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    temporary.rename(path)
