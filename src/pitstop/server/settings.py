"""Settings of the control plane."""

from __future__ import annotations

import ipaddress
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.model.data_folder import DataFolder

SHORTEST_TOKEN = 8


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8701
    data_dir: Path = field(default_factory=lambda: Path.home() / ".pitstop")
    """Store, artifacts, checkpoints, snapshots, logs."""
    token: str | None = None
    """Bearer token that clients must send; may be left out only where nobody else can connect (loopback)."""
    spares: int = 1
    """Warm runner processes kept ready; each holds an idle Spark session (some 400 MB)."""
    master: str = "local[*]"
    """Spark master of the runners."""
    stop_jobs_on_exit: bool = False
    """End the runners when the server ends; their jobs go on when it is started again."""

    @property
    def loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def effective_token(self) -> str | None:
        """The token to ask for. Off loopback there always is one: it is made and kept in ``<data>/token`` if none is given."""
        if self.token is not None:
            if len(self.token) < SHORTEST_TOKEN:
                raise UsageError(f"A token has at least {SHORTEST_TOKEN} characters.")
            return self.token
        if self.loopback:
            return None
        return kept_token(DataFolder(self.data_dir).token)


def kept_token(path: Path) -> str:
    """The token in a file that only its owner may read; made on first use."""
    try:
        token = path.read_text().strip()
    except FileNotFoundError:
        token = secrets.token_urlsafe(32)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token)
        temporary.rename(path)
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"The token in {path} is too short: remove the file, and the next start makes a new one.")
    return token
