"""The folder of a server: all of its data folder, or a part of one that servers with a common store share."""

from __future__ import annotations

import os
import socket

from pitstop.model.data_folder import DataFolder
from pitstop.server.settings import Settings


def own_folder(settings: Settings) -> DataFolder:
    """Return the data folder of this server. Servers with a common store may share one: each has a separate part of it."""
    root = settings.data_dir.resolve()
    if settings.store is None:
        return DataFolder(root)
    return DataFolder(root, f"{socket.gethostname()}-{settings.port or f'process-{os.getpid()}'}")
