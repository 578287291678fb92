"""Settings of the control plane."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.kit.private import read_private, write_private
from pitstop.kit.rotating import Rotation
from pitstop.model.data_folder import DataFolder
from pitstop.model.retention import USUAL, Retention
from pitstop.model.selecting import MOST_ROWS, USUAL_SECONDS

SHORTEST_TOKEN = 8


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8701
    data_dir: Path = field(default_factory=lambda: Path.home() / ".pitstop")
    """Store, artifacts, checkpoints, snapshots, logs."""
    store: str | None = None
    """URL of the store, such as ``postgresql://pitstop@host/pitstop``; None: SQLite in the data folder."""
    token: str | None = None
    """Bearer token that clients must send; None: the one that is made at the first start and kept in ``<data>/token``."""
    viewer_token: str | None = None
    """Bearer token of those who may look at everything and change nothing; None: there are none."""
    spares: int = 1
    """Warm runner processes kept ready; each holds an idle Spark session (some 400 MB)."""
    master: str = "local[*]"
    """Spark master of the runners."""
    members: int = 0
    """Members to start on this machine, with a Spark master of their own; 0: each runner is its own Spark, or on ``master``."""
    cluster_host: str | None = None
    """Address of this machine at which members on others reach the Spark master and drivers; None: there are members here alone.

    With an address there may be members, even if the server starts none itself.
    """
    runners_on_members: bool = False
    """Members start the runners of jobs, too, so that those of a lost machine start again on another one."""
    query_seconds: float = USUAL_SECONDS
    """How long a SELECT of what does not change may take."""
    query_rows: int = MOST_ROWS
    """So many rows it gives at most."""
    scale_up_delay: float = 10.0
    """How long members must have neither joined nor left before jobs are planned anew for them, in seconds (jet.md §1.4)."""
    stop_jobs_on_exit: bool = False
    """End the runners when the server ends; their jobs go on when it is started again."""
    host_names: tuple[str, ...] = ()
    """Names under which clients may call the server, beside addresses, ``localhost`` and this machine's own name."""
    pass_env: tuple[str, ...] = ()
    """Variables of the server's environment, by names or patterns, that jobs get beside the usual ones."""

    install: bool = True
    """Packages that jobs need are installed by the server."""
    indexes: tuple[str, ...] = ("https://pypi.org/simple",)
    """Where they come from, and from nowhere else: URLs (PEP 503), or folders of wheels."""
    source_distributions: bool = False
    """They may also be built here, which runs their code as the user of the server."""
    log_bytes: int = 64 << 20
    """A log, of the server or a job, is rotated before it is larger."""
    log_files: int = 5
    """So many older parts of each log are kept beside it."""
    print_job_logs: bool = False
    """What jobs log also goes to the server's standard output."""
    keep: Retention = USUAL
    """How much is kept of what grows, and for how long."""

    @property
    def rotation(self) -> Rotation:
        return Rotation(self.log_bytes, self.log_files, self.print_job_logs)

    def effective_token(self) -> str:
        """The token to ask for: there always is one, since other users of the machine can connect to a loopback address, too."""
        if self.token is None:
            return kept_token(DataFolder(self.data_dir).token)
        if len(self.token) < SHORTEST_TOKEN:
            raise UsageError(f"A token has at least {SHORTEST_TOKEN} characters.")
        return self.token

    def effective_viewer_token(self) -> str | None:
        """The token of viewers, if there are any."""
        if self.viewer_token is not None and len(self.viewer_token) < SHORTEST_TOKEN:
            raise UsageError(f"A viewer's token has at least {SHORTEST_TOKEN} characters.")
        if self.viewer_token is not None and self.viewer_token == self.effective_token():
            raise UsageError("The token of viewers is that of operators, too: give another one.")
        return self.viewer_token


def kept_token(path: Path) -> str:
    """The token in a file that only its owner may read; made on first use."""
    try:
        token = read_private(path, "token file").strip()
    except FileNotFoundError:
        token = secrets.token_urlsafe(32)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, token)
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"The token in {path} is too short: remove the file, and the next start makes a new one.")
    return token
