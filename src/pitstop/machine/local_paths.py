"""Folders of this machine as people name them: ``/data``, ``data``, ``~/data``, ``file:///data``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from pitstop.errors import UsageError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)(//[^/]*)?")
"""At least two letters before a colon and a slash; what follows two slashes names a host."""


WILD = frozenset("*?[{\\")
_GLOB = frozenset("*?[]{}\\")
"""The characters that Hadoop takes for a part of a pattern, unless a backslash stands before them."""


def scheme_of(path: str) -> str | None:
    """Return the scheme of a URL in lower case, such as ``s3a``; None for a path."""
    url = _SCHEME.match(path)
    return url[1].lower() if url else None


def is_whole(path: str) -> bool:
    """Return True if a path names the same folder whoever reads it: it begins at the root, or is a URL."""
    return path.startswith("/") or scheme_of(path) is not None


def whole_path(path: str, folder: str | None, home: str | None) -> str | None:
    """Return the whole path of one that counts from ``folder`` or, with ``~``, from ``home``; None if that is not known.

    ``~user`` is the home of another user of this machine, which is asked only if ``home`` is known.
    """
    if is_whole(path):
        return path
    base, rest = folder, path
    if path.startswith("~"):
        first, _, rest = path.partition("/")
        base = home if first == "~" or home is None else os.path.expanduser(first)
        if base is not None and not base.startswith("/"):  # no user has that name
            base, rest = folder, path
    return None if base is None else os.path.normpath(base) if rest in ("", ".") else os.path.join(base, rest)


def whole_pattern(path: str, whole: Callable[[str], str]) -> str:
    """Return the whole path of a folder, or of a pattern of folders.

    Of a pattern, the folder that it counts from is no pattern, whatever its name. Nor is a path that exists as it is.
    """
    literal = whole(path)
    if is_whole(path) or not set(path) & WILD or os.path.lexists(literal):
        return literal
    first, _, rest = path.partition("/") if path.startswith("~") else (".", "/", path)
    return f"{escaped(whole(first))}/{rest}"


def escaped(path: str) -> str:
    """Return the path as Hadoop reads it where it takes patterns, too."""
    return "".join(f"\\{c}" if c in _GLOB else c for c in path)


def local_path(path: str, what: str, instead: str = "") -> str:
    """Return the absolute path on this machine: ``~`` is the home of the process's user, a relative path counts from its folder.

    UsageError for a URL of anything else. ``what`` is to be in that folder, as the error says it; ``instead`` is the end of
    its sentence, with what else there is to do.
    """
    url = _SCHEME.match(path)
    if url is not None:
        if url[1].lower() != "file" or (url[2] or "//") not in ("//", "//localhost"):
            raise UsageError(
                f"{what} must lie in a folder of the machine that jobs run on, and {path!r} is none: mount it there, "
                f"and give the path of the mount{instead}."
            )
        path = path[url.end() :]
    return str(Path(os.path.expanduser(path)).absolute())
