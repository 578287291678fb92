"""The settings with which a member joins a cluster."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from pitstop.kit.settings import setting
from pitstop.model.cluster import LOOPBACK


@dataclass(frozen=True, kw_only=True)
class MemberSettings:
    """The settings with which a member joins. The command ``member`` has an option for each."""

    data_dir: Path = setting(
        MISSING,
        "Folder that the whole cluster shares [$PITSTOP_DATA, ~/.pitstop]",
        option="data",
        kind=Path | None,
    )
    name: str | None = setting(None, "Name of the member [default: this machine's name]", metavar="NAME")
    cores: int | None = setting(None, "Cores for jobs [default: all]", minimum=1)
    store: str | None = setting(
        None, "The cluster's store in PostgreSQL [$PITSTOP_STORE, else the file in the folder]", metavar="URL"
    )
    host: str = setting(LOOPBACK, "Address of this machine at which the others reach it; needs --store")
    pass_env: tuple[str, ...] = setting(
        (), "Environment variable to pass to jobs, or a pattern such as AWS_*; repeatable", metavar="NAME"
    )
    secrets: Path | None = setting(
        None, "Folder with a file for each secret that jobs name (docs/security.md) [$PITSTOP_SECRETS]", metavar="FOLDER"
    )
    log_bytes: int = setting(
        64 << 20,
        "Rotate each job's log before it is larger, in MiB",
        option="log_size",
        kind=int,
        unset=64,
        minimum=1,
        metavar="MIB",
    )
    log_files: int = setting(5, "How many older parts of each log to keep beside it", minimum=1)
    print_job_logs: bool = setting(False, "Also print the logs of jobs, for collectors of container output")
