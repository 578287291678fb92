"""The folder and the home of whoever has submitted a version: its relative paths and ``~`` count from there."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pitstop.kit.wire import described
from pitstop.machine.local_paths import whole_path


@described
@dataclass(frozen=True)
class PathOrigin:
    """The place from which a version was submitted, as far as it lies on the server's machine."""

    folder: str | None = None
    """The folder that relative paths count from; null: they are refused."""
    home: str | None = None
    """The folder that ~ stands for; null: it is refused."""

    def whole(self, path: str) -> str | None:
        """Return a path that means the same to everybody on this machine; None if it counts from what is not known."""
        return whole_path(path, self.folder, self.home)


def origin_here() -> PathOrigin:
    """Return the folder and the home of this process; no folder if that was removed."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        return PathOrigin(home=os.path.expanduser("~"))
    return PathOrigin(folder, os.path.expanduser("~"))


ELSEWHERE = PathOrigin()
"""Another machine, or a door that names no folder."""


def of_nobody_here(path: str) -> str:
    """Return the end of a sentence about a path that counts from a folder that is not known."""
    base = "home" if path.startswith("~") else "folder"
    clause = f"which counts from the {base} of whoever submits it, and that is not known to be on the server's machine"
    return f"{clause}: give a whole path of that machine, such as /srv/data."
