"""The user's folder for files that are made once for the Java and the Spark at hand, and can be made again at any time."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.machine.private import private_folder

FOLDER_VARIABLE = "PITSTOP_CACHE"
"""The variable that names the folder, which is the user's alone. Empty: no such files. Default: pitstop in the cache folder."""
UNUSED_SECONDS = 30 * 24 * 3600.0


def cache_folder() -> Path | None:
    """Return the folder, and make it if need be; None if it is not wanted, or cannot be this user's alone."""
    variable = os.environ.get(FOLDER_VARIABLE)
    if variable == "":
        return None
    try:
        above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return private_folder(Path(variable).absolute() if variable else above / "pitstop")
    except (OSError, RuntimeError, UsageError):
        return None


def is_made(file: Path | None) -> bool:
    """Return True if the file is there, and mark it as used for ``forget_unused``."""
    if file is None or not file.exists():
        return False
    try:
        os.utime(file)
    except OSError:
        return False
    return True


def forget_unused(folder: Path, now: float | None = None) -> None:
    """Remove files, some of them large, that nothing has used for a month."""
    before = (time.time() if now is None else now) - UNUSED_SECONDS
    for path in folder.glob("classes-*"):
        with contextlib.suppress(FileNotFoundError):  # another process is doing the same
            if path.stat().st_mtime < before:
                path.unlink()
