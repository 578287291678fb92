"""Folders of this machine as people name them: ``/data``, ``data``, ``~/data``, ``file:///data``."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pitstop.errors import UsageError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)(//[^/]*)?")
"""At least two letters before a colon and a slash; what follows two slashes names a host."""


def scheme_of(path: str) -> str | None:
    """Return the scheme of a URL in lower case, such as ``s3a``; None for a path."""
    url = _SCHEME.match(path)
    return url[1].lower() if url else None


def local_path(path: str, what: str) -> str:
    """Return the absolute path on this machine: ``~`` is the home of the process's user, a relative path counts from its folder.

    UsageError for a URL of anything else. ``what`` is to be in that folder, as the error says it.
    """
    url = _SCHEME.match(path)
    if url is not None:
        if url[1].lower() != "file" or (url[2] or "//") not in ("//", "//localhost"):
            raise UsageError(
                f"{what} must lie in a folder of the machine that jobs run on, and {path!r} is none: mount it there, "
                "and give the path of the mount."
            )
        path = path[url.end() :]
    return str(Path(os.path.expanduser(path)).absolute())
