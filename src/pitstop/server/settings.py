"""The settings of the control plane."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.machine.named_secrets import FOLDER
from pitstop.machine.private import read_private, write_private
from pitstop.machine.rotating import Rotation
from pitstop.model.config import SHARED_ENGINE
from pitstop.model.data_folder import DataFolder
from pitstop.model.retention import USUAL, Retention
from pitstop.model.selecting import MOST_ROWS, USUAL_SECONDS

SHORTEST_TOKEN = 8


@dataclass(frozen=True, kw_only=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8701
    data_dir: Path = field(default_factory=lambda: Path.home() / ".pitstop")
    """The data folder: store, artifacts, checkpoints, snapshots, logs."""
    store: str | None = None
    """The URL of the store, such as ``postgresql://pitstop@host/pitstop``; None: SQLite in the data folder."""
    token: str | None = None
    """The bearer token that clients must send; None: the one that the first start makes and keeps in ``<data>/token``."""
    viewer_token: str | None = None
    """The bearer token of viewers, who may look at everything and change nothing; None: there are no viewers."""
    metrics_token: str | None = None
    """The bearer token of Prometheus, good for ``/metrics`` alone; None: it needs the token of viewers or operators."""
    spares: int = 1
    """The number of warm runner processes that are kept ready. Each holds an idle Spark session (some 400 MB)."""
    engine: str = SHARED_ENGINE
    """The engine of jobs whose option ``engine`` says nothing: own, shared, or a name."""
    master: str = "local[*]"
    """The Spark master of the runners."""
    members: int = 0
    """The number of members to start here, with a Spark master for them; 0: each runner is its own Spark, or on ``master``."""
    cluster_host: str | None = None
    """The address at which members on other machines reach the Spark master and drivers; None: members run only on this machine.

    With an address there can be members even if the server itself starts none.
    """
    runners_on_members: bool = False
    """True if members start the runners of jobs, so that the runners of a lost machine start again on another one."""
    query_seconds: float = USUAL_SECONDS
    """The longest that a SELECT may take in seconds, unless it reads a stream."""
    query_rows: int = MOST_ROWS
    """The most rows that such a SELECT gives."""
    scale_up_delay: float = 10.0
    """The time in seconds without members that join or leave before jobs are planned anew for the members."""
    stop_jobs_on_exit: bool = False
    """True if the runners end with the server. Their jobs continue when it is started again."""
    host_names: tuple[str, ...] = ()
    """The names by which clients may call the server, besides addresses, ``localhost`` and this machine's own name."""
    pass_env: tuple[str, ...] = ()
    """The names or patterns of the server's environment variables that jobs get beside the usual ones."""

    secrets: Path | None = None
    """The folder with a file for each secret that jobs name; None: secrets are variables alone."""

    install: bool = True
    """True if the server installs the packages that jobs need."""
    indexes: tuple[str, ...] = ("https://pypi.org/simple",)
    """The only sources of packages: URLs of indexes (PEP 503), or folders of wheels."""
    source_distributions: bool = False
    """True if packages may also be built here, which runs their code as the user of the server."""
    log_bytes: int = 64 << 20
    """The most bytes of a log, of the server or a job. The log is rotated before it is larger."""
    log_files: int = 5
    """The number of older parts that are kept of each log."""
    print_job_logs: bool = False
    """True if the logs of jobs also go to the server's standard output."""
    keep: Retention = USUAL
    """The limits on data that grows: amounts and times."""

    def secret_variables(self) -> dict[str, str]:
        """Return the variables by which runners find secrets. UsageError if the folder is not there."""
        if self.secrets is None:
            return {}
        if not self.secrets.is_dir():
            raise UsageError(f"There is no folder of secrets {self.secrets}: make it, or leave out --secrets.")
        return {FOLDER: str(self.secrets.resolve())}

    @property
    def rotation(self) -> Rotation:
        return Rotation(self.log_bytes, self.log_files, self.print_job_logs)

    def effective_token(self) -> str:
        """Return the token for clients. There always is one: other users of the machine can reach a loopback address, too."""
        if self.token is None:
            return kept_token(DataFolder(self.data_dir).token)
        if len(self.token) < SHORTEST_TOKEN:
            raise UsageError(f"A token has at least {SHORTEST_TOKEN} characters.")
        return self.token

    def effective_viewer_token(self) -> str | None:
        """Return the token of viewers; None if there are none."""
        if self.viewer_token is not None and len(self.viewer_token) < SHORTEST_TOKEN:
            raise UsageError(f"A viewer's token has at least {SHORTEST_TOKEN} characters.")
        if self.viewer_token is not None and self.viewer_token == self.effective_token():
            raise UsageError("The token of viewers is that of operators, too: give another one.")
        return self.viewer_token

    def effective_metrics_token(self) -> str | None:
        """Return the token that is good for metrics alone; None if there is none."""
        if self.metrics_token is not None and len(self.metrics_token) < SHORTEST_TOKEN:
            raise UsageError(f"The token of metrics has at least {SHORTEST_TOKEN} characters.")
        if self.metrics_token is not None and self.metrics_token in (self.effective_token(), self.viewer_token):
            raise UsageError("The token of metrics is that of operators or viewers, too: give another one.")
        return self.metrics_token


def kept_token(path: Path) -> str:
    """Return the token in a file that only its owner may read. The file is made on first use."""
    try:
        token = read_private(path, "token file").strip()
    except FileNotFoundError:
        token = secrets.token_urlsafe(32)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, token)
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"The token in {path} is too short: remove the file, and the next start makes a new one.")
    return token
