"""Settings of the control plane."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.errors import UsageError


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
            if len(self.token) < 8:
                raise UsageError("A token has at least 8 characters.")
            return self.token
        if self.loopback:
            return None
        path = self.data_dir / "token"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(32))
        return path.read_text().strip()
