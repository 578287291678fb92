"""Where mappings and views are kept."""

from __future__ import annotations

from typing import Protocol

from pitstop.sql.mappings import Mapping, Named, View


class Catalog(Protocol):
    """Mappings and views; their names are of one kind. One contract suite (tests/contract) runs against every implementation."""

    def all(self) -> dict[str, Named]:
        """All of them, by name."""
        ...

    def put(self, thing: Named, replace: bool) -> bool:
        """Keep it. False, and nothing is done, if there is one of that name and it is not to be replaced."""
        ...

    def remove(self, what: type[Mapping | View], name: str) -> bool:
        """False if there is none of that kind."""
        ...
