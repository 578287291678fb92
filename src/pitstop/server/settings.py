"""The settings of the control plane."""

from __future__ import annotations

import secrets
from dataclasses import MISSING, dataclass
from pathlib import Path

from pitstop.errors import UsageError
from pitstop.kit.settings import setting
from pitstop.machine.named_secrets import FOLDER
from pitstop.machine.private import read_private, write_private
from pitstop.machine.rotating import Rotation
from pitstop.model.config import SHARED_ENGINE
from pitstop.model.data_folder import DataFolder
from pitstop.model.retention import KEPT, USUAL, Retention
from pitstop.model.selecting import MOST_ROWS, USUAL_HOUR_SECONDS, USUAL_SECONDS

SHORTEST_TOKEN = 8


def _usual_folder() -> Path:
    return Path.home() / ".pitstop"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of the control plane. The command ``serve`` has an option for each."""

    host: str = setting("127.0.0.1", "Address to listen on")
    port: int = setting(8701, "Port; 0 takes a free one", minimum=0, maximum=65_535)
    data_dir: Path = setting(
        MISSING,
        "Folder of all data [$PITSTOP_DATA, ~/.pitstop]",
        factory=_usual_folder,
        option="data",
        kind=Path | None,
    )
    store: str | None = setting(
        None,
        "Store in PostgreSQL: postgresql://user@host/database; shared-file: that of the data folder, for containers of one "
        "machine [$PITSTOP_STORE, else a file in the data folder]",
        metavar="URL",
    )
    token: str | None = setting(
        None,
        "File with the token that clients must send [$PITSTOP_TOKEN, else a new one in the data folder]",
        option="token_file",
        kind=Path | None,
    )
    """The bearer token that clients must send; None: the one that the first start makes and keeps in ``<data>/token``."""
    viewer_token: str | None = setting(
        None,
        "File with the viewers' token, which allows reading and no changes [$PITSTOP_VIEWER_TOKEN]",
        option="viewer_token_file",
        kind=Path | None,
    )
    metrics_token: str | None = setting(
        None,
        "File with the token for Prometheus, which allows /metrics and nothing else [$PITSTOP_METRICS_TOKEN]",
        option="metrics_token_file",
        kind=Path | None,
    )
    host_names: tuple[str, ...] = setting(
        (),
        "Name under which clients call the server, beside its addresses and this machine's name; repeatable",
        option="host_name",
        metavar="NAME",
    )
    pass_env: tuple[str, ...] = setting(
        (),
        "Environment variable to pass to jobs, or a pattern such as AWS_*; repeatable (docs/security.md)",
        metavar="NAME",
    )
    secrets: Path | None = setting(
        None, "Folder with a file for each secret that jobs name (docs/security.md) [$PITSTOP_SECRETS]", metavar="FOLDER"
    )
    spares: int = setting(1, "Warm runner processes to keep ready", minimum=0)
    """The number of warm runner processes that are kept ready. Each has an idle Spark session, which takes some 100 MB with its
    Python workers in an engine that jobs share, and some 900 MB with a JVM of its own."""
    engine: str = setting(
        SHARED_ENGINE,
        "Engine of jobs that name none: own, shared, or a name (docs/engines.md) [$PITSTOP_ENGINE]",
        kind=str,
        unset="",
        metavar="NAME",
    )
    master: str = setting("local[*]", "Spark master of the runners")
    members: int = setting(
        0, "Members to start here, each with one core for jobs, and a Spark master for them", minimum=0, maximum=64
    )
    """The number of members to start here, with a Spark master for them; 0: each runner is its own Spark, or on ``master``."""
    cluster_host: str | None = setting(
        None,
        "Address of this machine at which members on other machines reach Spark's master and drivers; needs --store",
        metavar="ADDRESS",
    )
    """The address at which members on other machines reach the Spark master and drivers; None: members run only on this machine.

    With an address there can be members even if the server itself starts none.
    """
    runners_on_members: bool = setting(False, "Let members run the drivers of jobs, too, not this machine alone")
    query_seconds: float = setting(
        USUAL_SECONDS, "Seconds that a SELECT may take; a SELECT on a stream has no limit", minimum=0.1
    )
    viewer_query_seconds: float | None = setting(
        None, "Seconds that a SELECT of a viewer may take [default: those of --query-seconds]", minimum=0.1
    )
    viewer_seconds_per_hour: float = setting(
        USUAL_HOUR_SECONDS, "Seconds that all SELECTs of one viewer together may take in an hour", minimum=1
    )
    query_rows: int = setting(MOST_ROWS, "Most rows of a SELECT; a SELECT on a stream has no limit", minimum=1)
    scale_up_delay: float = setting(
        10.0, "Time without a member that joins or leaves, before jobs are rescaled", minimum=0, metavar="SECONDS"
    )
    install: bool = setting(True, "Install the packages that jobs need (docs/dependencies.md)")
    indexes: tuple[str, ...] = setting(
        ("https://pypi.org/simple",),
        "The only place of packages: an index's URL, or a folder of wheels; repeatable",
        option="index",
        metavar="URL",
    )
    source_distributions: bool = setting(False, "Allow building packages here, which runs their code")
    log_bytes: int = setting(
        64 << 20,
        "Rotate each log before it is larger, in MiB",
        option="log_size",
        kind=int,
        unset=64,
        minimum=1,
        metavar="MIB",
    )
    log_files: int = setting(5, "How many older parts of each log to keep beside it", minimum=1)
    print_job_logs: bool = setting(False, "Also print the logs of jobs, for collectors of container output")
    keep: Retention = setting(
        USUAL,
        f"How much growing data to keep: {', '.join(record.name for record in KEPT)}; repeatable (docs/keeping.md) "
        "[$PITSTOP_KEEP, with commas between]",
        kind=list[str] | None,
        metavar="NAME=VALUE",
    )
    stop_jobs_on_exit: bool = setting(False, "End the runners with the server; jobs go on at the next start")

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
