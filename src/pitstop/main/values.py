"""Values of options that several processes have: from the command line, else from the environment."""

from __future__ import annotations

import os
from pathlib import Path

from pitstop.cli.context import Call
from pitstop.errors import UsageError
from pitstop.kit.urls import holds_password
from pitstop.machine.named_secrets import FOLDER
from pitstop.main.process_options import Reader


def data_folder(folder: Path | None, call: Call) -> Path:
    """Return the data folder."""
    from pitstop.client.local_server import usual_data_folder

    return folder or usual_data_folder()


def store(url: str | None, call: Call) -> str | None:
    """Return the URL of the store; None: the file in the data folder."""
    if url and holds_password(url):
        raise UsageError(
            "All users of the machine can see a password in --store: put it into ~/.pgpass, or give the URL in $PITSTOP_STORE."
        )
    return url or os.environ.get("PITSTOP_STORE") or None


def secrets_folder(folder: Path | None, call: Call) -> Path | None:
    """Return the folder of secrets; None if there is none."""
    variable = os.environ.get(FOLDER)
    return folder or (Path(variable) if variable else None)


def mebibytes(size: int, call: Call) -> int:
    """Return bytes."""
    return size << 20


SHARED: dict[str, Reader] = {
    "data_dir": data_folder,
    "store": store,
    "secrets": secrets_folder,
    "log_bytes": mebibytes,
}
"""The readers of fields that server and member share."""
