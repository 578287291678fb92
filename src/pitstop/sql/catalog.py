"""The store of mappings and views."""

from __future__ import annotations

from typing import Protocol

from pitstop.sql.mappings import Mapping, Named, View


class Catalog(Protocol):
    """Mappings and views, which share one set of names. One contract suite (tests/contract) runs against every implementation."""

    def all(self) -> dict[str, Named]:
        """Return all mappings and views, by name."""
        ...

    def put(self, thing: Named, replace: bool) -> bool:
        """Keep a mapping or view. Return False and do nothing if its name is taken and is not to be replaced."""
        ...

    def remove(self, what: type[Mapping | View], name: str) -> bool:
        """Remove a mapping or view; return False if there is none of that name and kind."""
        ...
