"""Folders that a client names, with the proof by which a server on the same machine recognizes them.

A path alone proves nothing: a forwarded port looks like this machine, and a container has other folders under the same paths.
So the client adds the boot of its machine, and the device and the inode of each folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from pitstop.errors import UsageError

HEADER = "pitstop-folders"
"""The header of a request that names the working folder and the home of whoever sends it."""
FOLDER, HOME = "folder", "home"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def claim() -> str | None:
    """Return the value of the header for this process; None if nothing can be proven here."""
    boot, folders = _boot(), {FOLDER: _named(os.getcwd), HOME: _named(lambda: os.path.expanduser("~"))}
    there = {name: folder for name, folder in folders.items() if folder is not None}
    return quote(json.dumps({"boot": boot, **there})) if boot is not None and there else None


def proven(value: str | None) -> dict[str, str]:
    """Return the paths of those folders in a header that are the same here; none without a header.

    UsageError if no client of Pitstop has made it.
    """
    if value is None:
        return {}
    try:
        claims = json.loads(unquote(value))
        is_this_machine = claims["boot"] == _boot()
        folders = {name: claims[name] for name in (FOLDER, HOME) if is_this_machine and name in claims}
        return {name: str(folder["path"]) for name, folder in folders.items() if _is_here(folder)}
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"The header {HEADER} is of another form than clients of Pitstop give it: leave it out.") from None


def _is_here(folder: Mapping[str, Any]) -> bool:
    path = str(folder["path"])
    return path.startswith("/") and (folder["device"], folder["inode"]) == _identity(path)


def _named(path: Any) -> dict[str, Any] | None:
    try:
        text = path()
        text.encode()  # the store keeps texts
    except (OSError, UnicodeEncodeError):  # the folder of this process is gone, or its name is no text
        return None
    identity = _identity(text)
    return {"path": text, "device": identity[0], "inode": identity[1]} if identity is not None else None


def _identity(path: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    return facts.st_dev, facts.st_ino


def _boot() -> str | None:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return None
