"""What `make kubernetes-rig` has made, and whether this machine can run it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "kubernetes-rig"
PROGRAMS = ("unshare", "nsenter", "setpriv", "mount", "chroot", "hostname")
TRIAL = """
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/written,workdir=$0/work" "$0/root"
mount -t proc proc "$0/root/proc"
"""


@dataclass(frozen=True)
class Tools:
    """The folders with its parts, each complete."""

    control_plane: Path
    clients: Path
    python: Path
    pod_address: Path

    @property
    def kubectl(self) -> Path:
        return self.clients / "kubectl"

    @property
    def helm(self) -> Path:
        return self.clients / "helm"

    @property
    def interpreter(self) -> Path:
        """A Python with the packages that certificates and nodes need; the project's own does without them."""
        return self.python / "bin" / "python"

    @property
    def library(self) -> Path:
        return self.pod_address / "pod_address.so"

    @classmethod
    def find(cls) -> Tools | None:
        """Those for this checkout; None if any is missing."""
        told = subprocess.run([SCRIPT, "--where"], check=True, capture_output=True, text=True).stdout
        folders = {name: Path(folder) for name, _, folder in (line.partition(" ") for line in told.splitlines())}
        return cls(**folders) if folders and all((folder / "complete").exists() for folder in folders.values()) else None


OF_PODS = Path("/tmp")
"""A folder that each pod has for itself."""


def why_not(folder: Path) -> str | None:
    """Why no pods can run here, as tried in an empty ``folder``; None if they can."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"there is no {missing[0]} here"
    if os.geteuid() != 0:
        return "only root can make the namespaces of pods"
    if OF_PODS in Path(__file__).parents:
        return f"this checkout is in {OF_PODS}, where pods find a folder of their own"
    for name in ("written", "work", "root"):
        (folder / name).mkdir()
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--propagation", "private", "sh", "-ec", TRIAL, str(folder)],
        capture_output=True,
        text=True,
    )
    return None if tried.returncode == 0 else f"the namespaces of pods cannot be made here: {tried.stderr.strip()}"
