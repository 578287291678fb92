"""An operator as a real process beside a real cluster, and what clusters that it makes need."""

from __future__ import annotations

import contextlib
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pitstop
from tests.kubernetes.interrupting_proxy import InterruptingProxy
from tests.kubernetes.rig.agent.settings import Image
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.processes import RigProcess, plain_variables
from tests.kubernetes.rig.wires import Wires

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).parent / "pitstop"
JAR = "jet-pipelines-1.0-SNAPSHOT.jar"
LICENCE = "hazelcast-license-key"


def _closed_folders() -> tuple[str, ...]:
    """On the way to our program, its Python and its packages: those through which other users may not pass."""
    files = (PROGRAM, Path(sys.executable).resolve(), Path(pitstop.__file__))
    return tuple(sorted({str(each) for file in files for each in file.parents if not each.stat().st_mode & 0o001}))


NEXT_IMAGE = "registry.example.org/pitstop:0.2.0"
IMAGES = dict.fromkeys(("pitstop:0.1.0", NEXT_IMAGE), Image((str(PROGRAM),), passable=_closed_folders()))
"""The pods run this checkout, whichever image their cluster names."""


@contextlib.contextmanager
def operator(
    cluster: Cluster | InterruptingProxy,
    folder: Path,
    *options: str,
    name: str = "operator",
    variables: Mapping[str, str] | None = None,
    wires: Wires | None = None,
) -> Iterator[RigProcess]:
    """One that looks after all namespaces, until this is left; it reaches the API server by the ``kubeconfig`` of ``cluster``.

    ``variables``: more of its environment, such as that of a node of some cloud. ``wires``: those that it is on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # The pods are not bounded, and all share two cores: they ask for none of them.
    small = ("--control-plane-cores=100m", "--control-plane-memory=64Mi", "--member-memory=64Mi", "--storage=1Gi")
    command: list[str | Path] = [PROGRAM, "operator", *small, f"--holder={name}", *options]
    command = command if wires is None else wires.command(command)
    process = RigProcess(name, command, folder, plain_variables(folder, KUBECONFIG=str(cluster.kubeconfig), **variables or {}))
    try:
        yield process
    finally:
        process.stop()


def make_jar(folder: Path) -> Path:
    """The file of the tutorial's jobs."""
    sources = ROOT / "examples" / "kubernetes" / "jet-pipelines"
    with zipfile.ZipFile(folder / JAR, "w") as jar:
        for path in sorted(sources.rglob("*.py")):
            jar.write(path, path.relative_to(sources))
    return folder / JAR
