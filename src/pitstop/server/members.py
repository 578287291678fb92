"""The members of a cluster that is one server."""

from __future__ import annotations

import dataclasses
import os
import socket
import time
from uuid import NAMESPACE_URL, uuid5

from pitstop.kit.version import __version__
from pitstop.model.cluster import Member
from pitstop.model.data_folder import DataFolder


class OneMember:
    """The control.ports.members.Members of a server that shares its data folder with no other."""

    def __init__(self, data: DataFolder, address: str) -> None:
        own = str(uuid5(NAMESPACE_URL, str(data.root)))
        self._member = Member(own, socket.gethostname(), address, __version__, os.cpu_count() or 1, joined=time.time())

    def list(self) -> list[Member]:
        return [dataclasses.replace(self._member, seen=time.time())]
