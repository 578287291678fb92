"""What a node's agent is told when it starts: written by who starts it, read by the agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Image:
    """What an image's name stands for: a command, variables, and a user (None: root). Its files are those of the machine.

    ``passable``: folders that are closed to others on the machine, and through which any user of a container may pass.
    """

    entrypoint: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: int | None = None
    passable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """``pod_net``: the first three numbers of its pods' addresses; ``claims``: where all nodes of a cluster keep volumes;
    ``library``: preloaded into pods; ``search_path``: where pods find programs."""

    name: str
    address: str
    pod_net: str
    kubeconfig: Path
    certificates: Path
    folder: Path
    claims: Path
    library: Path
    search_path: str
    images: Mapping[str, Image] = field(default_factory=dict)

    def write(self, file: Path) -> None:
        """Keep them in a file."""
        file.write_text(json.dumps(asdict(self), default=str, indent=1))

    @classmethod
    def read(cls, file: Path) -> Settings:
        """Those of a file."""
        known: dict[str, Any] = json.loads(file.read_text())
        paths = {name: Path(known[name]) for name in ("kubeconfig", "certificates", "folder", "claims", "library")}
        images = {name: _image(image) for name, image in known["images"].items()}
        return cls(**known | paths | {"images": images})


def _image(known: dict[str, Any]) -> Image:
    return Image(
        tuple(known["entrypoint"]), tuple(known["arguments"]), known["environment"], known["user"], tuple(known["passable"])
    )


def process_file(folder: Path, namespace: str, pod: str, container: str) -> Path:
    """Where a node that keeps its files in ``folder`` writes down the process of a running container."""
    return folder / "processes" / namespace / pod / container
