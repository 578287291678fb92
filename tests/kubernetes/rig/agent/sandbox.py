"""Where a container's processes live: namespaces of processes, mounts and the host's name, and a root folder of their own.

The root is the machine's own with the container's writes kept aside, and its volumes mounted. The first process in it is
number 1: all others end with it, and it must handle a signal to be ended by one, as in any container. Needs root, and util-linux.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

OWN = "/.rig"
"""Where a container finds what the rig gives it."""
LIBRARY = f"{OWN}/pod_address.so"
HOSTS = f"{OWN}/hosts"
KERNEL = ("/proc", "/sys", "/dev")
NAMESPACES = ("--mount", "--pid", "--ipc", "--uts", "--propagation", "private")
KEEPER = 'exec 3>&2 2>/dev/null; "$@"; exit $?'
"""Ends as the container does, which ``unshare --fork`` would not; what the shell says of that is no part of the log."""


@dataclass(frozen=True)
class Mount:
    """A file or folder of the machine at a place in the container."""

    source: Path
    target: str
    read_only: bool = False


@dataclass(frozen=True)
class Sandbox:
    """``folder``: for what the container writes, and what we do. ``user``: None is root; ``groups``: its own, then others."""

    folder: Path
    host_name: str
    mounts: Sequence[Mount]
    user: int | None = None
    groups: Sequence[int] = ()
    read_only: bool = False
    passable: Sequence[str] = ()

    @property
    def entered(self) -> Path:
        """Is there once everything is mounted."""
        return self.folder / "entered"

    def start(self, command: Sequence[str], variables: Mapping[str, str], directory: str) -> list[str]:
        """The command that runs ``command`` as the container's first process."""
        for name in ("written", "work", "root"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        inside = [_tool("chroot"), str(self._root), *self._as_user(), *_with(variables, directory), *command]
        # Both shells die with who has started them. The outer one's first child is the first process of the namespace.
        outer = [*_with_parent(), _tool("unshare"), *NAMESPACES, "--", "/bin/sh", "-c", KEEPER, "sh"]
        return [*outer, *_with_parent(), "/bin/sh", "-euc", self._preparation(directory), "sh", *inside]

    def enter(self, process: int, command: Sequence[str], variables: Mapping[str, str], directory: str) -> list[str]:
        """The command that runs ``command`` beside the container's first process."""
        namespaces = ("--mount", "--pid", "--ipc", "--uts", "--root")
        inside = [*self._as_user(), *_with(variables, directory), *command]
        return [_tool("nsenter"), f"--target={process}", *namespaces, "--", *inside]

    def _as_user(self) -> list[str]:
        """What follows runs as the container's user. The kernel forgets its parent when that changes, so it is told again."""
        if self.user is None and not self.groups:
            return _with_parent()
        user, group = self.user or 0, self.groups[0] if self.groups else 0
        others = ",".join(map(str, self.groups[1:]))
        return _with_parent(f"--reuid={user}", f"--regid={group}", f"--groups={others}" if others else "--clear-groups")

    @property
    def _root(self) -> Path:
        return self.folder / "root"

    def _preparation(self, directory: str) -> str:
        layers = f"lowerdir=/,upperdir={self.folder / 'written'},workdir={self.folder / 'work'}"
        lines = [
            "exec 2>&3 3>&-",  # the log again
            _line("mount", "-t", "overlay", "overlay", "-o", layers, self._root),
            _line("mount", "-t", "proc", "proc", self._inside("/proc")),
            _line("mount", "--rbind", "/sys", self._inside("/sys")),
            _line("mount", "--rbind", "/dev", self._inside("/dev")),
            *(_line("mount", "--bind", place, self._inside(place)) + " || true" for place in other_file_systems()),
            _line("mkdir", "-p", self._inside(directory)),
            *(_line("chmod", "a+x", self._inside(place)) for place in self.passable),
        ]
        for mount in sorted(self.mounts, key=lambda each: each.target):
            lines += self._mounted(mount)
        lines.append(_line("ln", "-sfn", HOSTS, self._inside("/etc/hosts")))
        if self.read_only:
            lines.append(_line("mount", "-o", "remount,ro", self._root))
        lines += [_line("hostname", self.host_name), f": > {shlex.quote(str(self.entered))}", 'exec "$@"']
        return "\n".join(lines)

    def _mounted(self, mount: Mount) -> Iterable[str]:
        target = self._inside(mount.target)
        if mount.source.is_dir():
            yield _line("mkdir", "-p", target)
        else:
            yield _line("mkdir", "-p", target.parent)
            yield _line("touch", target)
        yield _line("mount", "--bind", mount.source, target)
        if mount.read_only:
            yield _line("mount", "-o", "remount,bind,ro", target)

    def _inside(self, place: str) -> Path:
        """A path of the container, seen from outside. A link, as /var/run is one, would lead out of it."""
        return self._root / os.path.realpath(place).lstrip("/")


def other_file_systems() -> list[str]:
    """Folders of the machine on which a file system of their own is mounted: a container sees the same there."""
    places = (line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [
        place
        for place in places
        if place != "/" and not any(place == each or place.startswith(f"{each}/") for each in KERNEL) and Path(place).is_dir()
    ]


def _with(variables: Mapping[str, str], directory: str) -> list[str]:
    """Runs what follows in that folder with these variables alone. They are no business of what runs outside."""
    return ["/usr/bin/env", "-i", "-C", directory, *(f"{name}={value}" for name, value in variables.items())]


def _line(*words: str | Path) -> str:
    return shlex.join(str(word) for word in words)


def _with_parent(*also: str) -> list[str]:
    """The kernel ends what follows when its parent ends; ``also``: whom it runs as."""
    return [_tool("setpriv"), "--pdeathsig", "KILL", *also, "--"]


def _tool(name: str) -> str:
    return shutil.which(name) or name
