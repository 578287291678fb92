"""The members of a cluster that is one server."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from pitstop.model.cluster import Member
from pitstop.model.data_folder import DataFolder


class OneMember:
    """control.ports.Members of a server that shares its data folder with no other."""

    def __init__(self, data: DataFolder, address: str, master: str) -> None:
        self._member = Member(str(uuid5(NAMESPACE_URL, str(data.root))), address, master)

    def list(self) -> list[Member]:
        return [self._member]
