"""The user's folder for files that are made once for the Java and the Spark at hand, and can be made again at any time."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.kit.private import private_folder

FOLDER_VARIABLE = "PITSTOP_CACHE"
"""Names the folder, one's own alone; empty: no such files are made or used. Default: pitstop in the user's cache folder."""
UNUSED_SECONDS = 30 * 24 * 3600.0


def cache_folder() -> Path | None:
    """The folder, made if need be; None if it is not wished for, or cannot be this user's alone."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named == "":
        return None
    try:
        above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return private_folder(Path(named).absolute() if named else above / "pitstop")
    except (OSError, RuntimeError, UsageError):
        return None


def is_made(file: Path | None) -> bool:
    """True if the file is there to be used; that it is in use is written down: see ``forget_unused``."""
    if file is None or not file.exists():
        return False
    try:
        os.utime(file)
    except OSError:
        return False
    return True


def forget_unused(folder: Path, now: float | None = None) -> None:
    """Remove files that nothing has used for a month: some are large."""
    before = (time.time() if now is None else now) - UNUSED_SECONDS
    for path in folder.glob("classes-*"):
        with contextlib.suppress(FileNotFoundError):  # another process is doing the same
            if path.stat().st_mtime < before:
                path.unlink()
