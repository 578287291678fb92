"""Mappings and views in memory."""

from __future__ import annotations

from pitstop.sql.mappings import Mapping, Named, View


class MemoryCatalog:
    """A sql.catalog.Catalog without a store."""

    def __init__(self) -> None:
        self._named: dict[str, Named] = {}

    def all(self) -> dict[str, Named]:
        return dict(sorted(self._named.items()))

    def put(self, thing: Named, replace: bool) -> bool:
        if thing.name in self._named and not replace:
            return False
        self._named[thing.name] = thing
        return True

    def remove(self, what: type[Mapping | View], name: str) -> bool:
        if not isinstance(self._named.get(name), what):
            return False
        del self._named[name]
        return True
